import { expect, test } from 'vitest';
import { form, survey } from '#pipelines/analytics/engage_results.ts';

type Rows = Parameters<typeof form.answer>[1];

const row = (section: string, name: string, text: string, persons: number) => ({
  ...{ section, name, text, is_number: 1, times: persons, persons, amounts: [['EUR', '5000000']] },
  ...{ texts: 2, all_times: persons, numbers: persons, total: 9 * persons },
});
const rowsOf = (...rows: object[]): Rows => rows as unknown as Rows;

test('where leads of a form came from is told of several persons alone', () => {
  const rows = rowsOf(
    row('status', 'submitted', '', 7),
    row('source', '', 'news', 6),
    row('source', '', 'jane-mail', 1),
  );
  expect(form.suppressesSmallCounts).toBe(true);
  expect(form.answer({} as never, rows, 5)).toMatchObject({ sources: [{ value: 'news' }], more_sources: true });
  expect(form.answer({} as never, rows, 1).sources).toHaveLength(2);
});

test('so are the mean of the answers to a survey, and its NPS', () => {
  const answers = (persons: number): Rows =>
    rowsOf(
      row('question', 'score', '', persons),
      row('answer', 'score', '9', persons),
      row('nps', 'promoter', '', persons),
    );
  for (const [persons, average, nps] of [
    [4, null, null],
    [5, 9, { promoters: 5, passives: 0, detractors: 0, score: 100 }],
  ] as const) {
    const told = survey.answer({} as never, answers(persons), 5);
    expect([told.questions[0]?.average, told.nps]).toEqual([average, nps]);
  }
});
