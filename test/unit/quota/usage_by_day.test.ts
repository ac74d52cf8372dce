import { expect, it } from 'vitest';
import { monthSpan } from '#pipelines/quota/limits.ts';
import { nearAllowance, usageByDay } from '#pipelines/quota/usage.ts';

const of = (site_id: string, day: string, events: number) => ({ site_id, day, events });

it('has every day of a month that is over, and sums the sites of each', () => {
  const counts = [of('shop', '2026-02-01', 3), of('till', '2026-02-01', 4), of('shop', '2026-02-28', 5)];
  const days = usageByDay('2026-02', counts, Date.UTC(2026, 10, 25));
  expect(days).toHaveLength(28);
  expect(days[0]).toEqual({ day: '2026-02-01', events: 7, sites: { shop: 3, till: 4 } });
  expect(days[1]).toEqual({ day: '2026-02-02', events: 0, sites: {} });
  expect(days.at(-1)).toEqual({ day: '2026-02-28', events: 5, sites: { shop: 5 } });
});

it('ends with the day that is now, and is empty before the month begins', () => {
  const noon = Date.UTC(2026, 10, 3, 12);
  expect(usageByDay('2026-11', [], noon).map(({ day }) => day)).toEqual(['2026-11-01', '2026-11-02', '2026-11-03']);
  expect(usageByDay('2026-12', [], noon)).toEqual([]);
});

it('knows where a month begins and ends, also the last one of a year', () => {
  expect(monthSpan('2026-12')).toEqual({ from: Date.UTC(2026, 11, 1), to: Date.UTC(2027, 0, 1) });
});

it.each([
  ['nobody, where nothing was used', { a: 0, b: 0 }, { '80%': 0, '100%': 0 }],
  ['who has used eight tenths', { a: 79, b: 80 }, { '80%': 1, '100%': 0 }],
  ['who has used all of it under both', { a: 100, b: 121 }, { '80%': 2, '100%': 2 }],
  ['not those of whom it is not known', { a: null, b: 90 }, { '80%': 1, '100%': 0 }],
  ['who has used some of an allowance of nothing', { none: 1 }, { '80%': 1, '100%': 1 }],
])('counts as near their allowance %s', (_, used: Record<string, number | null>, expected) => {
  const accounts = Object.keys(used).map((account_id) => ({
    account_id,
    monthly_allowance: account_id === 'none' ? 0 : 100,
  }));
  expect(Object.fromEntries(nearAllowance(accounts, (id) => used[id] ?? null))).toEqual(expected);
});
