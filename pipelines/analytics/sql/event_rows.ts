// SQL of the events that a query reads, each once, of the intervals that its time is cut into, and of events packed into a number,
// which puts many of them in order at once.
import { type Calendar, isTimeZone, wallMs } from '#pipelines/settings/calendar.ts';
import type { Interval, Selection } from '../question.ts';
import { type Binder, JOINS, ROWS } from './statement.ts';

/** Events of one site in a time, and what is wanted of them. */
export interface WantedRows {
  siteId: string;
  span: TimeSpan;
  /** Which events may be wanted at all; those of some names are found by the sort key. */
  selections: readonly Selection[];
  /** What an event must satisfy besides. */
  conditions: readonly string[];
  /** What the result has of each event: expressions over event_rows by the names they are given. */
  columns: Readonly<Record<string, string>>;
}

/** A SELECT with the columns of each event once; of one that is stored more than once the first by FIRST_ROW counts. */
export function firstRowsSql(wanted: WantedRows, binder: Binder): string {
  const { siteId, span, columns, conditions } = wanted;
  const ofSite = `site_id = ${binder.bind(siteId, 'String')}`;
  const keys = keyConditions(wanted, binder);
  // The first row of an event may have been earlier on the day, when nobody asked: then it counts there, whatever else is asked.
  const looked = keyConditions({ ...wanted, span: { ...span, from: span.since } }, binder);
  const named = Object.entries(columns).map(([name, of]) => (name === of ? name : `${of} AS ${name}`));
  const where = [ofSite, ...keys, ...conditions, countsOnce(ofSite, looked.join(' AND '), binder)];
  return binder.shared(
    binder.withNames(`SELECT ${named.join(', ')} FROM event_rows${JOINS} WHERE ${where.join(' AND ')}`),
  );
}

/** Conditions beside that of the site which the sort key, or digests alone, can decide. */
function keyConditions({ span, selections }: WantedRows, binder: Binder): string[] {
  const names = selections.flatMap(({ events = [] }) => events);
  return [
    `timestamp >= ${span.from}`,
    `timestamp < ${span.to}`,
    ...(selections.every(({ events }) => events !== undefined)
      ? [`event IN ${binder.bind([...new Set(names)], 'Array(String)')}`]
      : []),
  ];
}

/** From here on groups are kept on disk, so that memory does not grow with them. */
const GROUPS_IN_MEMORY = 512 * 1024 ** 2;

/** Ends a statement over firstRowsSql. */
export const SPILLED = `SETTINGS max_bytes_before_external_group_by = ${GROUPS_IN_MEMORY}`;

/**
 * SQL that tells which rows of event_rows are of an event that stands there more than once. A block that is inserted twice
 * leaves two rows of each of its events until ClickHouse merges their parts; the warehouse keeps that from happening, and
 * queries do not rely on it. To look for repeats in all rows that a query reads would take longer than the query, so the
 * warehouse looks for those of new rows every now and then (`infra/clickhouse/inserts/duplicate_check.ts`), and queries look for
 * those of rows that came since.
 */

/** The number of the last block that a row's part is made of. Parts are named PARTITION_FIRST_LAST_LEVEL. */
export const LAST_BLOCK = "toInt64(splitByChar('_', _part)[3])";

/** Which shard and partition a row is in, as repeat_checks names it. */
export const PLACE = "concat(toString(shardNum()), '/', _partition_id)";

/** By place the block below which all was checked; 0 where none was. */
const CHECKED = "SELECT CAST(groupArray((place, checked_below)), 'Map(String, Int64)') FROM repeat_checks FINAL";

/** A row by where it lies: parts are those of one moment for a whole query (select_rows.ts). */
const ROW = 'shardNum(), _part, _part_offset';

/**
 * What tells events of a site apart, as event_rows itself does: an id that comes again on another day, which deduplication lets
 * through after its time, or under another name is another event. Rows of one event have what the sort key finds them by in common.
 */
