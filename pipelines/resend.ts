import type { Coordinate } from '#schemas/event.ts';
import type { EntryView } from '#schemas/event_batch.ts';
import type { DeadLetter } from '#schemas/records.ts';
import type { DeadReason } from './dead_letter.ts';

/** Stages whose dead letters can be sent in again by themselves; those of a delivery are replayed. */
export const RESENDING_STAGES = ['dedup', 'identity', 'warehouse'] as const;
export type ResendingStage = (typeof RESENDING_STAGES)[number];

/** The reason of letters that hold a row, and no event to send in again. */
const WITHOUT_EVENT: DeadReason = 'warehouse_refused';

/** What became of a letter that was to be sent in again. */
export type ResendOutcome =
  | 'resent'
  /** It was sent in again before. */
  | 'resent_before'
  | 'unknown'
  /** Its stage, or what it holds, cannot be sent in again. */
  | 'not_resendable'
  /** Only its first 64 KiB were kept. */
  | 'cut'
  /** It holds no events that can be read, also now. */
  | 'unreadable';

/** Stages whose letters hold batches of events, but for records that cannot be read. */
const STAGES_OF_EVENTS: ReadonlySet<string> = new Set([...RESENDING_STAGES, 'delivery']);

/** Whether a letter may hold events that can be read; whether they can is known once they are. */
export function mayHoldEvents(letter: DeadLetter): boolean {
  return STAGES_OF_EVENTS.has(letter.stage) && letter.reason !== WITHOUT_EVENT && !isCut(letter);
}

/** Why a letter cannot be sent in again, as far as the letter alone says; null where it can. */
export function refusedAsIs(letter: DeadLetter): ResendOutcome | null {
  if (!(RESENDING_STAGES as readonly string[]).includes(letter.stage)) return 'not_resendable';
  if (letter.reason === WITHOUT_EVENT) return 'not_resendable';
  return isCut(letter) ? 'cut' : null;
}

export function isCut({ bytes, bytes_total }: DeadLetter): boolean {
  return bytes.length < bytes_total;
}

/**
 * The coordinate with which an event of a letter goes in again: its own. In a record that died before dedup the events
 * have none yet, and some may have been claimed by their places there.
 */
export function coordinateAgain(
  { stage, partition, offset }: DeadLetter,
  view: EntryView,
  index: number,
): Coordinate | null {
  if (view.coordinate !== null) return view.coordinate;
  return stage === 'dedup' ? { partition, offset, index } : null;
}
