import type { Interval } from '#pipelines/query/shapes.ts';
import type { Binder } from './statement.ts';

/** Weeks begin on Monday, as in ISO 8601. */
const STARTS: Record<Interval, (time: string, zone: string) => string> = {
  hour: (time, zone) => `toStartOfHour(${time}, ${zone})`,
  day: (time, zone) => `toStartOfDay(${time}, ${zone})`,
  week: (time, zone) => `toDateTime(toStartOfWeek(${time}, 1, ${zone}), ${zone})`,
  month: (time, zone) => `toDateTime(toStartOfMonth(${time}, ${zone}), ${zone})`,
};
const ADDERS: Record<Interval, string> = { hour: 'addHours', day: 'addDays', week: 'addWeeks', month: 'addMonths' };

/** No interval is shorter: where clocks change by half an hour, one of that length begins or ends. */
const SHORTEST_MS = 900_000;
const HOUR_MS = 3_600_000;

/** The start of the interval that a time lies in, in milliseconds since 1970 UTC. */
export function startOf(interval: Interval, time: string, timeZone: string, binder: Binder): string {
  return `toUnixTimestamp(${STARTS[interval](time, binder.bind(timeZone, 'String'))}) * 1000`;
}

/** Two times as expressions; as a question's time the second is not part of it. */
export interface TimeSpan {
  from: string;
  to: string;
}

/** How many intervals after one time another lies, by the calendar of a time zone. */
export function intervalsUntil(interval: Interval, { from, to }: TimeSpan, timeZone: string, binder: Binder): string {
  return `toInt32(dateDiff('${interval}', ${from}, ${to}, ${binder.bind(timeZone, 'String')}))`;
}

/** As short as an interval may be: of a day or more one hour less, where clocks change. */
const LEAST_MS: Record<Interval, number> = {
  hour: SHORTEST_MS,
  day: 23 * HOUR_MS,
  week: (7 * 24 - 1) * HOUR_MS,
  month: (28 * 24 - 1) * HOUR_MS,
};
const MASK_BITS = 64;

/**
 * An aggregate: the different values of `place`, the number of an interval of a time, as an array. As bits of one number
 * where there are few, as everybody then has eight bytes instead of a set.
 *
 * @param least The lowest that there can be.
 */
export function differentPlaces({ from, to, interval }: Cut, least: number): string {
  // Two more: of the first and the last there may be a part, and a zone has left out a day of the calendar.
  const bits = Math.ceil((to - from) / LEAST_MS[interval]) + 2 - least;
  if (bits > MASK_BITS) return 'groupUniqArray(place)';
  const mask = `groupBitOr(bitShiftLeft(toUInt64(1), place - (${least})))`;
  return `arrayMap(bit -> toInt32(bit) + (${least}), bitPositionsToArray(${mask}))`;
}

/** What a question's time is cut by. */
interface Cut {
  from: number;
  to: number;
  interval: Interval;
  timeZone: string;
}

/** A question's own time. */
export function askedSpan({ from, to }: Pick<Cut, 'from' | 'to'>, binder: Binder): TimeSpan {
  return { from: binder.time(from), to: binder.time(to) };
}

/**
 * The time before a question's: as many intervals earlier as it has, by the clock of its time zone, so that each of its
 * intervals has one beside it also where clocks change or months differ.
 */
export function spanBefore({ from, to, interval, timeZone }: Cut, binder: Binder): TimeSpan {
  const zone = binder.bind(timeZone, 'String');
  const times = { from: binder.time(from), to: binder.time(to - 1) };
  const count = `(${intervalsUntil(interval, times, timeZone, binder)} + 1)`;
  const earlier = (ms: number): string =>
    `toTimeZone(${ADDERS[interval]}(toTimeZone(${binder.time(ms)}, ${zone}), -${count}), 'UTC')`;
  return { from: earlier(from), to: earlier(to) };
}

/** A row for each interval of a time, with its start as `bucket`. */
export function calendarSql({ from, to }: TimeSpan, { interval, timeZone }: Cut, binder: Binder): string {
  const [first, end] = [from, to].map((time) => `toUnixTimestamp64Milli(${time})`);
  const moments = `arrayConcat(range(${first}, ${end}, ${SHORTEST_MS}), [${end} - 1])`;
  const bucket = startOf(interval, "fromUnixTimestamp64Milli(moment, 'UTC')", timeZone, binder);
  return `SELECT DISTINCT ${bucket} AS bucket FROM (SELECT arrayJoin(${moments}) AS moment)`;
}
