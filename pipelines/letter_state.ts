/** Why somebody is done with a dead letter, who that is, and since when (milliseconds since 1970 UTC). */
export interface Resolution {
  note: string;
  by: string;
  atMs: number;
}

/** What was done about a dead letter: it was sent in again, somebody is done with it, or it is open still. */
export const LETTER_STATES = ['open', 'resent', 'resolved'] as const;
export type LetterState = (typeof LETTER_STATES)[number];

/** What is known of a letter beside itself. */
export interface LetterMarks {
  /** When it was resent, in milliseconds since 1970 UTC; null if it was not. */
  resentAtMs: number | null;
  /** Null while nobody is done with it. */
  resolution: Resolution | null;
}

/** Whether a letter is in a state; one that was sent in again and is resolved is in both. */
export function isInState({ resentAtMs, resolution }: LetterMarks, state: LetterState): boolean {
  switch (state) {
    case 'open':
      return resentAtMs === null && resolution === null;
    case 'resent':
      return resentAtMs !== null;
    case 'resolved':
      return resolution !== null;
  }
}

/**
 * What is known of a delivery's letter by the outcomes of its events since: the destination has them all, some wait to be tried
 * again, all others were skipped, some are dead still, or ClickHouse, which knows it, does not answer.
 */
export const LETTER_DELIVERIES = ['delivered', 'waiting', 'skipped', 'dead', 'unknown'] as const;
export type LetterDelivery = (typeof LETTER_DELIVERIES)[number];

/** What one event's outcomes at a destination come to. */
export interface EventOutcome {
  /** Whether the destination has it: an attempt after that takes nothing back. */
  delivered: boolean;
  /** Of the newest attempt. */
  latest: string;
  /** When that was, in milliseconds since 1970 UTC. */
  latestAtMs: number;
}

/** What the events of a letter that died then come to together; undefined: nothing was attempted of one. */
export function letterDelivery(events: readonly (EventOutcome | undefined)[], diedAtMs: number): LetterDelivery {
  const states = events.map((event) => eventState(event, diedAtMs));
  if (states.includes('waiting')) return 'waiting';
  if (states.length === 0 || states.includes('dead')) return 'dead';
  return states.includes('skipped') ? 'skipped' : 'delivered';
}

/**
 * What is known at its destination of one event of a letter that died then. What no lane took any more had the outcome of its
 * attempt in former versions: only after a later attempt than that does it wait.
 */
export function eventState(event: EventOutcome | undefined, diedAtMs: number): Exclude<LetterDelivery, 'unknown'> {
  if (event === undefined) return 'dead';
  const { delivered, latest, latestAtMs } = event;
  if (delivered) return 'delivered';
  if (latest === 'diverted' || latest === 'paused') return latestAtMs > diedAtMs ? 'waiting' : 'dead';
  return latest === 'skipped' ? 'skipped' : 'dead';
}

/** What became of a letter that somebody wanted to be done with, or to be open again. */
export type MarkOutcome = 'resolved' | 'reopened' | 'not_resolved' | 'unknown';
