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

test.for([
  ['a year', '2026-01-01', '2027-01-01', 0],
  ['a year with 29 February', '2028-01-01', '2029-01-01', 0],
  ['a year that ends with 29 February', '2027-03-01', '2028-03-01', 0],
  ['a year and a day', '2026-01-01', '2027-01-02', 1],
  ['a year and 29 February', '2028-02-29', '2029-03-01', 1],
  ['a year with 29 February and a day', '2028-01-01', '2029-01-02', 1],
] as const)('%s and the year before: overlaps are refused', ([, from, to, refused]) => {
  const years = { from: Date.parse(from), to: Date.parse(to), series: [{}], compare: 'year' as const };
  for (const interval of ['day', 'month'] as const) {
    expect(trendsProblems({ ...years, interval }).map(({ field }) => field)).toEqual(Array(refused).fill('compare'));
  }
  expect(trendsProblems({ ...years, interval: 'week' })).toHaveLength(1);
});
