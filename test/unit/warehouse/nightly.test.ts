import { expect, test } from 'vitest';
import { siteRetention, untilHourMs } from '#services/warehouse/upkeep.ts';

const HOUR_MS = 3_600_000;

test.for([
  [2, 1],
  [3, 24],
  [4, 23],
  [0, 3],
])("from %i o'clock it is %i hours until three", ([now = 0, hours = 0]) => {
  expect(untilHourMs(Date.UTC(2026, 10, 21, now), 3)).toBe(hours * HOUR_MS);
});

test('only sites that keep fewer days are looked at', () => {
  const site = (site_id: string, event_days: number | null, outcome_days: number | null) => ({
    site_id,
    event_days,
    outcome_days,
  });
  const tables = siteRetention([site('all', null, null), site('few', 30, null), site('both', 7, 14)]);
  const outcomes = [{ siteId: 'both', days: 14 }];
  expect(Object.fromEntries(tables)).toEqual({
    event_rows: [
      { siteId: 'few', days: 30 },
      { siteId: 'both', days: 7 },
    ],
    ...{ delivery_outcomes: outcomes, inventory: outcomes, duplicates: outcomes },
  });
});
