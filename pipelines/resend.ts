import type { Coordinate } from '#schemas/event.ts';
import type { EntryView } from '#schemas/event_batch.ts';
import type { DeadLetter } from '#schemas/records.ts';
import { readWire } from '#schemas/wire.ts';
import type { DeadReason } from './dead_letter.ts';
import { type EventOutcome, eventState } from './letter_state.ts';
import { placeOf } from './replay/choose.ts';

/** Stages that read again what died in them; what died in a delivery is written for its destination. */
export const RESENDING_STAGES = ['dedup', 'identity', 'warehouse'] as const;
export type ResendingStage = (typeof RESENDING_STAGES)[number];

const REFUSED: DeadReason = 'warehouse_refused';

/** Whether a letter holds a row, and no event to send in again: of a table without events, or of a former version. */
const holdsRow = ({ reason, bytes }: DeadLetter): boolean => {
  const wire = reason === REFUSED ? readWire(bytes) : null;
  return wire?.ok === false && wire.code === 'wire_magic';
};

/**
 * What became of a letter that was to be sent in again:
 * - resent_before: it was sent in again before
 * - not_resendable: its stage, or what it holds, cannot be sent in again
 * - cut: only its first 512 KiB were kept
 * - unreadable: it holds no events that can be read, also now
 *
 * Of a delivery also:
 * - delivered: the destination has its events by now
 * - waiting: they are tried again by themselves
 * - no_destination: the sites of what the destination does not have have no such destination any more, or have it switched off
 * - replay_runs: a replay to the destination is not over, so that nobody knows what it sends
 * - not_known: whether the destination has them is not known now, as ClickHouse does not answer or delivery is behind
 */
export const RESEND_OUTCOMES = [
  'resent',
  'resent_before',
  'unknown',
  'not_resendable',
  'cut',
  'unreadable',
  'delivered',
  'waiting',
  'no_destination',
  'replay_runs',
  'not_known',
] as const;
export type ResendOutcome = (typeof RESEND_OUTCOMES)[number];

/** Stages whose letters hold batches of events, but for records that cannot be read. */
const STAGES_OF_EVENTS: ReadonlySet<string> = new Set([...RESENDING_STAGES, 'delivery']);

/** Whether a letter may hold events that can be read; whether they can is known once they are. */
export function mayHoldEvents(letter: DeadLetter): boolean {
  return STAGES_OF_EVENTS.has(letter.stage) && !holdsRow(letter) && !isCut(letter);
}

/** Why a letter cannot be sent in again, as far as the letter alone says; null where it can. */
export function refusedAsIs(letter: DeadLetter): ResendOutcome | null {
  if (!STAGES_OF_EVENTS.has(letter.stage)) return 'not_resendable';
  if (letter.stage === 'delivery' && (letter.destination ?? '') === '') return 'not_resendable';
  if (holdsRow(letter)) return 'not_resendable';
  return isCut(letter) ? 'cut' : null;
}

export function isCut({ bytes, bytes_total }: DeadLetter): boolean {
  return bytes.length < bytes_total;
}

/**
 * The events of a delivery's letter that are to be written for the destination again, or why none is. `known` has what is known
 * of them by their places; null: nothing is known.
 */
export function chooseUndelivered(
  { died_at }: Pick<DeadLetter, 'died_at'>,
  views: readonly EntryView[],
  known: ReadonlyMap<string, EventOutcome> | null,
  hasDestination: (siteId: string) => boolean,
): EntryView[] | ResendOutcome {
  if (views.length === 0) return 'unreadable';
  const wanted = views.filter(({ siteId }) => hasDestination(siteId));
  if (wanted.length === 0) return 'no_destination';
  if (known === null) return 'not_known';
  const states = wanted.map((view) => eventState(known.get(placeOf(view) ?? ''), died_at));
  const chosen = wanted.filter((_view, at) => states[at] === 'dead' || states[at] === 'skipped');
  if (chosen.length > 0) return chosen;
  if (states.includes('waiting')) return 'waiting';
  return wanted.length < views.length ? 'no_destination' : 'delivered';
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
