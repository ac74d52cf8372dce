import { expect, test } from 'vitest';
import type { LifecycleAnswer } from '#pipelines/analytics/lifecycle.ts';
import type { RetentionAnswer } from '#pipelines/analytics/retention.ts';
import type { StickinessAnswer } from '#pipelines/analytics/stickiness.ts';
import type { TrendsAnswer } from '#pipelines/analytics/trends/answer.ts';
import { purchaseFunnel, START, storedRow } from './few_rows.ts';
import { useQueryWorld } from './query_world.ts';

const create = useQueryWorld();
const { from, to } = purchaseFunnel;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** Minutes from START to a time. */
const until = (time: string): number => (Date.parse(time) - START) / MINUTE_MS;

test('every interval has one beside it of the time before, also where clocks change', async () => {
  const world = await create();
  // Clocks go back in Berlin on 25 October 2026: that day has 25 hours.
  await world.store([
    ['2026-10-22T22:00Z', '2026-10-24T22:00Z', '2026-10-25T22:59Z', '2026-10-25T23:00Z'].map((time) =>
      storedRow('a', 'e', until(time)),
    ),
  ]);
  const midnight = (day: number, hour: number): number => Date.UTC(2026, 9, day, hour);
  const { series } = await world.ask<TrendsAnswer>('trends', {
    from: midnight(24, 22),
    to: midnight(26, 23),
    interval: 'day',
    time_zone: 'Europe/Berlin',
    series: [{}],
    compare: 'previous',
    rolling: 2,
  });
  const shown = (
    group: { intervals: { from: number; measured: number | null; rolling?: number | null }[] } | undefined,
  ) => group?.intervals.map((one) => [new Date(one.from).toISOString(), one.measured, one.rolling]);
  expect(shown(series[0])).toEqual([
    ['2026-10-24T22:00:00.000Z', 2, 2],
    ['2026-10-25T23:00:00.000Z', 1, 1.5],
  ]);
  expect(shown(series[0]?.before)).toEqual([
    ['2026-10-22T22:00:00.000Z', 1, 1],
    ['2026-10-23T22:00:00.000Z', 0, 0.5],
  ]);
});

test('a time is compared with that a year before, or so many days earlier, also where clocks change or a year is longer', async () => {
  const world = await create();
  const times = [
    '2026-03-01T04:59Z',
    '2027-03-01T05:00Z',
    '2028-02-29T05:00Z',
    '2028-03-01T05:30Z',
    '2028-03-15T05:00Z',
  ];
  await world.store([times.map((time) => storedRow('a', 'e', until(time)))]);
  const ask = (question: object): Promise<{ status: number; body: { problems: { field: string }[] } & TrendsAnswer }> =>
    world.control.call('POST', '/v1/query/shop/trends', {
      body: { interval: 'day', time_zone: 'America/New_York', series: [{}], ...question },
    });
  const before = async (question: object): Promise<unknown[]> => {
    const { body } = await ask(question);
    const { intervals = [] } = body.series[0]?.before ?? {};
    const [first, ...others] = intervals.map((one) => new Date(one.from).toISOString().slice(0, 13));
    return [first, others.length, intervals.map(({ measured }) => measured).join('')];
  };
  // Midnight is at 05:00 UTC until 12 March 2028, at 04:00 after it.
  const march = { from: Date.parse('2028-03-01T05:00Z'), to: Date.parse('2028-03-04T05:00Z') };
  expect(await before({ ...march, compare: 'year' })).toEqual(['2027-03-01T05', 2, '100']);
  expect(await before({ ...march, compare: { days: 366 } })).toEqual(['2027-03-01T05', 2, '100']);
  expect(await before({ ...march, compare: { days: 3 } })).toEqual(['2028-02-27T05', 2, '001']);
  // A day that there is not in the month before, or the year, is no reason to leave its last one out.
  const february = { from: Date.parse('2028-02-01T05:00Z'), to: Date.parse('2028-02-29T05:00Z'), compare: 'year' };
  expect((await before(february)).slice(0, 2)).toEqual(['2027-02-01T05', 27]);
  const days = { from: Date.parse('2027-03-30T04:00Z'), to: Date.parse('2027-03-31T04:00Z'), interval: 'month' };
  const { body } = await ask({ ...days, compare: 'previous' });
  expect(body.series[0]?.before?.intervals.map(({ measured }) => measured)).toEqual([0]);
  const later = { from: Date.parse('2028-03-15T04:00Z'), to: Date.parse('2028-03-17T04:00Z') };
  expect(await before({ ...later, compare: { days: 14 } })).toEqual(['2028-03-01T05', 1, '10']);
  const weeks = { from: Date.parse('2028-02-28T05:00Z'), to: Date.parse('2028-03-13T04:00Z'), interval: 'week' };
  expect(await before({ ...weeks, compare: 'year' })).toEqual(['2027-03-01T05', 1, '10']);
  expect(await before({ ...weeks, compare: { days: 15 } })).toEqual(['2028-02-07T05', 1, '00']);
  for (const [question, field] of [
    [{ ...march, compare: { days: 2 } }, 'compare.days'],
    [{ ...march, interval: 'month', compare: { days: 400 } }, 'compare.days'],
    [{ from: march.from, to: march.from + 400 * DAY_MS, compare: 'year' }, 'compare'],
  ] as const) {
    const { status, body } = await ask(question);
    expect([status, body.problems.map((problem) => problem.field)]).toEqual([400, [field]]);
  }
});

