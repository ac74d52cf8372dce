import type { FunnelPlan } from '#pipelines/query/funnel_plan.ts';
import { excludedAfter, PLACE_BITS } from './funnel_actors.ts';
import type { Binder } from './statement.ts';

/** Columns over an actor's arrays: first those over its events, then of them, one SELECT further out, those of the steps. */
export interface Levels {
  overEvents: string[];
  ofSteps: string[];
}

/**
 * Of the steps `place1`.., the position of the event with which an actor first reached that step, 0 for never, and
 * `start1`.., the stamp of where that way began: of all ways to that event the one that began last.
 *
 * Two stamps lie in the window when the later one is less than `span` greater: a step of a millisecond is 2^20 of it.
 */
export function levelColumns(plan: FunnelPlan, binder: Binder): Levels {
  const span = binder.bind(String(BigInt(plan.windowMs + 1) << BigInt(PLACE_BITS)), 'UInt64');
  return plan.order === 'any' ? anyOrder(plan, span) : inOrder(plan, span);
}

/**
 * `found<n>` has, at each event that can be step n, the stamp of the latest beginning of a way that ends there; `open<n>`
 * carries it on to later events, until an excluded one. In strict order nothing is carried on.
 */
function inOrder(plan: FunnelPlan, span: string): Levels {
  const overEvents = plan.steps.flatMap((_, index) => {
    const step = index + 1;
    const found =
      index === 0
        ? 'arrayMap((m, s) -> bitTest(m, 0) * s, mask, stamp)'
        : `arrayMap((m, s, b) -> (bitTest(m, ${index}) AND s - b < ${span}) * b, mask, stamp, ${before(plan, index)})`;
    const carried = plan.order === 'strict' ? `found${step}` : carriedOn(`found${step}`, excludedAfter(plan, step));
    return [`${found} AS found${step}`, ...(step === plan.steps.length ? [] : [`${carried} AS open${step}`])];
  });
  const ofSteps = plan.steps.flatMap((_, index) => {
    const found = `found${index + 1}`;
    const place = `place${index + 1}`;
    return [`arrayFirstIndex(x -> x > 0, ${found}) AS ${place}`, `${found}[${place}] AS start${index + 1}`];
  });
  return { overEvents, ofSteps };
}

/**
 * Of each event the beginning that is open before it. One that can be only one of two steps is not what opened it, so that
 * nothing has to be moved by one.
 */
function before(plan: FunnelPlan, step: number): string {
  const [one, next] = plan.steps.slice(step - 1);
  const same = one?.events === undefined || next?.events?.some((name) => one.events?.includes(name)) !== false;
  const moved = same || plan.order === 'strict' || excludedAfter(plan, step) !== 0;
  return moved ? `arrayPopBack(arrayPushFront(open${step}, toUInt64(0)))` : `open${step}`;
}

function carriedOn(found: string, excluded: number): string {
  if (excluded === 0) return `arrayFill(x -> x > 0, ${found})`;
  return `arrayFill((x, m) -> x > 0 OR bitAnd(m, ${excluded}) != 0, ${found}, mask)`;
}

/** `last<n>` is the latest event so far that is step n; one event may be several steps. */
function anyOrder(plan: FunnelPlan, span: string): Levels {
  const names = plan.steps.map((_, index) => `last${index + 1}`);
  const inWindow = (now: string, then: string): string => `(${then} > 0 AND ${now} - ${then} < ${span})`;
  const lasts = names.map((name, index) => {
    const found = `arrayMap((m, s) -> if(bitTest(m, ${index}), s, 0), mask, stamp)`;
    return `${carriedOn(found, excludedAfter(plan, index + 1))} AS ${name}`;
  });
  const counts = `arrayMap((s, ${names.join(', ')}) -> ${names.map((name) => inWindow('s', name)).join(' + ')}, stamp, ${names.join(', ')}) AS filled`;
  const ofSteps = names.flatMap((_, index) => {
    const place = `place${index + 1}`;
    const stamps = names.map((name) => `${name}[${place}]`).join(', ');
    return [
      `arrayFirstIndex(x -> x > ${index}, filled) AS ${place}`,
      `arrayReverseSort(arrayFilter(x -> ${inWindow(`stamp[${place}]`, 'x')}, [${stamps}]))[${index + 1}] AS start${index + 1}`,
    ];
  });
  return { overEvents: [...lasts, counts], ofSteps };
}
