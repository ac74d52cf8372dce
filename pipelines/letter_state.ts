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

/** What became of a letter that somebody wanted to be done with, or to be open again. */
export type MarkOutcome = 'resolved' | 'reopened' | 'not_resolved' | 'unknown';