test('weeks begin as the query says, or on the day and in the zone of the site, also where clocks change', async () => {
  const world = await create();
  // Clocks go back in New York on Sunday, 1 November 2026, at 06:00 UTC.
  const times = ['2026-11-01T03:59Z', '2026-11-01T04:00Z', '2026-11-08T04:59Z', '2026-11-08T05:00Z'];
  await world.store([times.map((time) => storedRow('a', 'e', until(time)))]);
  const range = { from: Date.UTC(2026, 9, 20), to: Date.UTC(2026, 10, 12), interval: 'week' };
  const weeks = async (calendar: object): Promise<unknown> => {
    const { series } = await world.ask<TrendsAnswer>('trends', { ...range, ...calendar, series: [{}] });
    return series[0]?.intervals.map((one) => [new Date(one.from).toISOString().slice(0, 13), one.measured]);
  };
  const returned = async (calendar: object): Promise<unknown> => {
    const { cohorts } = await world.ask<RetentionAnswer>('retention', { ...range, ...calendar, start: {}, back: {} });
    return cohorts.map((cohort) => [new Date(cohort.from).toISOString().slice(0, 13), cohort.returned]);
  };
  const time_zone = 'America/New_York';
  expect(await weeks({ time_zone })).toEqual([
    ['2026-10-26T04', 2],
    ['2026-11-02T05', 2],
  ]);
  const ofSundays = [
    ['2026-10-25T04', 1],
    ['2026-11-01T04', 2],
    ['2026-11-08T05', 1],
  ];
  expect(await weeks({ time_zone, week_start: 'sunday' })).toEqual(ofSundays);
  expect(await returned({ time_zone, week_start: 'sunday' })).toEqual([['2026-10-25T04', [0, 1, 1]]]);
  expect(await weeks({ time_zone, week_start: 'saturday' })).toEqual([
    ['2026-10-31T04', 2],
    ['2026-11-07T05', 2],
  ]);
  expect(await returned({ time_zone, week_start: 'saturday' })).toEqual([['2026-10-31T04', [1, 1]]]);
  const site = '/v1/admin/sites/shop';
  const { etag } = await world.control.call('GET', site);
  const body = { time_zone, week_start: 'sunday' };
  expect(await world.control.call('PATCH', site, { body, ifMatch: etag })).toMatchObject({ status: 200, body });
  expect(await weeks({})).toEqual(ofSundays);
  expect(await returned({})).toEqual([['2026-10-25T04', [0, 1, 1]]]);
  expect(await weeks({ time_zone: 'UTC', week_start: 'monday' })).toEqual([
    ['2026-10-26T00', 2],
    ['2026-11-02T00', 2],
  ]);
});

test('an hour that a zone has twice is two intervals, and none is left out', async () => {
  const world = await create();
  const range = { from: Date.UTC(2026, 9, 24, 22), to: Date.UTC(2026, 9, 25, 23) };
  const question = { ...range, interval: 'hour', time_zone: 'Europe/Berlin', series: [{}], empty_intervals: 'zeros' };
  const { series } = await world.ask<TrendsAnswer>('trends', question);
  expect(series[0]?.intervals.map((one) => one.from)).toEqual(
    Array.from({ length: 25 }, (_, hour) => range.from + hour * HOUR_MS),
  );
});

