import { keep, readKept } from './kept.ts';

/**
 * Requests that came to nothing for now, events that were too many to keep, events that the edge refused, and requests
 * that the page's content security policy forbade.
 */
type Counter = 'retried' | 'dropped' | 'rejected' | 'blocked';
export type Counters = Partial<Record<Counter, number>>;
type Kept = Counters & { day?: number };

const KEY = 'svc_h';
const today = (): number => (Date.now() / 86_400_000) | 0;
const add = (to: Kept, what: Counter, by: number): Kept => {
  to[what] = (to[what] ?? 0) + by;
  return to;
};

/** Of this page. */
export const counters: Counters = {};
let mayKeep = (): boolean => false;

/** Adds to the page's counters, and where something may be stored to the day's, which outlive the page. */
export const count = (what: Counter, by = 1): void => {
  add(counters, what, by);
  if (mayKeep()) keep(KEY, add({ day: today(), ...readKept<Kept>(KEY) }, what, by));
};

/** From now on the day's counters are kept where that is allowed. Those of an earlier day are handed out, once. */
export const keepDays = (allowed: () => boolean): Counters | undefined => {
  mayKeep = allowed;
  const { day = today(), ...kept } = readKept<Kept>(KEY) ?? {};
  if (day === today()) return undefined;
  forgetDay();
  return kept;
};

export const forgetDay = (): void => keep(KEY);
