import { expect, test, vi } from 'vitest';
import {
  overall,
  readRetention,
  retentionTable,
  shownCohorts,
} from '#services/dashboard/src/pages/retention/retention_view.tsx';
import { dayStart, laterStart } from '#services/dashboard/src/period.ts';

// The router reads it as soon as it is imported.
vi.hoisted(() => vi.stubGlobal('location', new URL('http://localhost/dashboard/')));

const ZONE = 'Europe/Brussels';
const at = (year: number, month: number, day: number): number => dayStart(ZONE, year, month - 1, day);

test('an address that anybody wrote asks for what of it can be shown', () => {
  expect(readRetention({ start: 4, back: { events: [3, 'a'] }, interval: 'hour', mode: 'x' })).toEqual({
    ...{ start: {}, back: { events: ['a'] }, interval: 'day', mode: 'first' },
  });
});

test('intervals begin by the calendar, whatever the length of days and months', () => {
  expect(laterStart(at(2026, 3, 28), 'day', 2, ZONE)).toBe(at(2026, 3, 30));
  expect(laterStart(at(2026, 10, 19), 'week', 1, ZONE)).toBe(at(2026, 10, 26));
  expect(laterStart(at(2026, 12, 1), 'month', 2, ZONE)).toBe(at(2027, 2, 1));
});

test('a cohort has a cell for each interval that has begun, and all together those that have one', () => {
  const cohorts = [
    { from: at(2026, 5, 2), persons: 4, returned: [1] },
    { from: at(2026, 5, 1), persons: 6, returned: [2, 3] },
  ];
  const shown = shownCohorts({ cohorts }, { interval: 'day', to: at(2026, 5, 4), time_zone: ZONE });
  expect(shown.map(({ back }) => back)).toEqual([
    [2, 3, 0],
    [1, 0],
  ]);
  const query = {
    start: {},
    back: {},
    interval: 'day' as const,
    time_zone: ZONE,
    from: at(2026, 5, 1),
    to: at(2026, 5, 4),
  };
  expect(retentionTable({ query, answer: { cohorts } })).toEqual({
    columns: ['Cohort (Europe/Brussels)', 'People', 'Day 0', 'Day 1', 'Day 2'],
    rows: [
      ['2026-05-01', 6, 2, 3, 0],
      ['2026-05-02', 4, 1, 0, null],
    ],
  });
  expect(overall(shown)).toEqual([
    { persons: 10, back: 3 },
    { persons: 10, back: 3 },
    { persons: 6, back: 0 },
  ]);
});
