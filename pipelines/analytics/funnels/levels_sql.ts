// Funnels: how far each actor comes, in order or in any order, from the arrays of its events.

import type { Selection } from '../question.ts';
import {
  actorOf,
  digestOf,
  digestOfText,
  firstRowsSql,
  maskOf,
  NO_DIGEST,
  packed,
  personArraysSql,
  querySpan,
  type TimeSpan,
  timeOf,
  type WantedRows,
} from '../sql/event_rows.ts';
import { allOf, conditionOf, selects, textOf, textsSql } from '../sql/expressions.ts';
import type { Binder } from '../sql/statement.ts';
import { EXCLUSIONS_MAX, type FunnelPlan, SESSION_GAP_MS, STEPS_MAX } from './query.ts';

/** How many low bits of a stamp hold the position. */
export const PLACE_BITS = 20;

const PLACE = 2 ** PLACE_BITS - 1;

/**
 * `found<n>` has, at each event that can be step n, the stamp of the latest beginning of a way that ends there; `open<n>`
 * carries it on to later events, until an excluded one. In strict order nothing is carried on. From the step on that a
 * breakdown takes its value from, both are placed: they hold the position of that step's event beside the stamp.
 */
export function inOrder(plan: FunnelPlan, span: string): Levels {
  const steps = plan.steps.map((_, index) => index + 1);
  return {
    overEvents: hasOptional(plan)
      ? steps.map((step) => foundAndOpen(plan, step, span))
      : [steps.flatMap((step) => foundAndOpen(plan, step, span))],
    ofPlaces: steps.flatMap((step) => [
      `arrayFirstIndex(x -> x > 0, found${step}) AS place${step}`,
      `stamp[place${step}] AS end${step}`,
      `${beginOf(plan, step, `found${step}[place${step}]`)} AS start${step}`,
      ...(isPlaced(plan, step) ? [`toUInt32(bitAnd(found${step}[place${step}], ${PLACE})) AS at${step}`] : []),
    ]),
    ofWays: steps.flatMap((step) =>
      plan.breakdown?.at === 'step' && !isPlaced(plan, step) ? [`toUInt32(0) AS at${step}`] : [],
    ),
    ofTimes: steps.map((step) => `${previousOf(plan, step)} AS previous${step}`),
    dropped: droppedBy(plan, span),
  };
}

function hasOptional({ steps }: FunnelPlan): boolean {
  return steps.some(({ optional }) => optional);
}

function foundAndOpen(plan: FunnelPlan, step: number, span: string): string[] {
  const found = `${foundAt(plan, step, span)} AS found${step}`;
  // Nothing comes after the last.
  if (step === plan.steps.length) return [found];
  return [found, `${carriedOn(plan, `found${step}`, excludedAfter(plan, step))} AS open${step}`];
}

function isPlaced({ breakdown }: FunnelPlan, step: number): boolean {
  return breakdown?.at === 'step' && step >= breakdown.step;
}

const placed = (begin: string, stamp: string): string =>
  `bitShiftLeft(toUInt128(${begin}), ${PLACE_BITS}) + bitAnd(${stamp}, ${PLACE})`;

const beginOf = (plan: FunnelPlan, step: number, value: string): string =>
  isPlaced(plan, step) ? `toUInt64(bitShiftRight(${value}, ${PLACE_BITS}))` : value;

function foundAt(plan: FunnelPlan, step: number, span: string): string {
  const isStep = `bitTest(m, ${step - 1})`;
  if (!isPlaced(plan, step)) {
    if (step === 1) return `arrayMap((m, s) -> ${isStep} * s, mask, stamp)`;
    return `arrayMap((m, s, b) -> (${isStep} AND s - b < ${span}) * b, mask, stamp, ${before(plan, step)})`;
  }
  if (step === 1) return `arrayMap((m, s) -> if(${isStep}, ${placed('s', 's')}, toUInt128(0)), mask, stamp)`;
  const isFirst = step === plan.breakdown?.step;
  const begin = isFirst ? 'b' : beginOf(plan, step, 'b');
  const found = isFirst ? placed('b', 's') : 'b';
  return `arrayMap((m, s, b) -> if(${isStep} AND b > 0 AND s - ${begin} < ${span}, ${found}, toUInt128(0)), mask, stamp, ${before(plan, step)})`;
}

