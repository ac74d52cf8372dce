import { expect, test } from 'vitest';
import { trendsProblems } from '#pipelines/analytics/trends/query.ts';

const DAY_MS = 86_400_000;

test('a compared time that overlaps is refused with how many days earlier it may be at the least', () => {
  const week = { from: 100 * DAY_MS, to: 107 * DAY_MS, interval: 'day' as const, series: [{}] };
  expect(trendsProblems({ ...week, compare: { days: 7 } })).toEqual([]);
  expect(trendsProblems({ ...week, compare: { days: 4 } })).toMatchObject([
    {
      field: 'compare.days',
      message: 'overlaps the time asked about: compare with one at least 7 days earlier',
    },
  ]);
});
