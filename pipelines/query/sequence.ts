import { allOf, conditionOf, inRange, selects, textOf } from './filters.ts';
import type { FunnelQuery } from './shapes.ts';
import type { Binder } from './statement.ts';

/** A pause of more than this between two events of a person ends a session. */
export const SESSION_GAP_MS = 30 * 60_000;

/** Low bits of a stamp, which hold the position. */
export const PLACE_BITS = 20;

/** An actor with more events than this in one query is refused. */
const ACTOR_EVENTS_MAX = 1_000_000;

/** Bits of an event's mask: step n is bit n - 1; above them the exclusions; the last says that it passes the filters. */
const EXCLUSION_BIT = 16;
const PASSES_BIT = 31;

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
 * An event is one 256-bit number while it is sorted: time, arrival and place, digest of the id, mask. Arrays of tuples
 * cost more than twice as much.
 */
export function actorsSql(siteId: string, query: FunnelQuery, binder: Binder): string {
  const texts = query.breakdown === undefined ? '' : `, arrayMap(x -> x.2, events) AS texts`;
  return `SELECT actor, arrayMap(x -> toUInt32(${key(query)}), events) AS mask,
  arrayMap((x, i) -> bitShiftLeft(toUInt64(bitShiftRight(${key(query)}, 192)), ${PLACE_BITS}) + i, events, arrayEnumerate(events)) AS stamp${texts}
FROM (${query.count_by === 'session' ? sessionsSql(siteId, query, binder) : personsSql(siteId, query, binder)})`;
}

function key({ breakdown }: FunnelQuery): string {
  return breakdown === undefined ? 'x' : 'x.1';
}

function personsSql(siteId: string, query: FunnelQuery, binder: Binder): string {
  const item = query.breakdown === undefined ? 'packed' : 'tuple(packed, text)';
  const wanted = query.order === 'any' ? 2 ** query.steps.length - 1 : 1;
  return `SELECT actor, arrayFilter((x, n) -> n = 1, sorted, arrayEnumerateUniq(arrayMap(x -> toUInt64(bitShiftRight(${key(query)}, 64)), sorted))) AS events
FROM (SELECT actor, arraySort(groupArray(${item})) AS sorted FROM (${packedSql(siteId, query, binder)}) GROUP BY actor
  HAVING bitAnd(groupBitOr(flags), ${wanted}) != 0)
WHERE throwIf(length(sorted) > ${ACTOR_EVENTS_MAX}, 'actor_too_large') = 0`;
}

/** Sessions are made of all events of a person; the filters choose among them afterwards. */
function sessionsSql(siteId: string, query: FunnelQuery, binder: Binder): string {
  return `SELECT actor, arrayFilter(x -> bitTest(toUInt32(${key(query)}), ${PASSES_BIT}), session) AS events
FROM (SELECT actor, events AS whole, arrayMap(x -> toUInt64(bitShiftRight(${key(query)}, 192)), whole) AS times,
  arraySplit((x, gap, i) -> i > 1 AND gap > ${SESSION_GAP_MS}, whole, arrayDifference(times), arrayEnumerate(times)) AS sessions
  FROM (${personsSql(siteId, query, binder)})) ARRAY JOIN sessions AS session`;
}

function packedSql(siteId: string, query: FunnelQuery, binder: Binder): string {
  const text = query.breakdown === undefined ? '' : `, ${textOf(query.breakdown.field, binder)} AS text`;
  const high = `bitOr(bitShiftLeft(toUInt128(toUnixTimestamp64Milli(timestamp)), 64), toUInt128(bitShiftLeft(toUInt64(toUnixTimestamp64Milli(received_at)), 16) + toUInt16(raw_index)))`;
  const low = `bitOr(bitShiftLeft(toUInt128(cityHash64(event_id)), 64), toUInt128(flags))`;
  return `SELECT person_id AS actor, ${maskSql(query, binder)} AS flags,
  bitOr(bitShiftLeft(toUInt256(${high}), 128), toUInt256(${low})) AS packed${text}
FROM events WHERE ${rowsWanted(siteId, query, binder).join(' AND ')}`;
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
  if (count_by === 'session') return `if(${passes}, toUInt32(${bits} + ${2 ** PASSES_BIT}), toUInt32(0))`;
  if (breakdown?.lookback_ms === undefined) return `toUInt32(${bits})`;
  return `if(timestamp >= fromUnixTimestamp64Milli(${binder.bind(from, 'Int64')}, 'UTC'), toUInt32(${bits}), toUInt32(0))`;
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
