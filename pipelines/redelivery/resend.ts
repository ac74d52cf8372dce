// Dead-letter events sent again: their states, and which are meant.
import type { SourcePosition } from '#schemas/event.ts';
import { decodeHistorical, type EncodedEvent } from '#schemas/event_batch.ts';
import type { DeadLetter } from '#schemas/records.ts';
import type { Replay } from '#schemas/setting.ts';
import { readWire } from '#schemas/wire.ts';
import type { DeadReason } from './dead_letter.ts';
import { NO_COUNTS, type ReadCounts } from './replay.ts';

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
export function mayHoldEvents(deadLetter: DeadLetter): boolean {
  return STAGES_OF_EVENTS.has(deadLetter.stage) && !holdsRow(deadLetter) && !isCut(deadLetter);
}

/** Why a letter cannot be sent in again, as far as the letter alone says; null where it can. */
export function refusedAsIs(deadLetter: DeadLetter): ResendOutcome | null {
  if (!STAGES_OF_EVENTS.has(deadLetter.stage)) return 'not_resendable';
  if (deadLetter.stage === 'delivery' && (deadLetter.destination ?? '') === '') return 'not_resendable';
  if (holdsRow(deadLetter)) return 'not_resendable';
  return isCut(deadLetter) ? 'cut' : null;
}

export function isCut({ bytes, bytes_total }: DeadLetter): boolean {
  return bytes.length < bytes_total;
}

/**
 * The events of a delivery's letter that are to be written for the destination again, or why none is. `known` has what is known
 * of them by their places; null: nothing is known.
 */
export function selectUndelivered(
  { died_at }: Pick<DeadLetter, 'died_at'>,
  views: readonly EncodedEvent[],
  known: ReadonlyMap<string, EventOutcome> | null,
  hasDestination: (siteId: string) => boolean,
): EncodedEvent[] | ResendOutcome {
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
export function sourcePosition(
  { stage, partition, offset }: DeadLetter,
  view: EncodedEvent,
  index: number,
): SourcePosition | null {
  if (view.coordinate !== null) return view.coordinate;
  return stage === 'dedup' ? { partition, offset, index } : null;
}

/** Why somebody is done with a dead letter, who that is, and since when (milliseconds since 1970 UTC). */
export interface Resolution {
  note: string;
  by: string;
  atMs: number;
}

/** What was done about a dead letter: it was sent in again, somebody is done with it, or it is open still. */
export const LETTER_STATES = ['open', 'resent', 'resolved'] as const;
export type DeadLetterState = (typeof LETTER_STATES)[number];

export interface DeadLetterStatus {
  /** When it was resent, in milliseconds since 1970 UTC; null if it was not. */
  resentAtMs: number | null;
  /** Null while nobody is done with it. */
  resolution: Resolution | null;
}

/** Whether a letter is in a state; one that was sent in again and is resolved is in both. */
export function isInState({ resentAtMs, resolution }: DeadLetterStatus, state: DeadLetterState): boolean {
  if (state === 'open') return resentAtMs === null && resolution === null;
  return (state === 'resent' ? resentAtMs : resolution) !== null;
}

/**
 * What is known of a delivery's letter by the outcomes of its events since: the destination has them all, some wait to be tried
 * again, all others were skipped, some are dead still, or ClickHouse, which knows it, does not answer.
 */
export const LETTER_DELIVERIES = ['delivered', 'waiting', 'skipped', 'dead', 'unknown'] as const;
export type DeadLetterDelivery = (typeof LETTER_DELIVERIES)[number];

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
export function deadLetterDelivery(
  events: readonly (EventOutcome | undefined)[],
  diedAtMs: number,
): DeadLetterDelivery {
  const states = events.map((event) => eventState(event, diedAtMs));
  if (states.includes('waiting')) return 'waiting';
  if (states.length === 0 || states.includes('dead')) return 'dead';
  return states.includes('skipped') ? 'skipped' : 'delivered';
}

/**
 * What is known at its destination of one event of a letter that died then. What no retry topic took any more had the outcome of its
 * attempt in former versions: only after a later attempt than that does it wait.
 */
function eventState(event: EventOutcome | undefined, diedAtMs: number): Exclude<DeadLetterDelivery, 'unknown'> {
  if (event === undefined) return 'dead';
  const { delivered, latest, latestAtMs } = event;
  if (delivered) return 'delivered';
  if (latest === 'diverted' || latest === 'paused') return latestAtMs > diedAtMs ? 'waiting' : 'dead';
  return latest === 'skipped' ? 'skipped' : 'dead';
}

/** What became of a letter that somebody wanted to be done with, or to be open again. */
export type MarkOutcome = 'resolved' | 'reopened' | 'not_resolved' | 'unknown';

/**
 * What is known of an event at the destination: it has it, it waits on a retry topic for another attempt, it was skipped for a reason
 * that may hold again, or none of these.
 */
export type Known = 'delivered' | 'pending' | 'skipped' | 'open';

/** Where the ledger of outcomes names an event: its place on events.raw. */
export function placeOf({ coordinate }: EncodedEvent): string | null {
  return coordinate === null ? null : `${coordinate.partition}/${coordinate.offset}/${coordinate.index}`;
}

/** Whether a replay is about an event at all: by its site, and not one of the past, which goes nowhere. */
export function isMeant(
  replay: Replay,
  { siteId, eventBytes }: Pick<EncodedEvent, 'siteId' | 'eventBytes'>,
  hasDestination: (siteId: string) => boolean,
): boolean {
  const isOfSite = replay.site_id === null || replay.site_id === siteId;
  return isOfSite && hasDestination(siteId) && !decodeHistorical(eventBytes);
}

/**
 * Of the events a replay is about, those to be sent: neither delivered nor waiting on a retry topic, or all of them where it is
 * forced. An event without a place on events.raw is in no ledger and goes.
 */
export function choose(
  views: readonly EncodedEvent[],
  force: boolean,
  known: ReadonlyMap<string, Known>,
): { chosen: EncodedEvent[]; counts: ReadCounts } {
  const counts: ReadCounts = { ...NO_COUNTS, seen: views.length };
  const chosen = views.filter((view) => {
    const place = placeOf(view);
    const state = force || place === null ? 'open' : (known.get(place) ?? 'open');
    if (state === 'delivered') counts.delivered++;
    if (state === 'pending') counts.pending++;
    if (state === 'skipped') counts.skipped_before++;
    return state === 'open' || state === 'skipped';
  });
  counts.chosen = chosen.length;
  return { chosen, counts };
}