export const EVENT = 'sent_id, event, toDate(timestamp)';

/** The same without reading ids. */
export const EVENT_BY_HASH = 'event_hash, event, toDate(timestamp)';

/** What FIRST_ROW puts in order: of few rows, so that it need not be one number. */
const ORDER = 'timestamp, received_at, raw_index';

/**
 * A condition for rows: of an event that stands there more than once only the first by FIRST_ROW.
 *
 * Where there are no rows to look for, ClickHouse knows before it reads that none is one of them, and reads none.
 *
 * @param ofSites The condition that chooses the site or the sites.
 * @param range Further conditions for the rows that the statement reads: by what copies have in common.
 */
export function countsOnce(ofSites: string, range: string, binder: Binder): string {
  // Whether a row is in a part that has rows which nobody has looked for elsewhere. ClickHouse leaves out the other parts.
  const isUnchecked = `${LAST_BLOCK} >= ${binder.scalar(CHECKED)}[${PLACE}]`;
  const inRange = `FROM event_rows WHERE ${ofSites} AND ${ROWS}`;
  const found = `SELECT event_hash ${inRange}
  AND event_hash GLOBAL IN (SELECT event_hash ${inRange} AND ${isUnchecked}) GROUP BY event_hash HAVING count() > 1`;
  const further = `SELECT arrayJoin(arraySlice(arraySort(groupArray((${ORDER}, (${ROW})))), 2)) AS row ${inRange}
  AND event_hash GLOBAL IN (SELECT event_hash FROM repeated_events WHERE ${ofSites} UNION ALL ${found}) GROUP BY site_id, ${EVENT}`;
  const rows = binder.scalar(`SELECT groupArray(row.4) FROM (${further})`, range);
  return `(${ROW}) GLOBAL NOT IN (SELECT arrayJoin(${rows}))`;
}

const STARTS: Record<Interval, (time: string, zone: string, days: number) => string> = {
  hour: (time, zone) => `toStartOfHour(${time}, ${zone})`,
  day: (time, zone) => `toStartOfDay(${time}, ${zone})`,
  week: (time, zone, days) =>
    `toDateTime(toStartOfWeek(${daysLater(time, zone, days)}, 1, ${zone})${days === 0 ? '' : ` - ${days}`}, ${zone})`,
  month: (time, zone) => `toDateTime(toStartOfMonth(${time}, ${zone}), ${zone})`,
};
/** By how many days a week begins before ClickHouse's own, which begins on Monday. */
const DAYS_BEFORE_MONDAY: Record<Calendar['weekStart'], number> = { monday: 0, sunday: 1, saturday: 2 };

/** The same time of day some days later, also where clocks are changed meanwhile. */
const daysLater = (time: string, zone: string, days: number): string =>
  days === 0 ? time : `addDays(toTimeZone(${time}, ${zone}), ${days})`;

const ADDERS: Record<Interval, string> = { hour: 'addHours', day: 'addDays', week: 'addWeeks', month: 'addMonths' };

/** No interval is shorter: where clocks change by half an hour, one of that length begins or ends. */
const SHORTEST_MS = 900_000;
const HOUR_MS = 3_600_000;

/** The start of the interval that a time lies in, in milliseconds since 1970 UTC. */
export function startOf(interval: Interval, time: string, { timeZone, weekStart }: Calendar, binder: Binder): string {
  return `toUnixTimestamp(${STARTS[interval](time, binder.bind(timeZone, 'String'), DAYS_BEFORE_MONDAY[weekStart])}) * 1000`;
}

/** Two times as expressions; as a question's time the second is not part of it. */
export interface TimeSpan {
  /** The beginning of the day of UTC that it begins on. */
  since: string;
  from: string;
  to: string;
}

