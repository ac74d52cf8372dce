import { expect, it } from 'vitest';
import type { AlertInput } from '#pipelines/alerts/alert.ts';
import { figuresOf, questionOf, waitsUntil } from '#pipelines/alerts/figures.ts';
import { newState } from '#pipelines/alerts/judge.ts';
import type { TrendRow } from '#pipelines/analytics/trends/query.ts';
import { alertWith, DAY_MS, HOUR_MS, NOON_MS } from './alert_world.ts';

const UTC = { timeZone: 'UTC', weekStart: 'monday' } as const;
const BRUSSELS = { timeZone: 'Europe/Brussels', weekStart: 'monday' } as const;

function row(kind: TrendRow['kind'], bucket: number, events: number, period = 0, series = 1): TrendRow {
  return {
    ...{
      period,
      series: kind === 'start' ? 0 : series,
      kind,
      parts: [],
      rest: 0,
      texts: 0,
      bucket,
      events,
      persons: events,
    },
    ...{ units: '0', numbers: 0, least: null, most: null, quantiles: [null, null, null], uniques: 0 },
  };
}

/** Rows of hours with their events, as ClickHouse answers them. */
const rowsOf = (hours: readonly (readonly [from: number, events: number])[], period = 0): TrendRow[] =>
  hours.flatMap(([from, events]) => [
    row('start', from, 0, period),
    ...(events > 0 ? [row('interval', from, events, period)] : []),
  ]);

function figures(
  changes: Partial<AlertInput>,
  rows: readonly TrendRow[],
  nowMs: number,
  judgedTo: number,
  calendar: typeof UTC | typeof BRUSSELS = UTC,
) {
  const alert = alertWith(changes);
  const query = questionOf(alert, calendar, judgedTo, nowMs);
  return figuresOf(alert, query, rows, calendar, nowMs - alert.grace_minutes * 60_000);
}

it('counts neither the running interval, nor one whose late events are still waited for', () => {
  const hours = [-2, -1, 0, 1].map((hour) => [NOON_MS + hour * HOUR_MS, hour + 5] as const);
  const ended = (nowMs: number) => figures({}, rowsOf(hours), nowMs, NOON_MS - HOUR_MS).map(({ value }) => value);
  expect(ended(NOON_MS + HOUR_MS + 9 * 60_000)).toEqual([3, 4]);
  expect(ended(NOON_MS + HOUR_MS + 10 * 60_000)).toEqual([3, 4, 5]);
});

it('asks for no more than is needed, also after the process was away for long', () => {
  const soon = questionOf(alertWith(), UTC, NOON_MS, NOON_MS + HOUR_MS);
  expect(soon).toMatchObject({
    from: NOON_MS - HOUR_MS,
    to: NOON_MS + HOUR_MS,
    interval: 'hour',
    empty_intervals: 'zeros',
  });
  const late = questionOf(alertWith(), UTC, NOON_MS - 100 * DAY_MS, NOON_MS);
  expect((NOON_MS - late.from) / HOUR_MS).toBeLessThan(14);
});

it('says that there were no events only of what had some', () => {
  const condition = { is: 'no_data' } as const;
  const hours = (first: number) =>
    [-2, -1, 0].map((hour) => [NOON_MS + hour * HOUR_MS, hour === -2 ? first : 0] as const);
  const nowMs = NOON_MS + HOUR_MS / 2;
  const last = (first: number) => figures({ condition }, rowsOf(hours(first)), nowMs, NOON_MS - HOUR_MS).at(-1);
  expect(last(3)).toMatchObject({ value: 0, events: 0, hadEvents: true });
  expect(last(0)).toMatchObject({ hadEvents: false });
});

it('compares with the same hour of the day before, as clocks show it, also where they were changed', () => {
  const condition = { is: 'fell', percent: 50, against: 'day' } as const;
  // Sunday in March: two is followed by three, at 01:00 UTC.
  const change = Date.UTC(2027, 2, 28, 1);
  const day = [0, 1, 2].map((hour) => [change + hour * HOUR_MS, 10 + hour] as const);
  const before = [-1, 0, 1, 2].map((hour) => [change - DAY_MS + hour * HOUR_MS, 20 + hour] as const);
  const rows = [...rowsOf(day), ...rowsOf(before, 1)];
  const found = figures({ condition }, rows, change + 2.5 * HOUR_MS, change, BRUSSELS);
  // Three o'clock of summer is at 01:00 UTC, that of the day before was at 02:00 UTC.
  expect(found.map(({ value, base }) => [value, base])).toEqual([
    [10, 21],
    [11, 22],
  ]);
});

it('asks of match quality the share of events with an identifier', () => {
  const changes = { kind: 'match_quality', question: undefined, condition: { is: 'below', value: 50 } } as const;
  const { question: _, ...alert } = alertWith();
  const quality = { ...alert, ...changes, question: undefined } as unknown as Parameters<typeof questionOf>[0];
  const query = questionOf(quality, UTC, NOON_MS, NOON_MS + HOUR_MS);
  expect(query.formulas).toEqual(['A / B * 100']);
  const rows = [
    ...rowsOf([
      [NOON_MS, 0],
      [NOON_MS + HOUR_MS, 0],
    ]),
    row('interval', NOON_MS, 10, 0, 1),
    row('interval', NOON_MS, 40, 0, 2),
  ];
  const [figure] = figuresOf(quality, query, rows, UTC, NOON_MS + HOUR_MS);
  expect(figure).toMatchObject({ value: 25, events: 40 });
});

it.each([
  ['hour', '2027-03-01T12:20Z', '2027-03-01T14:00Z'],
  ['hour', '2027-03-01T12:00Z', '2027-03-01T13:00Z'],
  ['day', '2027-03-01T12:00Z', '2027-03-02T23:00Z'],
  ['day', '2027-02-28T23:00Z', '2027-03-01T23:00Z'],
  // Clocks are set forward on the 28th.
  ['week', '2027-03-17T12:00Z', '2027-03-28T22:00Z'],
  ['month', '2027-01-31T12:00Z', '2027-02-28T23:00Z'],
] as const)('one by %s that was made at %s waits until the first whole one is over', (interval, made, until) => {
  const alert = alertWith({ interval });
  const state = newState('shop', alert, 'rule', Date.parse(made));
  expect(waitsUntil(alert, state, BRUSSELS)).toBe(Date.parse(until));
  expect(waitsUntil(alert, { ...state, status: 'ok' }, BRUSSELS)).toBeNull();
});

it('waits for no interval where it looks at a state', () => {
  const alert = alertWith({ kind: 'allowance', condition: { is: 'above', value: 80 } });
  expect(waitsUntil(alert, newState('shop', alert, 'rule', NOON_MS), UTC)).toBeNull();
});
