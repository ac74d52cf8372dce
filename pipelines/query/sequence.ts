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
 * Arrays of 64-bit numbers are gathered and sorted many times as fast as those of tuples or of wider numbers, so that
 * these serve only actors who have two events of one time, or one event twice.
 */
export function actorsSql(siteId: string, query: FunnelQuery, binder: Binder): string {
  const texts = hasTexts(query) ? ', texts' : '';
  return `SELECT mask, arrayMap((time, i) -> bitShiftLeft(time, ${PLACE_BITS}) + i, times, arrayEnumerate(times)) AS stamp${texts}
FROM (${query.count_by === 'session' ? sessionsSql(siteId, query, binder) : personsSql(siteId, query, binder)})`;
}

const hasTexts = ({ breakdown }: FunnelQuery): boolean => breakdown !== undefined;

/** `times`, `mask` and `texts` of each person. */
function personsSql(siteId: string, query: FunnelQuery, binder: Binder): string {
  const item = hasTexts(query) ? 'UInt64, UInt64, UInt64, UInt32, String' : 'UInt64, UInt64, UInt64, UInt32';
  const all = hasTexts(query)
    ? 'all_times, arrivals, digests, all_flags, all_texts'
    : 'all_times, arrivals, digests, all_flags';
  const ordered = (name: string, place: number): string =>
    `if(plain, arraySort((x, time) -> time, ${name}, all_times), arrayMap(x -> x.${place}, exact))`;
  const texts = hasTexts(query) ? `, ${ordered('all_texts', 5)} AS texts` : '';
  return `SELECT if(plain, arraySort(all_times), arrayMap(x -> x.1, exact)) AS times, ${ordered('all_flags', 4)} AS mask${texts}
FROM (SELECT *, ${differ('all_times')} AND ${differ('digests')} AS plain,
  if(plain, CAST([], 'Array(Tuple(${item}))'), arraySort(arrayZip(${all}))) AS sorted,
  arrayFilter((x, n) -> n = 1, sorted, arrayEnumerateUniq(arrayMap(x -> x.3, sorted))) AS exact
FROM (${gatheredSql(siteId, query, binder)}))`;
}

/** Whether no two numbers of an array are equal. */
function differ(array: string): string {
  return `NOT has(arrayPopFront(arrayDifference(arraySort(${array}))), 0)`;
}

function gatheredSql(siteId: string, query: FunnelQuery, binder: Binder): string {
  const wanted = query.order === 'any' ? 2 ** query.steps.length - 1 : 1;
  const text = hasTexts(query) ? ', groupArray(text) AS all_texts' : '';
  return `SELECT groupArray(time) AS all_times, groupArray(arrival) AS arrivals, groupArray(event_hash) AS digests, groupArray(flags) AS all_flags${text}
FROM (${rowsSql(siteId, query, binder)}) GROUP BY actor
HAVING bitAnd(groupBitOr(flags), ${wanted}) != 0 AND throwIf(length(all_times) > ${ACTOR_EVENTS_MAX}, 'actor_too_large') = 0`;
}

/** Sessions are made of all events of a person; the filters choose among them afterwards. */
function sessionsSql(siteId: string, query: FunnelQuery, binder: Binder): string {
  const names = hasTexts(query) ? ['times', 'mask', 'texts'] : ['times', 'mask'];
  const cut = names.map(
    (name) =>
      `arraySplit((x, gap, i) -> i > 1 AND gap > ${SESSION_GAP_MS}, ${name}, arrayDifference(times), arrayEnumerate(times)) AS cut_${name}`,
  );
  const passing = names.map(
    (name) => `arrayFilter((x, m) -> bitTest(m, ${PASSES_BIT}), one_${name}, one_mask) AS ${name}`,
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