/** How many intervals after one time another lies, by a calendar. */
export function intervalsUntil(
  interval: Interval,
  span: Pick<TimeSpan, 'from' | 'to'>,
  { timeZone, weekStart }: Calendar,
  binder: Binder,
): string {
  const zone = binder.bind(timeZone, 'String');
  const days = interval === 'week' ? DAYS_BEFORE_MONDAY[weekStart] : 0;
  const [from, to] = [span.from, span.to].map((time) => daysLater(time, zone, days));
  return `toInt32(dateDiff('${interval}', ${from}, ${to}, ${zone}))`;
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
  calendar: Calendar;
}

/** A question's own time. */
export function querySpan({ from, to }: Pick<Cut, 'from' | 'to'>, binder: Binder): TimeSpan {
  return { since: binder.time(from - (from % DAY_MS)), from: binder.time(from), to: binder.time(to) };
}

const DAY_MS = 86_400_000;
const SHORTEST_MONTH_DAYS = 28;

/** How much earlier another time is, by the clock of a time zone. */
export interface Earlier {
  unit: Interval;
  count: number;
}

/**
 * The time before a question's: as many intervals earlier as it has, or as much as is said, by the clock of its time zone, so that
 * each of its intervals has one beside it also where clocks change or months differ.
 */
export function spanBefore(
  { from, to, interval, calendar, earlier }: Cut & { earlier: Earlier | null },
  binder: Binder,
): TimeSpan {
  const zone = binder.bind(calendar.timeZone, 'String');
  const times = { from: binder.time(from), to: binder.time(to - 1) };
  const { unit, count } = earlier ?? {
    unit: interval,
    count: binder.scalar(`${intervalsUntil(interval, times, calendar, binder)} + 1`),
  };
  const shifted = (ms: number): string =>
    `toTimeZone(${ADDERS[unit]}(toTimeZone(${binder.time(ms)}, ${zone}), -${count}), 'UTC')`;
  const start = binder.scalar(shifted(from));
  // A day that the month before does not have is its last one: as an end it would leave that out, and what was before it does not.
  // What is no zone ClickHouse refuses.
  const shown = isTimeZone(calendar.timeZone) ? wallMs(to, calendar.timeZone) : to;
  const mayBeCut = new Date(shown).getUTCDate() > SHORTEST_MONTH_DAYS;
  const end = binder.scalar(
    mayBeCut ? `greatest(${shifted(to)}, addMilliseconds(${shifted(to - 1)}, 1))` : shifted(to),
  );
  return { since: binder.scalar(`toStartOfDay(${start}, 'UTC')`), from: start, to: end };
}

/** A row for each interval of some times, with its start as `bucket`, and as `period` the place of its time among them, from 0. */
export function calendarSql(spans: readonly TimeSpan[], { interval, calendar }: Cut, binder: Binder): string {
  const moments = spans.map(({ from, to }, period) => {
    const [first, end] = [from, to].map((time) => `toUnixTimestamp64Milli(${time})`);
    return `arrayMap(ms -> (${period}, ms), arrayPushBack(range(${first}, ${end}, ${SHORTEST_MS}), ${end} - 1))`;
  });
  const bucket = startOf(interval, "fromUnixTimestamp64Milli(moment.2, 'UTC')", calendar, binder);
  return `SELECT DISTINCT moment.1 AS period, ${bucket} AS bucket FROM (SELECT arrayJoin(arrayConcat(${moments.join(', ')})) AS moment)`;
}

/**
 * Which row counts if an event is stored more than once: the first by time, then by arrival, then by its place in the request. As
 * one number, which ClickHouse compares in a fraction of the time that it takes for a tuple.
 */
export const FIRST_ROW =
  'bitShiftLeft(toInt128(toUnixTimestamp64Milli(timestamp)), 64) + bitShiftLeft(toUnixTimestamp64Milli(received_at), 20) + raw_index';

/** The digest of the empty text, which stands for no value. */
export const NO_DIGEST = 'toUInt64(0)';

