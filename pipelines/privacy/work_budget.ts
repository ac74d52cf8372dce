// The budget of work that one request may cost, and JSON read within it.
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
export interface WorkBudget {
  /** Steps of the request. */
  readonly allowed: number;
  /** Those that are left to the event. */
  left: number;
  /** All that were made for the request, those for ids among them. */
  readonly made: { steps: number };
  /** Values that were walked through, which cost about a step each whatever they are; they take nothing from what is left. */
  readonly walked: { values: number };
  /** By country and text: what repeats among the events of a request is read once; null: nothing yet. Gone with the request. */
  phones: Map<string, PhoneNumber | null> | null;
}

/**
 * That of a new request, or of a text that belongs to none.
 *
 * @param parts By how many times the request may hold more than the API allows.
 */
export function createWorkBudget(parts = 1): WorkBudget {
  const allowed = REQUEST_STEPS_MAX * parts;
  return { allowed, left: allowed, made: { steps: 0 }, walked: { values: 0 }, phones: null };
}

/**
 * That of one id, which is the same whatever stands around it: one id must not be hashed in one request and kept in
 * another, as events would be counted twice.
 */
export function idWorkBudget({ allowed, made, walked }: WorkBudget = createWorkBudget()): WorkBudget {
  return { allowed, left: ID_STEPS_MAX, made, walked, phones: null };
}

export function startEvent(budget: WorkBudget): void {
  budget.left = Math.min(EVENT_STEPS_MAX, budget.allowed - budget.made.steps);
}

/** Takes so many steps; false, and nothing taken, where fewer are left. */
export function spend(budget: WorkBudget, steps: number): boolean {
  if (budget.left < steps) return false;
  budget.left -= steps;
  budget.made.steps += steps;
  return true;
}

const JSON_START = /^\s*[[{]/;

/** What the parser's exception costs, and the characters that it reads meanwhile. */
const STEPS = 12;
const CHARACTERS_PER_STEP = 64;

/**
 * What a text says that is itself JSON, as tag managers send whole objects; null where it is none. `unread`: there is no
 * budget left.
 */
export function jsonIn(text: string, budget: WorkBudget): object | null | 'unread' {
  if (!mayBeJson(text)) return null;
  return spend(budget, STEPS + Math.ceil(text.length / CHARACTERS_PER_STEP)) ? parseJson(text) : 'unread';
}

function mayBeJson(text: string): boolean {
  const first = text.charCodeAt(0);
  if (first > 0x20 && first !== 0x7b && first !== 0x5b) return false;
  if (!JSON_START.test(text)) return false;
  const last = text.trimEnd().at(-1);
  return last === '}' || last === ']';
}

function parseJson(text: string): object | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' ? value : null;
  } catch {
    return null;
  }
}
