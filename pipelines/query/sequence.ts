import { allOf, conditionOf, inRange, selects, textOf } from './filters.ts';
import { EXCLUSIONS_MAX, type FunnelQuery, STEPS_MAX } from './shapes.ts';
import type { Binder } from './statement.ts';

/** A pause of more than this between two events of a person ends a session. */
export const SESSION_GAP_MS = 30 * 60_000;

/** Low bits of a stamp, which hold the position. */
export const PLACE_BITS = 20;

/** An actor with more events than this in one query is refused. */
const ACTOR_EVENTS_MAX = 1_000_000;

/**
 * Bits of an event's mask: step n is bit n - 1; above them the exclusions; the last says that it passes the filters. It is a
 * UInt16, and with a time of 42 bits (until 2100) it fits 64.
 */
const EXCLUSION_BIT = STEPS_MAX;
const PASSES_BIT = EXCLUSION_BIT + EXCLUSIONS_MAX;
const MASK_BITS = PASSES_BIT + 1;
if (MASK_BITS > 16) throw new Error('a mask of steps and exclusions does not fit 16 bits');

/** Whether events count that neither fill a step nor are excluded. */
export function needsEveryEvent({ order, count_by }: FunnelQuery): boolean {
  return order === 'strict' || count_by === 'session';
}

export const isTouch = ({ breakdown }: FunnelQuery): boolean =>
  breakdown !== undefined && breakdown.at !== 'first_step';

/**
 * A row for each actor with its events in order as parallel arrays: `mask`, `stamp` (time in milliseconds and position in
 * one number) and, for a breakdown, `texts`. The order is that of time, then arrival, then place in the
 * request, then a digest of the id. Of events of a person with one id only the first counts.
 *
 * Arrays of 64-bit numbers are gathered and sorted many times as fast as those of tuples or of wider numbers, so that
 * these serve only actors who have two events of one time, or one event twice. Time and mask of an event are one such
 * number, `packed`: by it events of different times are in order.
 */
export function actorsSql(siteId: string, query: FunnelQuery, binder: Binder): string {
  const stamp = `arrayMap((x, i) -> bitShiftLeft(${timeOf('x')}, ${PLACE_BITS}) + i, packed, arrayEnumerate(packed)) AS stamp`;
  const columns = ['arrayMap(x -> toUInt16(x), packed) AS mask', stamp, ...textColumns(query)];
  return `SELECT ${columns.join(', ')}
FROM (${query.count_by === 'session' ? sessionsSql(siteId, query, binder) : personsSql(siteId, query, binder)})`;
}

const textColumns = ({ breakdown }: FunnelQuery): string[] => (breakdown === undefined ? [] : ['texts']);

const timeOf = (packed: string): string => `bitShiftRight(${packed}, ${MASK_BITS})`;

/** `packed` and `texts` of each person. */
function personsSql(siteId: string, query: FunnelQuery, binder: Binder): string {
  const texts = textColumns(query);
  const item = ['UInt64', 'UInt64', 'UInt64', ...texts.map(() => 'String')].join(', ');
  const inOrder = `arraySort(x -> (${timeOf('x.1')}, x.2, x.3), arrayZip(${['gathered', 'arrivals', 'digests', ...texts].join(', ')}))`;
  const columns = [
    'if(plain, by_time, arrayMap(x -> x.1, exact)) AS packed',
    ...texts.map(
      (name) => `if(plain, arraySort((x, one) -> one, ${name}, gathered), arrayMap(x -> x.4, exact)) AS ${name}`,
    ),
  ];
  return `SELECT ${columns.join(', ')}
FROM (SELECT *, arraySort(gathered) AS by_time,
  ${differ(`arrayMap(x -> ${timeOf('x')}, by_time)`)} AND ${differ('arraySort(digests)')} AS plain,
  if(plain, CAST([], 'Array(Tuple(${item}))'), ${inOrder}) AS sorted,
  arrayFilter((x, n) -> n = 1, sorted, arrayEnumerateUniq(arrayMap(x -> x.3, sorted))) AS exact
FROM (${gatheredSql(siteId, query, binder)}))`;
}

/** Whether no two numbers of a sorted array are equal. */
function differ(sorted: string): string {
  return `NOT has(arrayPopFront(arrayDifference(${sorted})), 0)`;
}