test('of 52,000 values the greatest by what is measured are given, and the rest exactly as one', async () => {
  const world = await create();
  const count = 52_000;
  await world.database.warehouse.command({
    query: `INSERT INTO event_rows (site_id, event_id, distinct_id, arrived_person_id, event, timestamp, received_at, value, properties)
      SELECT 'shop', concat('e-', toString(number)), 'd', concat('p-', toString(number % 900)), 'visit',
        fromUnixTimestamp64Milli(toInt64(${START} + number * 1000), 'UTC'), fromUnixTimestamp64Milli(toInt64(${START}), 'UTC'),
        number, concat('{"page":"/', toString(number), '"}')
      FROM numbers(${count})`,
  });
  const question = {
    from: START,
    to: START + count * 1_000,
    interval: 'month',
    breakdown: { field: { property: ['page'] }, limit: 3 },
  };
  const sum = { measure: { of: 'sum', field: { column: 'value' } } };
  const { series } = await world.ask<TrendsAnswer>('trends', { ...question, series: [sum, {}], fresh: true });
  const [bySum, byEvents] = series;
  expect(bySum?.breakdown.map(({ value }) => value)).toEqual(['/51999', '/51998', '/51997']);
  expect(byEvents?.breakdown.map(({ value, events }) => [value, events])).toEqual([
    ['/0', 1],
    ['/1', 1],
    ['/10', 1],
  ]);
  const rest = { values: count - 3, events: count - 3, persons: 900 };
  expect(bySum?.other).toMatchObject({ ...rest, measured: (count * (count - 1)) / 2 - 51_999 - 51_998 - 51_997 });
  expect(byEvents?.other).toMatchObject(rest);
  expect(bySum?.measured).toBe((count * (count - 1)) / 2);
});

test('an event that is stored at two times of a day is where it first was, for every question', async () => {
  const world = await create();
  await world.database.warehouse.command({ query: 'SYSTEM STOP MERGES event_rows' });
  const twice = { event_id: 'twice', value: 5 };
  await world.store([
    [storedRow('a', 'e', 60 * 5, twice), storedRow('a', 'e', 0, { value: 1 })],
    [storedRow('a', 'e', 30, twice)],
  ]);
  // Where it is another day between them.
  const question = { from, to, interval: 'day', time_zone: 'Asia/Tokyo' };
  const measure = { of: 'average', field: { column: 'value' } };
  const { series } = await world.ask<TrendsAnswer>('trends', { ...question, series: [{ measure }] });
  expect(series[0]?.intervals.map(({ events, measured }) => [events, measured])).toEqual([[2, 3]]);
  const sticky = await world.ask<StickinessAnswer>('stickiness', { ...question, series: [{}] });
  expect(sticky).toEqual({
    intervals: 32,
    series: [{ persons: 1, active: [{ intervals: 1, persons: 1, persons_at_least: 1 }] }],
  });
  const { cohorts } = await world.ask<RetentionAnswer>('retention', { ...question, start: {}, back: {} });
  expect(cohorts.map(({ persons, returned }) => [persons, returned])).toEqual([[1, [1]]]);
});

test('retention counts the first start of the time, the first ever, or every one', async () => {
  const world = await create();
  const day = 24 * 60;
  // One came first before the time and twice in it, one came first in it.
  await world.store([
    [-9 * day, 0, 2 * day].map((minute) => storedRow('old', 'visit', minute)),
    [1 * day, 2 * day].map((minute) => storedRow('young', 'visit', minute)),
  ]);
  const cohorts = async (mode?: string) => {
    const question = { from: START - DAY_MS, to: START + 9 * DAY_MS, interval: 'day', start: {}, back: {}, mode };
    const answer = await world.ask<RetentionAnswer>('retention', question);
    return answer.cohorts.map((one) => [(one.from - Date.UTC(2026, 9, 5)) / DAY_MS, one.persons, one.returned]);
  };
  expect(await cohorts()).toEqual([
    [0, 1, [0, 0, 1]],
    [1, 1, [0, 1]],
  ]);
  expect(await cohorts('first')).toEqual(await cohorts());
  expect(await cohorts('first_ever')).toEqual([[1, 1, [0, 1]]]);
  expect(await cohorts('recurring')).toEqual([
    [0, 1, [0, 0, 1]],
    [1, 1, [0, 1]],
    [2, 2, []],
  ]);
});

test('a lifecycle knows who was there before its time', async () => {
  const world = await create();
  const day = 24 * 60;
  await world.store([
    [-9, 0, 2].map((at) => storedRow('old', 'visit', at * day)),
    [-1, 0].map((at) => storedRow('steady', 'visit', at * day)),
    [0, 1].map((at) => storedRow('young', 'visit', at * day)),
  ]);
  const range = { from: Date.UTC(2026, 9, 5), to: Date.UTC(2026, 9, 8) };
  const { intervals } = await world.ask<LifecycleAnswer>('lifecycle', { ...range, interval: 'day' });
  expect(intervals.map((one) => [one.new, one.returning, one.resurrecting, one.dormant])).toEqual([
    [1, 1, 1, 0],
    [0, 1, 0, 2],
    [0, 0, 1, 1],
  ]);
});
