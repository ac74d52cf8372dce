import { expect, test } from 'vitest';
import {
  type CorrelationQuery,
  type CorrelationRow,
  correlationAnswer,
} from '#pipelines/analytics/funnels/correlation.ts';

const query: CorrelationQuery = {
  from: 1_000,
  to: 2_000,
  window_ms: 1,
  steps: [{ events: ['a'] }, { events: ['b'] }],
};
const all: CorrelationRow = { isAll: 1, field: 0, text: '', actors: 100, converted: 40 };
const having = (text: string, actors: number, converted: number): CorrelationRow => ({
  ...{ isAll: 0, field: 0 },
  ...{ text, actors, converted },
});

test('an odds ratio and its interval are those of the table', () => {
  // 30 of 40 converted with it, 10 of 60 without: (30.5 * 50.5) / (10.5 * 10.5).
  const { persons, converted, candidates } = correlationAnswer(query, [all, having('chat', 40, 30)]);
  expect([persons, converted]).toEqual([100, 40]);
  expect(candidates).toEqual([
    {
      ...{ field: null, value: 'chat', persons: 40, converted: 30 },
      ...{ odds_ratio: 13.97, odds_ratio_low: 5.316, odds_ratio_high: 36.72 },
    },
  ]);
});

test('what all or none had divides by nothing, and the strongest of either kind is first', () => {
  const rows = [all, having('all', 100, 40), having('never', 20, 0), having('chat', 40, 30)];
  const { candidates } = correlationAnswer(query, rows);
  expect(candidates.map(({ value }) => value)).toEqual(['never', 'chat', 'all']);
  expect(candidates.every(({ odds_ratio }) => Number.isFinite(odds_ratio))).toBe(true);
});

test('it says where there are more than are shown or looked at', () => {
  const rows = (count: number) => [all, ...Array.from({ length: count }, (_, at) => having(`e${at}`, 40, 30))];
  const more = (count: number, limit: number) => correlationAnswer({ ...query, limit }, rows(count)).more_candidates;
  expect([more(3, 3), more(4, 3), more(200, 1_000), more(201, 1_000)]).toEqual([false, true, false, true]);
});
