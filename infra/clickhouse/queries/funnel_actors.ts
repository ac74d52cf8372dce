import { type FunnelPlan, SESSION_GAP_MS } from '#pipelines/query/funnel_plan.ts';
import { EXCLUSIONS_MAX, type Selection, STEPS_MAX } from '#pipelines/query/shapes.ts';
import { allOf, conditionOf, selects, textOf } from './conditions.ts';
import { firstRowsSql, type WantedRows } from './first_rows.ts';
import { askedSpan, type TimeSpan } from './interval_starts.ts';
import { digestOf, maskOf, packed, personArraysSql, timeOf } from './packed_events.ts';
import type { Binder } from './statement.ts';
import { digestOfText, NO_DIGEST, textsSql } from './text_digests.ts';

/** How many low bits of a stamp hold the position. */
export const PLACE_BITS = 20;

/** Bits of an event's mask, a UInt16: step n is bit n - 1, then come the exclusions, then that it passes the filters. */
const EXCLUSION_BIT = STEPS_MAX;
const PASSES_BIT = EXCLUSION_BIT + EXCLUSIONS_MAX;
const MASK_BITS = PASSES_BIT + 1;
if (MASK_BITS > 16) throw new Error('a mask of steps and exclusions does not fit 16 bits');

/**
 * A row for each actor with its events in order as parallel arrays: `mask`, `stamp` (time in milliseconds and position in
 * one number) and, for a breakdown, `digests` of the texts. The order is that of time, then arrival, then place in the
 * request. `packed`, where it is kept, has the events packed.
 */
export function actorsSql(siteId: string, plan: FunnelPlan, binder: Binder, kept: readonly 'packed'[] = []): string {
  const stamp = `arrayMap((x, i) -> bitShiftLeft(${timeOf('x')}, ${PLACE_BITS}) + i, packed, arrayEnumerate(packed)) AS stamp`;
  const digests = plan.breakdown === null ? [] : [`arrayMap(x -> ${digestOf('x')}, packed) AS digests`];
  const columns = [`arrayMap(x -> ${maskOf('x')}, packed) AS mask`, stamp, ...digests, ...kept];
  return `SELECT ${columns.join(', ')}
FROM (${plan.countBy === 'session' ? sessionsSql(siteId, plan, binder) : personsSql(siteId, plan, binder)})`;
}

/** `packed` of each person that may have reached a step. */
function personsSql(siteId: string, plan: FunnelPlan, binder: Binder): string {
  const first = plan.order === 'any' ? 2 ** plan.steps.length - 1 : 1;
  return personArraysSql(rowsSql(siteId, plan, binder), [
    `arrayExists(x -> bitAnd(${maskOf('x')}, ${first}) != 0, packed)`,
  ]);
}

/** Sessions are made of all events of a person; the filters apply afterwards. */
function sessionsSql(siteId: string, plan: FunnelPlan, binder: Binder): string {
  const pauses = `arrayDifference(arrayMap(x -> ${timeOf('x')}, packed))`;
  const sessions = `SELECT arraySplit((x, pause) -> pause > ${SESSION_GAP_MS}, packed, ${pauses}) AS sessions
FROM (${personsSql(siteId, plan, binder)})`;
  return `SELECT arrayFilter(x -> bitTest(${maskOf('x')}, ${PASSES_BIT}), session) AS packed
FROM (${sessions}) ARRAY JOIN sessions AS session`;
}

/** `entry`, an event packed, with its `actor`. */
function rowsSql(siteId: string, plan: FunnelPlan, binder: Binder): string {
  const mask = binder.name(maskSql(plan, binder));
  const digest = plan.breakdown === null ? NO_DIGEST : binder.name(digestOfText(textOf(plan.breakdown.field, binder)));
  const columns = { actor: 'actor', entry: packed(mask, digest) };
  return firstRowsSql({ siteId, span: lookedSpan(plan, binder), columns, ...rowsWanted(plan, mask, binder) }, binder);
}