function gatheredSql(siteId: string, query: FunnelQuery, binder: Binder): string {
  const wanted = query.order === 'any' ? 2 ** query.steps.length - 1 : 1;
  const columns = [
    `groupArray(bitShiftLeft(time, ${MASK_BITS}) + flags) AS gathered`,
    'groupArray(arrival) AS arrivals',
    'groupArray(event_hash) AS digests',
    ...textColumns(query).map((name) => `groupArray(text) AS ${name}`),
  ];
  return `SELECT ${columns.join(', ')}
FROM (${rowsSql(siteId, query, binder)}) GROUP BY actor
HAVING bitAnd(groupBitOr(flags), ${wanted}) != 0 AND throwIf(length(gathered) > ${ACTOR_EVENTS_MAX}, 'actor_too_large') = 0`;
}

/** Sessions are made of all events of a person; the filters choose among them afterwards. */
function sessionsSql(siteId: string, query: FunnelQuery, binder: Binder): string {
  const names = ['packed', ...textColumns(query)];
  const pauses = `arrayDifference(arrayMap(x -> ${timeOf('x')}, packed))`;
  const cut = names.map(
    (name) =>
      `arraySplit((x, pause, i) -> i > 1 AND pause > ${SESSION_GAP_MS}, ${name}, ${pauses}, arrayEnumerate(packed)) AS cut_${name}`,
  );
  const passing = names.map(
    (name) => `arrayFilter((x, one) -> bitTest(one, ${PASSES_BIT}), one_${name}, one_packed) AS ${name}`,
  );
  const joined = names.map((name) => `cut_${name} AS one_${name}`);
  return `SELECT ${passing.join(', ')}
FROM (SELECT ${cut.join(', ')} FROM (${personsSql(siteId, query, binder)})) ARRAY JOIN ${joined.join(', ')}`;
}

function rowsSql(siteId: string, query: FunnelQuery, binder: Binder): string {
  const text = query.breakdown === undefined ? '' : `, ${textOf(query.breakdown.field, binder)} AS text`;
  return `SELECT actor, event_hash, ${maskSql(query, binder)} AS flags, toUInt64(toUnixTimestamp64Milli(timestamp)) AS time,
  bitShiftLeft(toUInt64(toUnixTimestamp64Milli(received_at)), 16) + toUInt16(raw_index) AS arrival${text}
FROM actor_events WHERE ${rowsWanted(siteId, query, binder).join(' AND ')}`;
}

function rowsWanted(siteId: string, query: FunnelQuery, binder: Binder): string[] {
  const from = query.from - (query.breakdown?.lookback_ms ?? 0);
  const range = inRange(siteId, { from, to: query.to }, binder);
  if (query.count_by === 'session') return range;
  const passing = [...range, ...(query.filters ?? []).map((filter) => conditionOf(filter, binder))];
  if (needsEveryEvent(query)) return passing;
  if (isTouch(query)) return [...passing, "(flags != 0 OR text != '')"];
  return [...passing, ...namesWanted(query, binder), 'flags != 0'];
}

/** What the sort key can sort out, where every step and exclusion names its events. */
function namesWanted({ steps, exclusions = [] }: FunnelQuery, binder: Binder): string[] {
  const names = new Set<string>();
  for (const { events } of [...steps, ...exclusions]) {
    if (events === undefined) return [];
    for (const name of events) names.add(name);
  }
  return [`event IN ${binder.bind([...names], 'Array(String)')}`];
}

function maskSql(query: FunnelQuery, binder: Binder): string {
  const { steps, exclusions = [], filters = [], from, count_by, breakdown } = query;
  const passes = allOf(filters.map((filter) => conditionOf(filter, binder)));
  const bits = [
    ...steps.map((step, index) => bit(selects(step, binder), index)),
    ...exclusions.map((exclusion, index) => bit(selects(exclusion, binder), EXCLUSION_BIT + index)),
  ].join(' + ');
  if (count_by === 'session') return `if(${passes}, toUInt16(${bits} + ${2 ** PASSES_BIT}), toUInt16(0))`;
  if (breakdown?.lookback_ms === undefined) return `toUInt16(${bits})`;
  return `if(timestamp >= fromUnixTimestamp64Milli(${binder.bind(from, 'Int64')}, 'UTC'), toUInt16(${bits}), toUInt16(0))`;
}

function bit(condition: string, index: number): string {
  return `(${condition}) * ${2 ** index}`;
}

/** Bits of the exclusions that lie between a step and the next one; 0 where there are none. */
export function excludedAfter({ exclusions = [], steps, order }: FunnelQuery, step: number): number {
  let bits = 0;
  exclusions.forEach(({ after_step = 1, before_step = steps.length }, index) => {
    if (order === 'any' || (step >= after_step && step < before_step)) bits += 2 ** (EXCLUSION_BIT + index);
  });
  return bits;
}
