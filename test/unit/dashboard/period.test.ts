import { expect, test } from 'vitest';
import { pageCalendar } from '#services/dashboard/src/format.ts';
import { dayStart, periodBefore, readPeriod } from '#services/dashboard/src/period.ts';

const NOW_MS = new Date(2026, 10, 21, 12, 30, 20).getTime();
const read = (query: string): ReturnType<typeof readPeriod> => readPeriod(new URLSearchParams(query), NOW_MS);
const day = (year: number, month: number, date: number): number => new Date(year, month - 1, date).getTime();

test('without a name it is the last seven days, today among them, to the end of this minute', () => {
  const period = read('');
  expect([period.from, period.to]).toEqual([day(2026, 11, 15), new Date(2026, 10, 21, 12, 31).getTime()]);
  expect([period.interval, period.label, period.name]).toEqual(['day', 'Last 7 days', null]);
  expect([period.firstDay, period.lastDay]).toEqual(['2026-11-15', '2026-11-21']);
});

test.for([
  ['period=today', day(2026, 11, 21), 'hour', 'Today'],
  ['period=24h', new Date(2026, 10, 20, 12).getTime(), 'hour', 'Last 24 hours'],
  ['period=30d', day(2026, 10, 23), 'day', 'Last 30 days'],
  ['period=12mo', day(2025, 11, 22), 'week', 'Last 365 days'],
  ['period=never', day(2026, 11, 15), 'day', 'Last 7 days'],
] as const)('%s', ([query, from, interval, label]) => {
  const period = read(query);
  expect([period.from, period.interval, period.label]).toEqual([from, interval, label]);
});

test.for([
  ['period=yesterday', day(2026, 11, 20), day(2026, 11, 21), 'hour', '2026-11-20'],
  ['period=month', day(2026, 11, 1), new Date(2026, 10, 21, 12, 31).getTime(), 'day', '2026-11-21'],
  ['period=last_month', day(2026, 10, 1), day(2026, 11, 1), 'day', '2026-10-31'],
] as const)('%s ends where its calendar does', ([query, from, to, interval, lastDay]) => {
  const period = read(query);
  expect([period.from, period.to, period.interval, period.lastDay]).toEqual([from, to, interval, lastDay]);
  expect(period.name).toBe(query.slice('period='.length));
});

test.for([
  ['Asia/Tokyo', '2026-11-21T15:00:00Z', '2026-11-21T15:31:00Z', '2026-11-22'],
  ['America/New_York', '2026-11-21T05:00:00Z', '2026-11-21T15:31:00Z', '2026-11-21'],
  ['UTC', '2026-11-21T00:00:00Z', '2026-11-21T15:31:00Z', '2026-11-21'],
] as const)('on pages of a site in %s today begins there', ([time_zone, from, to, lastDay]) => {
  pageCalendar.value = { time_zone, week_start: 'monday' };
  const nowMs = Date.parse('2026-11-21T15:30:20Z');
  const today = readPeriod(new URLSearchParams('period=today'), nowMs);
  expect([today.from, today.to, today.lastDay]).toEqual([Date.parse(from), Date.parse(to), lastDay]);
  const range = readPeriod(new URLSearchParams('from=2026-10-24&to=2026-10-25'), nowMs);
  expect([range.firstDay, range.lastDay, range.label]).toEqual([
    '2026-10-24',
    '2026-10-25',
    '24 Oct 2026 – 25 Oct 2026',
  ]);
  expect(range.from).toBe(dayStart(time_zone, 2026, 9, 24));
  expect(range.to).toBe(dayStart(time_zone, 2026, 9, 26));
  pageCalendar.value = null;
});

test('the month before January is of the year before', () => {
  const { from, to } = readPeriod(new URLSearchParams('period=last_month'), day(2027, 1, 5));
  expect([from, to]).toEqual([day(2026, 12, 1), day(2027, 1, 1)]);
});

test('two days of the calendar are both meant', () => {
  const period = read('from=2026-03-01&to=2026-03-31&period=today');
  expect([period.from, period.to]).toEqual([day(2026, 3, 1), day(2026, 4, 1)]);
  expect([period.firstDay, period.lastDay, period.interval]).toEqual(['2026-03-01', '2026-03-31', 'day']);
});

test.for(['from=2026-03-31&to=2026-03-01', 'from=2026-03-01', 'from=2026-13-01&to=2026-13-02', 'from=x&to=y'])(
  '%s is no period, so it is the usual one',
  (query) => {
    expect(read(query).label).toBe('Last 7 days');
  },
);

test.for([
  ['hour', 'UTC', '2026-11-21T00:00Z', '2026-11-21T15:31Z', '2026-11-20T08:00Z', '2026-11-20T23:31Z'],
  ['hour', 'Asia/Kolkata', '2026-11-20T18:30Z', '2026-11-21T18:30Z', '2026-11-19T18:30Z', '2026-11-20T18:30Z'],
  ['day', 'UTC', '2026-11-15T00:00Z', '2026-11-21T15:31Z', '2026-11-08T00:00Z', '2026-11-14T15:31Z'],
  // Clocks were set back on the 25th of October.
  ['day', 'Europe/Brussels', '2026-10-23T22:00Z', '2026-10-26T23:00Z', '2026-10-20T22:00Z', '2026-10-23T22:00Z'],
  // Three weeks have a day of it.
  ['week', 'UTC', '2026-11-04T00:00Z', '2026-11-17T00:00Z', '2026-10-14T00:00Z', '2026-10-27T00:00Z'],
  ['month', 'UTC', '2026-01-01T00:00Z', '2026-03-31T10:00Z', '2025-10-01T00:00Z', '2025-12-31T10:00Z'],
  ['month', 'UTC', '2026-03-01T00:00Z', '2026-03-31T10:00Z', '2026-02-01T00:00Z', '2026-02-28T10:00Z'],
] as const)('by %s in %s the time before has as many intervals', ([interval, timeZone, from, to, first, end]) => {
  const before = periodBefore(
    { from: Date.parse(from), to: Date.parse(to), interval },
    { timeZone, weekStart: 'monday' },
  );
  expect([before.from, before.to].map((ms) => new Date(ms).toISOString().replace(':00.000', ''))).toEqual([first, end]);
});