/** The steps after which a step may come: the one before, and where that may be left out, those before it. */
function stepsBefore({ steps }: FunnelPlan, step: number): number[] {
  const required = steps.findLastIndex(({ optional }, index) => index < step - 1 && !optional);
  return Array.from({ length: step - 1 - required }, (_, index) => step - 1 - index);
}

/** Of each event the latest beginning that is open before it, as the step has it. */
function before(plan: FunnelPlan, step: number): string {
  const [nearest = 1, ...others] = stepsBefore(plan, step);
  if (others.length === 0) return opened(plan, step);
  // At the step itself that a breakdown is of, the positions begin.
  const isOfPlaced = isPlaced(plan, step) && step !== plan.breakdown?.step;
  const opens = [nearest, ...others].map((from) => {
    const open = moved(`open${from}`);
    return isOfPlaced && !isPlaced(plan, from)
      ? `arrayMap(x -> bitShiftLeft(toUInt128(x), ${PLACE_BITS}), ${open})`
      : open;
  });
  return greatestOf(opens);
}

function greatestOf(arrays: readonly string[]): string {
  if (arrays.length === 1) return arrays.join('');
  const names = arrays.map((_, index) => `a${index}`).join(', ');
  return `arrayMap((${names}) -> greatest(${names}), ${arrays.join(', ')})`;
}

/**
 * What the step before has open. An event that can be only one of two steps is not what opened it, so that nothing has to be
 * moved by one.
 */
function opened(plan: FunnelPlan, step: number): string {
  const [one, next] = plan.steps.slice(step - 2);
  const same = one?.events === undefined || next?.events?.some((name) => one.events?.includes(name)) !== false;
  const isMoved = same || plan.order === 'strict' || excludedAfter(plan, step - 1) !== 0;
  return isMoved ? moved(`open${step - 1}`) : `open${step - 1}`;
}

/**
 * The latest beginning so far. Where each step has one before it, a later way never began sooner; where it may come after
 * several, it may have, once the nearest of them was closed.
 */
function carriedOn(plan: FunnelPlan, found: string, excluded: number): string {
  if (plan.order === 'strict') return found;
  if (hasOptional(plan)) return greatestSoFar(found, excluded);
  if (excluded === 0) return `arrayFill(x -> x > 0, ${found})`;
  return `arrayFill((x, m) -> x > 0 OR bitAnd(m, ${excluded}) != 0, ${found}, mask)`;
}

function greatestSoFar(found: string, excluded: number): string {
  const places = 'arrayEnumerate(mask)';
  if (excluded === 0) return `arrayReduceInRanges('max', arrayMap(i -> (1, i), ${places}), ${found})`;
  const closed = `arrayFill(x -> x > 1, arrayMap((m, i) -> if(bitAnd(m, ${excluded}) != 0, i, 1), mask, ${places}))`;
  return `arrayReduceInRanges('max', arrayMap((c, i) -> (c, toUInt64(i - c + 1)), ${closed}, ${places}), ${found})`;
}

/**
 * The stamp of the latest event of a step before from which the way, by its beginning, may have come. Where only one step may be
 * before, that is its latest event before the way's end, as what is carried on is of the latest.
 */
function previousOf(plan: FunnelPlan, step: number): string {
  if (step === 1) return 'end1';
  if (!hasOptional(plan)) {
    const earlier = `arraySlice(found${step - 1}, 1, toUInt32(greatest(place${step}, 1) - 1))`;
    return `stamp[arrayLastIndex(x -> x > 0, ${earlier})]`;
  }
  const places = stepsBefore(plan, step).map((from) => {
    const last = `arrayLastIndex((x, s) -> ${beginOf(plan, from, 'x')} = start${step} AND s < end${step}, found${from}, stamp)`;
    const excluded = plan.order === 'strict' ? 0 : excludedAfter(plan, from);
    if (excluded === 0) return last;
    const closed = `arrayLastIndex((m, s) -> bitAnd(m, ${excluded}) != 0 AND s < end${step}, mask, stamp)`;
    return `if(${last} >= ${closed}, ${last}, 0)`;
  });
  return `stamp[${places.length === 1 ? places.join('') : `greatest(${places.join(', ')})`}]`;
}

