import { expect, test } from 'vitest';
import type { EngageView } from '#services/control_api/engage.ts';
import { asAsked } from '#services/dashboard/src/pages/engage/engage_item.ts';

const survey = { questions: [{ id: 'score' }, { id: 'why' }] } as unknown as EngageView;
const times = (...values: string[]) => values.map((value, at) => ({ value, times: 9 - at }));

test('results stand as the survey asks its questions, and a scale in its own order', () => {
  const results = [
    { id: 'gone', answers: 1, average: null, values: times('b', 'a') },
    { id: 'why', answers: 2, average: null, values: times('z', 'a') },
    { id: 'score', answers: 3, average: 8, values: times('9', '10', '6') },
  ];
  const shown = asAsked(results as unknown as Parameters<typeof asAsked>[0], survey);
  expect(shown.map(({ id, values }) => [id, values.map(({ value }) => value)])).toEqual([
    ['score', ['10', '9', '6']],
    ['why', ['z', 'a']],
    ['gone', ['b', 'a']],
  ]);
});
