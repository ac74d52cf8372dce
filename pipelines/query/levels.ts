import { excludedAfter, PLACE_BITS } from './sequence.ts';
import type { FunnelQuery } from './shapes.ts';
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
export function levelColumns(query: FunnelQuery, binder: Binder): Levels {
  const span = binder.bind(String(BigInt(query.window_ms + 1) << BigInt(PLACE_BITS)), 'UInt64');
  return query.order === 'any' ? anyOrder(query, span) : inOrder(query, span);
}

/**
 * `found<n>` has, at each event that can be step n, the stamp of the latest beginning of a way that ends there; `open<n>`
 * carries it on to later events, until an excluded one. In strict order nothing is carried on.
 */
function inOrder(query: FunnelQuery, span: string): Levels {
  const overEvents = query.steps.flatMap((_, index) => {
    const step = index + 1;
    const found =
      index === 0
        ? 'arrayMap((m, s) -> bitTest(m, 0) * s, mask, stamp)'
        : `arrayMap((m, s, b) -> (bitTest(m, ${index}) AND s - b < ${span}) * b, mask, stamp, ${before(query, index)})`;
    const carried = query.order === 'strict' ? `found${step}` : carriedOn(`found${step}`, excludedAfter(query, step));
    return [`${found} AS found${step}`, ...(step === query.steps.length ? [] : [`${carried} AS open${step}`])];
  });
  const ofSteps = query.steps.flatMap((_, index) => {
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
function before(query: FunnelQuery, step: number): string {
  const [one, next] = query.steps.slice(step - 1);
  const same = one?.events === undefined || next?.events?.some((name) => one.events?.includes(name)) !== false;
  const moved = same || query.order === 'strict' || excludedAfter(query, step) !== 0;
  return moved ? `arrayPopBack(arrayPushFront(open${step}, toUInt64(0)))` : `open${step}`;
}

function carriedOn(found: string, excluded: number): string {
  if (excluded === 0) return `arrayFill(x -> x > 0, ${found})`;
  return `arrayFill((x, m) -> x > 0 OR bitAnd(m, ${excluded}) != 0, ${found}, mask)`;
}

/** `last<n>` is the latest event so far of step n; an event may fill several steps. */
function anyOrder(query: FunnelQuery, span: string): Levels {
  const names = query.steps.map((_, index) => `last${index + 1}`);
  const inWindow = (now: string, then: string): string => `(${then} > 0 AND ${now} - ${then} < ${span})`;
  const lasts = names.map((name, index) => {
    const found = `arrayMap((m, s) -> if(bitTest(m, ${index}), s, 0), mask, stamp)`;
    return `${carriedOn(found, excludedAfter(query, index + 1))} AS ${name}`;
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