/** Exclusions that drop the actor: between a step and another that no way from the same beginning has got to. */
function droppedBy(plan: FunnelPlan, span: string): string | null {
  const stampsOf = (step: number, value: string): string =>
    isPlaced(plan, step) ? `arrayMap(x -> ${beginOf(plan, step, 'x')}, ${value})` : value;
  return dropping(plan, span, ({ fromStep, beforeStep }) => {
    const standing = Array.from(
      { length: staysOpen(plan) ? 1 : beforeStep - fromStep },
      (_, index) => fromStep + index,
    );
    // In strict order a later way may have got there sooner by what it left out.
    const found = `found${beforeStep}`;
    const reached = hasOptional(plan) ? greatestSoFar(found, 0) : carriedOn(plan, found, 0);
    return {
      begun: greatestOf(standing.map((step) => stampsOf(step, moved(`open${step}`)))),
      reached: stampsOf(beforeStep, reached),
    };
  });
}

/** Whether a way that went on is open at the steps behind it as well: nothing closes these, and none of them was left out. */
function staysOpen(plan: FunnelPlan): boolean {
  return plan.order !== 'strict' && !hasOptional(plan) && plan.exclusions.every(({ ends }) => ends === 'actor');
}

/** `last<n>` is the latest event so far that fills step n; one event may fill several steps, but not two that are the same. */
export function anyOrder(plan: FunnelPlan, span: string): Levels {
  const steps = plan.steps.map((_, index) => index + 1);
  const lasts = steps.map((step) => `last${step}`).join(', ');
  const inWindow = (now: string, then: string): string => `(${then} > 0 AND ${now} - ${then} < ${span})`;
  const filled = steps.map((step) => inWindow('s', `last${step}`)).join(' + ');
  return {
    overEvents: [
      [
        ...steps.map((step) => `${lastOf(plan, step)} AS last${step}`),
        `arrayMap((s, ${lasts}) -> ${filled}, stamp, ${lasts}) AS filled`,
      ],
    ],
    ofPlaces: steps.flatMap((step) => [
      `arrayFirstIndex(x -> x >= ${step}, filled) AS place${step}`,
      `stamp[place${step}] AS end${step}`,
      `[${steps.map((other) => `last${other}[place${step}]`).join(', ')}] AS fills${step}`,
    ]),
    ofWays: steps.flatMap((step) => wayColumns(plan, step, inWindow(`end${step}`, 'x'))),
    ofTimes: steps.map((step) => `way${step}[${Math.min(step, 2)}] AS previous${step}`),
    dropped: dropping(plan, span, () => ({
      begun: moved(`arrayMap((${lasts}) -> greatest(${lasts}), ${lasts})`),
      reached: `arrayFill(x -> x > 0, arrayMap((f, s) -> (f = ${steps.length}) * s, filled, stamp))`,
    })),
  };
}

/** `way<n>`: the stamps of the latest events that fill as many steps, the latest first. */
function wayColumns({ breakdown }: FunnelPlan, step: number, isInWindow: string): string[] {
  const of = breakdown?.at === 'step' ? breakdown.step : null;
  const at = of !== null && of <= step ? `bitAnd(way${step}[${step - of + 1}], ${2 ** PLACE_BITS - 1})` : '0';
  return [
    `arrayReverseSort(arrayFilter(x -> ${isInWindow}, fills${step})) AS way${step}`,
    `way${step}[${step}] AS start${step}`,
    ...(of === null ? [] : [`toUInt32(${at}) AS at${step}`]),
  ];
}

function lastOf(plan: FunnelPlan, step: number): string {
  const same = plan.steps[step - 1]?.sameAs ?? null;
  const excluded = excludedAfter(plan, step);
  const isStep = `bitTest(m, ${step - 1})`;
  if (same === null) {
    const found = `arrayMap((m, s) -> if(${isStep}, s, 0), mask, stamp)`;
    if (excluded === 0) return `arrayFill(x -> x > 0, ${found})`;
    return `arrayFill((x, m) -> x > 0 OR bitAnd(m, ${excluded}) != 0, ${found}, mask)`;
  }
  // The event before the one that fills the same step: none where that was excluded itself.
  const next = `arrayMap((m, b) -> if(${isStep} AND bitAnd(m, ${excluded}) = 0, b, 0), mask, ${moved(`last${same}`)})`;
  return `arrayFill((x, m) -> ${isStep} OR bitAnd(m, ${excluded}) != 0, ${next}, mask)`;
}

