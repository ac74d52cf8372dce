import { expect, test } from 'vitest';
import { intervalStart } from '#services/dashboard/src/format.ts';
import { dayIn, dayStart } from '#services/dashboard/src/period.ts';

test.each([
  ['UTC', '2026-03-05T00:00:00Z'],
  ['Asia/Tokyo', '2026-03-04T15:00:00Z'],
  ['America/Los_Angeles', '2026-03-05T08:00:00Z'],
  ['Pacific/Kiritimati', '2026-03-04T10:00:00Z'],
  ['Asia/Kathmandu', '2026-03-04T18:15:00Z'],
])('the fifth of March begins in %s at %s, and is called so', (zone, start) => {
  const ms = Date.parse(start);
  expect(dayStart(zone, 2026, 2, 5)).toBe(ms);
  expect(dayIn(zone, ms)).toEqual([2026, 2, 5]);
  expect(dayIn(zone, ms - 1)).toEqual([2026, 2, 4]);
  expect(intervalStart(ms, 'day', zone)).toBe('5 Mar');
  expect(intervalStart(ms + 3_600_000, 'hour', zone)).toBe('5 Mar, 01:00');
  expect(intervalStart(ms, 'week', zone)).toBe('5 Mar 2026');
  expect(intervalStart(ms, 'month', zone)).toBe('Mar 2026');
});

test('days around a change of clocks begin at midnight', () => {
  expect(dayStart('Europe/Brussels', 2026, 2, 29)).toBe(Date.parse('2026-03-28T23:00:00Z'));
  expect(dayStart('Europe/Brussels', 2026, 2, 30)).toBe(Date.parse('2026-03-29T22:00:00Z'));
  expect(dayStart('America/New_York', 2026, 10, 2)).toBe(Date.parse('2026-11-02T05:00:00Z'));
});

test('what lies beyond a month or a year is of the next one', () => {
  expect(dayStart('Asia/Tokyo', 2026, 12, 32)).toBe(Date.parse('2027-01-31T15:00:00Z'));
});
