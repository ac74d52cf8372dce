import { expect, it } from 'vitest';
import { evenShare, monthsUntil, usageLines } from '#services/dashboard/src/pages/account/usage_lines.ts';

const usage = (days: { day: string; events: number; sites: Record<string, number> }[]) => ({
  ...{ account_id: 'acme', month: '2026-02', events: 0, as_of: 0 },
  days,
});
const namesOf = (allowance: number, most: number): string[] =>
  usageLines(usage([{ day: '2026-02-01', events: most, sites: { shop: most } }]), allowance).series.map(
    ({ name }) => name,
  );

it('has all sites and each of them, the one with the most first, and nothing for a day without events of it', () => {
  const days = [
    { day: '2026-02-01', events: 7, sites: { shop: 3, till: 4 } },
    { day: '2026-02-02', events: 2, sites: { shop: 2 } },
  ];
  expect(usageLines(usage(days), 1_000)).toEqual({
    starts: [Date.UTC(2026, 1, 1), Date.UTC(2026, 1, 2)],
    series: [
      { name: 'All sites', values: [7, 2] },
      { name: 'shop', values: [3, 2] },
      { name: 'till', values: [4, 0] },
    ],
  });
});

it('names no site where there is one, and the even share where it is not far above everything', () => {
  expect(namesOf(28 * 400, 100)).toEqual(['All sites', 'Allowance, spread evenly']);
  expect(namesOf(28 * 401, 100)).toEqual(['All sites']);
});

it('has at most six sites', () => {
  const sites = Object.fromEntries(Array.from({ length: 9 }, (_, at) => [`site-${at}`, at + 1]));
  const { series } = usageLines(usage([{ day: '2026-02-01', events: 45, sites }]), 28_000_000);
  expect(series.map(({ name }) => name)).toEqual(['All sites', ...[8, 7, 6, 5, 4, 3].map((at) => `site-${at}`)]);
});

it("spreads an allowance over the days of its month, and offers a year's months and the one that is now", () => {
  expect([evenShare('2026-02', 2_800), evenShare('2024-02', 2_900)]).toEqual([100, 100]);
  const months = monthsUntil(Date.UTC(2026, 1, 28, 23));
  expect([months[0], months[1], months[2], months.at(-1), months.length]).toEqual([
    ...['2026-02', '2026-01', '2025-12', '2025-02'],
    13,
  ]);
});