/** The time whose events are looked at. */
function lookedSpan({ from, to, lookbackMs }: FunnelPlan, binder: Binder): TimeSpan {
  return askedSpan({ from: from - (lookbackMs ?? 0), to }, binder);
}

/** `digest` and `text` of all values that the breakdown of a funnel may have. */
export function breakdownTextsSql(siteId: string, plan: FunnelPlan, binder: Binder, leastPersons = 1): string {
  if (plan.breakdown === null) throw new Error('a funnel without a breakdown has no texts');
  return textsSql(siteId, lookedSpan(plan, binder), plan.breakdown.field, binder, {
    leastPersons,
    filters: plan.filters,
  });
}

function rowsWanted(plan: FunnelPlan, mask: string, binder: Binder): Pick<WantedRows, 'selections' | 'conditions'> {
  const passing = plan.filters.map((filter) => conditionOf(filter, binder));
  const selections = bitsOf(plan).map(({ selection }) => selection);
  switch (plan.looked) {
    case 'all':
      return { selections: [{}], conditions: [] };
    case 'passing':
      return { selections: [{}], conditions: passing };
    case 'touches': {
      const text = plan.breakdown === null ? "''" : textOf(plan.breakdown.field, binder);
      return { selections: [{}], conditions: [...passing, `(${mask} != 0 OR ${text} != '')`] };
    }
    case 'selected':
      // What names alone do not tell.
      return { selections, conditions: [...passing, ...(selections.every(isOfNames) ? [] : [`${mask} != 0`])] };
  }
}

interface SelectionBit {
  selection: Selection;
  bit: number;
}

/** Steps and exclusions, each with its bit of the mask. */
function bitsOf({ steps, exclusions }: FunnelPlan): SelectionBit[] {
  return [
    ...steps.map((selection, index) => ({ selection, bit: 2 ** index })),
    ...exclusions.map(({ selection }, index) => ({ selection, bit: exclusionBit(index) })),
  ];
}

/** Whether a selection looks only at the event's name. */
const isOfNames = ({ events, filters = [] }: Selection): boolean => events !== undefined && filters.length === 0;

function maskSql(plan: FunnelPlan, binder: Binder): string {
  const { filters, from, looked, lookbackMs } = plan;
  const all = bitsOf(plan);
  const bits = [
    ...bitsByName(
      all.filter(({ selection }) => isOfNames(selection)),
      binder,
    ),
    ...all
      .filter(({ selection }) => !isOfNames(selection))
      .map(({ selection, bit }) => `(${selects(selection, binder)}) * ${bit}`),
  ].join(' + ');
  if (looked === 'all') {
    const passes = allOf(filters.map((filter) => conditionOf(filter, binder)));
    return `if(${passes}, toUInt16(${bits} + ${2 ** PASSES_BIT}), toUInt16(0))`;
  }
  if (lookbackMs === null) return `toUInt16(${bits})`;
  return `if(timestamp >= ${binder.time(from)}, toUInt16(${bits}), toUInt16(0))`;
}

/** One lookup of the event's name for all selections that look only at names. */
function bitsByName(named: readonly SelectionBit[], binder: Binder): string[] {
  const bits = new Map<string, number>();
  for (const { selection, bit } of named) {
    for (const name of new Set(selection.events)) bits.set(name, (bits.get(name) ?? 0) + bit);
  }
  if (bits.size === 0) return [];
  return [`transform(event, ${binder.bind([...bits.keys()], 'Array(String)')}, [${[...bits.values()].join(', ')}], 0)`];
}

/** The bit of an exclusion by its place among them. */
export const exclusionBit = (index: number): number => 2 ** (EXCLUSION_BIT + index);

/** Bits of the exclusions that end a way between a step and the next one; 0 if there are none. */
export function excludedAfter({ exclusions }: FunnelPlan, step: number): number {
  let bits = 0;
  exclusions.forEach(({ fromStep, beforeStep, ends }, index) => {
    if (ends === 'way' && step >= fromStep && step < beforeStep) bits += exclusionBit(index);
  });
  return bits;
}
