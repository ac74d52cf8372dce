import { type FunnelPlan, SESSION_GAP_MS } from '#pipelines/query/funnel_plan.ts';
import { EXCLUSIONS_MAX, type Selection, STEPS_MAX } from '#pipelines/query/shapes.ts';
import { allOf, conditionOf, selects, textOf } from './conditions.ts';
import { firstRowsSql, type WantedRows } from './first_rows.ts';
import { askedSpan } from './interval_starts.ts';
import { packed, personArraysSql, timeOf } from './packed_events.ts';
import type { Binder } from './statement.ts';

/** How many low bits of a stamp hold the position. */
export const PLACE_BITS = 20;

/** Bits of an event's mask, a UInt16: step n is bit n - 1, then come the exclusions, then that it passes the filters. */
const EXCLUSION_BIT = STEPS_MAX;
const PASSES_BIT = EXCLUSION_BIT + EXCLUSIONS_MAX;
const MASK_BITS = PASSES_BIT + 1;
if (MASK_BITS > 16) throw new Error('a mask of steps and exclusions does not fit 16 bits');

/**
 * A row for each actor with its events in order as parallel arrays: `mask`, `stamp` (time in milliseconds and position in
 * one number) and, for a breakdown, `texts`. The order is that of time, then arrival, then place in the
 * request, then a digest of the id. `packed`, where it is kept, has the events packed.
 */
export function actorsSql(siteId: string, plan: FunnelPlan, binder: Binder, kept: readonly 'packed'[] = []): string {
  const stamp = `arrayMap((x, i) -> bitShiftLeft(${timeOf('x')}, ${PLACE_BITS}) + i, packed, arrayEnumerate(packed)) AS stamp`;
  const columns = [`arrayMap(x -> ${maskOf('x')}, packed) AS mask`, stamp, ...textColumns(plan), ...kept];
  return `SELECT ${columns.join(', ')}
FROM (${plan.countBy === 'session' ? sessionsSql(siteId, plan, binder) : personsSql(siteId, plan, binder)})`;
}

const textColumns = ({ breakdown }: FunnelPlan): string[] => (breakdown === null ? [] : ['texts']);

const maskOf = (packed: string): string => `toUInt16(${packed})`;

/** `packed` and `texts` of each person that may have reached a step. */
function personsSql(siteId: string, plan: FunnelPlan, binder: Binder): string {
  const first = plan.order === 'any' ? 2 ** plan.steps.length - 1 : 1;
  const mayHave = `arrayExists(x -> bitAnd(${maskOf('x')}, ${first}) != 0, packed)`;
  return personArraysSql(rowsSql(siteId, plan, binder), { hasTexts: plan.breakdown !== null, wanted: [mayHave] });
}

/** Sessions are made of all events of a person; the filters apply afterwards. */
function sessionsSql(siteId: string, plan: FunnelPlan, binder: Binder): string {
  const names = ['packed', ...textColumns(plan)];
  const pauses = `arrayDifference(arrayMap(x -> ${timeOf('x')}, packed))`;
  const cut = names.map(
    (name) => `arraySplit((x, pause) -> pause > ${SESSION_GAP_MS}, ${name}, ${pauses}) AS cut_${name}`,
  );
  const passing = names.map(
    (name) =>
      `arrayFilter((x, entry) -> bitTest(${maskOf('entry')}, ${PASSES_BIT}), one_${name}, one_packed) AS ${name}`,
  );
  const joined = names.map((name) => `cut_${name} AS one_${name}`);
  return `SELECT ${passing.join(', ')}
FROM (SELECT ${cut.join(', ')} FROM (${personsSql(siteId, plan, binder)})) ARRAY JOIN ${joined.join(', ')}`;
}

/** `entry`, an event packed, with its `actor` and, for a breakdown, its `text`. */
function rowsSql(siteId: string, plan: FunnelPlan, binder: Binder): string {
  const mask = maskSql(plan, binder);
  const columns = {
    actor: 'actor',
    entry: packed(mask),
    ...(plan.breakdown === null ? {} : { text: textOf(plan.breakdown.field, binder) }),
  };
  const span = askedSpan({ from: plan.from - (plan.lookbackMs ?? 0), to: plan.to }, binder);
  return firstRowsSql({ siteId, span, columns, ...rowsWanted(plan, mask, binder) }, binder);
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
  return `if(timestamp >= fromUnixTimestamp64Milli(${binder.bind(from, 'Int64')}, 'UTC'), toUInt16(${bits}), toUInt16(0))`;
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
