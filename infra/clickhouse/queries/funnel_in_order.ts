import type { FunnelPlan } from '#pipelines/query/funnel_plan.ts';
import { excludedAfter, PLACE_BITS } from './funnel_actors.ts';
import { dropping, type Levels, moved } from './funnel_arrays.ts';

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
    ofWays: steps.flatMap((step) => [
      `${previousOf(plan, step)} AS previous${step}`,
      ...(plan.breakdown?.at === 'step' && !isPlaced(plan, step) ? [`toUInt32(0) AS at${step}`] : []),
    ]),
    dropped: droppedBy(plan, span),
  };
}

function hasOptional({ steps }: FunnelPlan): boolean {
  return steps.some(({ optional }) => optional);
}

function foundAndOpen(plan: FunnelPlan, step: number, span: string): string[] {
  return [
    `${foundAt(plan, step, span)} AS found${step}`,
    `${carriedOn(plan, `found${step}`, excludedAfter(plan, step))} AS open${step}`,
  ];
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