/**
 * The digest of a text as UInt64. Statements that keep a text of each event keep its digest, since numbers are gathered, sorted
 * and compared in a fraction of the time of texts.
 */
export const digestOfText = (text: string): string => `if(empty(${text}), ${NO_DIGEST}, cityHash64(${text}))`;

/** An actor with more events than this in one query is refused. */
const ACTOR_EVENTS_MAX = 1_000_000;

/** Persons are divided by their digests into so many parts, which are sorted separately, on as many cores at most. */
const BUCKETS = 64;

/** ClickHouse gives fewer groups than this to a single core. */
const BUCKETS_APART = 'SETTINGS group_by_two_level_threshold = 1';

const TIME = 'toUInt64(toUnixTimestamp64Milli(timestamp))';
const ARRIVAL = 'toUInt64(toUnixTimestamp64Milli(received_at))';

/** Of events that happened at the same time, their order, and which is which: the arrival, and the place in the request. */
export const MARK = `bitShiftLeft(${ARRIVAL}, 16) + toUInt16(raw_index)`;

/**
 * An event as one number of 256 bits, the highest first: 64 of its actor; 48 each of its time and its arrival; 16 of its place
 * in the request; 64 of the digest of a text; and 16 of its mask. Sorting many of them puts each actor's events side by side
 * and in order, with all that is looked at of them.
 *
 * @param mask An expression of the type UInt16.
 * @param digest One of the type UInt64.
 * @param actor Another of that type.
 */
export function packed(mask: string, digest: string = NO_DIGEST, actor = 'actor'): string {
  const late = `bitShiftLeft(${ARRIVAL}, 32) + bitShiftLeft(toUInt64(toUInt16(raw_index)), 16)`;
  const [high, low] =
    digest === NO_DIGEST ? ['', ''] : [` + bitShiftRight(${digest}, 48)`, ` + bitShiftLeft(${digest}, 16)`];
  return `bitShiftLeft(toUInt256(bitShiftLeft(toUInt128(${actor}), 64) + bitShiftLeft(${TIME}, 16) + bitShiftRight(${ARRIVAL}, 32)), 128)
  + (bitShiftLeft(toUInt128(${late}${high}), 64)${low} + ${mask})`;
}

export const actorOf = (event: string): string => `toUInt64(bitShiftRight(${event}, 192))`;
export const timeOf = (event: string): string => `bitShiftRight(toUInt64(bitShiftRight(${event}, 128)), 16)`;
export const markOf = (event: string): string => `toUInt64(bitShiftRight(${event}, 80))`;
export const digestOf = (event: string): string => `toUInt64(bitShiftRight(${event}, 16))`;
export const maskOf = (event: string): string => `toUInt16(${event})`;

/**
 * A row for each person with its events in order, `packed`.
 *
 * @param rows A SELECT of `actor` and `entry`, an event packed; each event once.
 * @param wanted Conditions for persons, over `packed`.
 */
export function personArraysSql(rows: string, wanted: readonly string[]): string {
  const few = `throwIf(length(packed) > ${ACTOR_EVENTS_MAX}, 'actor_too_large') = 0`;
  return `SELECT packed FROM (${bucketsSql(rows)}) ARRAY JOIN cut AS packed
WHERE ${[...wanted, few].join('\n  AND ')}`;
}

/**
 * `cut`: of some of the persons together an array for each. Gathering into a few long arrays and sorting these takes a quarter
 * of the time that it takes to gather into an array for each person.
 */
function bucketsSql(rows: string): string {
  const changes = `arrayDifference(arrayMap(x -> ${actorOf('x')}, sorted))`;
  return `SELECT arraySort(groupArray(entry)) AS sorted, arraySplit((x, change) -> change != 0, sorted, ${changes}) AS cut
FROM (${rows}) GROUP BY bitAnd(actor, ${BUCKETS - 1}) ${BUCKETS_APART}`;
}
