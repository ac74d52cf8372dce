import type { PhoneNumber } from 'libphonenumber-js/max';

/** In steps of a microsecond at most: what is left of 50 ms when a request is read and written. */
export const REQUEST_STEPS_MAX = 40_000;
export const EVENT_STEPS_MAX = 12_000;
/** Enough for the readings of an id that is one identifier, or holds some. */
const ID_STEPS_MAX = 250;

/**
 * What cleaning may still cost. Costs are counted and not measured, so that the same text always comes out the same. What
 * there are no steps left for is not judged, and goes as if it were an identifier: such an event is a table of figures, or
 * meant to cost time.
 */
export interface Effort {
  /** Steps of the request. */
  readonly allowed: number;
  /** Those that are left to the event. */
  left: number;
  /** All that were made for the request, those for ids among them. */
  readonly made: { steps: number };
  /** By country and text: what repeats among the events of a request is read once. Gone with the request. */
  readonly phones: Map<string, PhoneNumber | null>;
}

/**
 * That of a new request, or of a text that belongs to none.
 *
 * @param parts By how many times the request may hold more than SPEC section 8 allows.
 */
export function allowEffort(parts = 1): Effort {
  const allowed = REQUEST_STEPS_MAX * parts;
  return { allowed, left: allowed, made: { steps: 0 }, phones: new Map() };
}

/**
 * That of one id, which is the same whatever stands around it: one id must not be hashed in one request and kept in
 * another, as events would be counted twice.
 */
export function idEffort({ allowed, made }: Effort = allowEffort()): Effort {
  return { allowed, left: ID_STEPS_MAX, made, phones: new Map() };
}

/** Begins another event of the request. */
export function startEvent(effort: Effort): void {
  effort.left = Math.min(EVENT_STEPS_MAX, effort.allowed - effort.made.steps);
}

/** Takes so many steps; false, and nothing taken, where fewer are left. */
export function spend(effort: Effort, steps: number): boolean {
  if (effort.left < steps) return false;
  effort.left -= steps;
  effort.made.steps += steps;
  return true;
}