/** Columns over an actor's arrays, each list of a SELECT of its own, the first the innermost. */
export interface Levels {
  /** Over its events: lists where a column is named more than once by later ones, as it is worked out anew each time. */
  overEvents: string[][];
  /** `place<n>`: the position of the event with which it first reached a step, 0 for never; `end<n>`: that event's stamp. */
  ofPlaces: string[];
  /**
   * Of all ways to that event the one that began last: `start<n>`, the stamp of its beginning, and for a breakdown at a step
   * `at<n>`, the latest position of that step's event, 0 for none.
   */
  ofWays: string[];
  /** `previous<n>`: the stamp of its latest event of the step before. */
  ofTimes: string[];
  /** Beside the events: whether an excluded one drops the actor; null where none can. */
  dropped: string | null;
}

/** An array of stamps with each one place further: what there was before an event. */
const moved = (stamps: string): string => `arrayPopBack(arrayPushFront(${stamps}, 0))`;

interface Between {
  /** Of each event the latest beginning before it, 0 for none. */
  begun: string;
  /** Of each event the latest beginning from which, with it, the step has been reached, 0 for none. */
  reached: string;
}

/** Whether an event drops the actor, for what lies between two steps; null where no exclusion drops actors. */
function dropping(
  { exclusions }: FunnelPlan,
  span: string,
  between: (exclusion: FunnelPlan['exclusions'][number]) => Between,
): string | null {
  const conditions = exclusions.flatMap((exclusion, index) => {
    if (exclusion.ends === 'way') return [];
    const { begun, reached } = between(exclusion);
    const isDropped = `bitAnd(m, ${exclusionBit(index)}) != 0 AND b > 0 AND s - b < ${span} AND r < b`;
    return [`arrayExists((m, s, b, r) -> ${isDropped}, mask, stamp, ${begun}, ${reached})`];
  });
  return conditions.length === 0 ? null : `(${conditions.join(' OR ')})`;
}

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
  const columns = { actor: 'actor', entry: packed(mask, ...ofBreakdown(plan, binder)) };
  return firstRowsSql({ siteId, span: lookedSpan(plan, binder), columns, ...rowsWanted(plan, mask, binder) }, binder);
}

/** The low bits of an actor's digest that say, where there are several fields, of which of them its events are. */
const FIELD_BITS = 3;

/** Of which field an attempt is, from 0, as `packed` tells it. */
export const fieldOf = ({ besides }: FunnelPlan): string =>
  besides.length === 0 ? '0' : `bitAnd(${actorOf('packed[1]')}, ${2 ** FIELD_BITS - 1})`;

/** The digest that an event is packed with; and of several fields the actor, as each event is packed once for every field. */
function ofBreakdown({ breakdown, besides }: FunnelPlan, binder: Binder): [digest: string, actor?: string] {
  if (breakdown === null) return [NO_DIGEST];
  const digests = [breakdown.field, ...besides].map((field) => binder.name(digestOfText(textOf(field, binder))));
  if (besides.length === 0) return [digests.join()];
  if (digests.length > 2 ** FIELD_BITS) throw new Error('the number of a field does not fit its bits');
  const one = binder.name(`arrayJoin([${digests.map((digest, field) => `(${field}, ${digest})`).join(', ')}])`);
  return [`${one}.2`, `bitShiftLeft(bitShiftRight(actor, ${FIELD_BITS}), ${FIELD_BITS}) + ${one}.1`];
}

/** The time whose events are looked at. */
function lookedSpan({ from, to, lookbackMs }: FunnelPlan, binder: Binder): TimeSpan {
  return querySpan({ from: from - (lookbackMs ?? 0), to }, binder);
}

/** `digest` and `text` of all values that the breakdown of a funnel may have; and of several fields which one's, `field`. */
export function breakdownTextsSql(siteId: string, plan: FunnelPlan, binder: Binder, minPersons = 1): string {
  if (plan.breakdown === null) throw new Error('a funnel without a breakdown has no texts');
  const { besides, filters } = plan;
  const texts = [plan.breakdown.field, ...besides].map((field) =>
    textsSql(siteId, lookedSpan(plan, binder), field, binder, { minPersons, filters }),
  );
  if (besides.length === 0) return texts.join();
  return texts.map((select, field) => `SELECT ${field} AS field, * FROM (${select})`).join('\nUNION ALL\n');
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
const exclusionBit = (index: number): number => 2 ** (EXCLUSION_BIT + index);

/** Bits of the exclusions that end a way between a step and the next one; 0 if there are none. */
function excludedAfter({ exclusions }: FunnelPlan, step: number): number {
  let bits = 0;
  exclusions.forEach(({ fromStep, beforeStep, ends }, index) => {
    if (ends === 'way' && step >= fromStep && step < beforeStep) bits += exclusionBit(index);
  });
  return bits;
}
