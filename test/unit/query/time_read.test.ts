import { expect, test } from 'vitest';
import { queriedSince, timeRead, withCalendar } from '#pipelines/analytics/query_rewrites.ts';

const DAY_MS = 86_400_000;
const time = { from: 10_000, to: 12_000 };
const ever = { from: 0, to: 12_000 };
const person = { field: { person: { property: ['plan'] }, seen: 'last' }, is: 'set' };

test.each([
  ['its own', time, time],
  ['with the time before', { ...time, compare: 'previous' }, { from: 8_000, to: 12_000 }],
  [
    'with a time a year before',
    { from: 400 * DAY_MS, to: 401 * DAY_MS, compare: 'year' },
    { from: 33 * DAY_MS, to: 401 * DAY_MS },
  ],
  [
    'with a time days earlier, and the rest of its week',
    { from: 400 * DAY_MS, to: 401 * DAY_MS, compare: { days: 30 } },
    { from: 363 * DAY_MS, to: 401 * DAY_MS },
  ],
  ['with touches before', { ...time, breakdown: { lookback_ms: 500 } }, { from: 9_500, to: 12_000 }],
  ['no earlier than 1970', { ...time, breakdown: { lookback_ms: 50_000 } }, ever],
  ['all there is, for the first ever', { ...time, mode: 'first_ever' }, ever],
  ['all there is, for values of persons', { ...time, steps: [{ filters: [{ any: [person] }] }] }, ever],
  ['that of the chart that is listed', { of: { retention: { ...time, mode: 'first_ever' }, cohort: 1 } }, ever],
  ['none', { limit: 5, filters: [] }, null],
])('the time that a query reads: %s', (_what, query, expected) => {
  expect(timeRead(query)).toEqual(expected);
});

test.each([
  ['its own', time, 10_000],
  ['also where it reads more to know the values of persons', { ...time, filters: [person] }, 10_000],
  ['that of the touches before', { ...time, breakdown: { lookback_ms: 500 } }, 9_500],
  ['1970, for the first ever', { ...time, mode: 'first_ever' }, 0],
  ['1970, where it has none', { limit: 5, filters: [person] }, 0],
])('the time that a query asks about begins at: %s', (_what, query, expected) => {
  expect(queriedSince(query)).toBe(expected);
});

test('the time before has as many months, however long these are', () => {
  // Two intervals are touched: the last day of February and the first of March; so the time before begins in December.
  const from = Date.UTC(2026, 1, 28);
  const query = { from, to: Date.UTC(2026, 2, 2), interval: 'month', compare: 'previous' };
  expect(queriedSince(query)).toBeLessThanOrEqual(Date.UTC(2025, 11, 28));
  expect(queriedSince(query)).toBeGreaterThan(Date.UTC(2025, 11, 1) - 5 * 86_400_000);
});

test('intervals that name no calendar are of the site, wherever in a query they are', () => {
  const site = { timeZone: 'Asia/Tokyo', weekStart: 'sunday' } as const;
  const ofSite = { time_zone: 'Asia/Tokyo', week_start: 'sunday' };
  expect(withCalendar({ steps: [{}], trend: { interval: 'day' } }, site)).toEqual({
    steps: [{}],
    trend: { interval: 'day', ...ofSite },
  });
  const trends = { interval: 'week', time_zone: 'UTC', series: [{ events: ['a'] }] };
  expect(withCalendar({ of: { trends, series: 1 } }, site)).toEqual({
    of: { trends: { ...trends, week_start: 'sunday' }, series: 1 },
  });
  const top = {
    from: 1,
    to: 2,
    field: { property: ['interval'] },
    filters: [{ field: { column: 'event' }, is: 'set' }],
  };
  expect(withCalendar(top, site)).toEqual(top);
});
