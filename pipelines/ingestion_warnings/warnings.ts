// Ingestion warnings: events and requests that were not accepted, counted and sampled.
import type { Caller } from '#schemas/event.ts';

export const HOUR_MS = 3_600_000;

/**
 * What was not accepted: `rejected`, an event that is malformed; `dropped`, a sound one that does not count; `refused`, a
 * request of which nothing was taken. And `warned`, an event that was accepted with a fault that its sender should mend. Malformed
 * events of the past are `historical`: whether what sends today is sound they do not tell.
 */
export const WARNING_KINDS = ['rejected', 'dropped', 'refused', 'warned', 'historical'] as const;
export type WarningKind = (typeof WARNING_KINDS)[number];

/** Why something was not accepted; `code` is one of docs/errors.md, or the reason of a drop. */
export interface IngestionWarning {
  kind: WarningKind;
  code: string;
}

/** What a sample tells of who sent something, and of what it was. Names only, which are cleaned; never a value. */
export interface Sampled {
  /** Of the key that it came with; null where a site was named without one. */
  keyId: string | null;
  caller: Caller | null;
  /** The event's name; null for a request, and where it has none that could be stored. */
  event: string | null;
  /** The place in its request; null for a request. */
  index: number | null;
  fields: readonly string[];
}

/** One of those that were not accepted. */
export interface RejectionSample extends IngestionWarning, Sampled {
  atMs: number;
}

/** What one edge did not accept of one site and has not passed on yet. Its size is bounded, however long that takes. */
export interface RejectionCounts {
  /** By hour since 1970 UTC, kind and code, as `480000:rejected:event_name_missing`; the oldest first. */
  counts: Map<string, number>;
  /** The oldest first. */
  samples: RejectionSample[];
  /** How many samples were taken since the notes were begun, by kind and code. */
  sampled: Map<string, number>;
}

/** Hours of reasons: a week of the usual ones while Redis is away. */
const COUNTS_MAX = 4_096;
/** Until notes are passed on so many samples are taken: each costs the cleaning of its names. */
const SAMPLES_TAKEN_MAX = 20;
const SAMPLES_OF_REASON_MAX = 2;

export function newRejectionCounts(): RejectionCounts {
  return { counts: new Map(), samples: [], sampled: new Map() };
}

/** Names a reason in one text. */
export const reasonOf = ({ kind, code }: IngestionWarning): string => `${kind}:${code}`;

/** Whether there is room for one more sample of a reason beside those taken, by kind and code. */
export function hasRoomFor(refusal: IngestionWarning, ...taken: readonly ReadonlyMap<string, number>[]): boolean {
  const reason = reasonOf(refusal);
  const sum = (of: (sampled: ReadonlyMap<string, number>) => number): number =>
    taken.reduce((total, sampled) => total + of(sampled), 0);
  return sum((sampled) => sampled.get(reason) ?? 0) < SAMPLES_OF_REASON_MAX && sum(sumOf) < SAMPLES_TAKEN_MAX;
}

/** Notes one refusal at `atMs`; asks for what a sample tells only while there is room for one more. Null: it tells nothing. */
export function countRejection(
  notes: RejectionCounts,
  refusal: IngestionWarning,
  atMs: number,
  tell: () => Sampled | null,
): void {
  const reason = reasonOf(refusal);
  count(notes.counts, `${Math.floor(atMs / HOUR_MS)}:${reason}`);
  const told = hasRoomFor(refusal, notes.sampled) ? tell() : null;
  if (told === null) return;
  notes.sampled.set(reason, (notes.sampled.get(reason) ?? 0) + 1);
  const { kind, code } = refusal;
  notes.samples.push({ atMs, kind, code, ...told });
}

function count(counts: Map<string, number>, field: string): void {
  counts.set(field, (counts.get(field) ?? 0) + 1);
  if (counts.size > COUNTS_MAX) for (const oldest of counts.keys()) return void counts.delete(oldest);
}

function sumOf(counts: ReadonlyMap<string, number>): number {
  let sum = 0;
  for (const times of counts.values()) sum += times;
  return sum;
}

/** How often something was not accepted, in an hour since 1970 UTC. */
export interface HourRejections extends IngestionWarning {
  hour: number;
  count: number;
}

/** By hour, or by day of UTC. */
export const REFUSAL_INTERVALS = ['hour', 'day'] as const;
type RejectionInterval = (typeof REFUSAL_INTERVALS)[number];

interface Counted extends IngestionWarning {
  count: number;
}

/** How often, in the interval that begins at `at`. */
interface CountedAt extends Counted {
  at: number;
}

const INTERVAL_MS: Readonly<Record<RejectionInterval, number>> = { hour: HOUR_MS, day: 24 * HOUR_MS };

/**
 * What was not accepted by interval, the earliest first, and over the whole time, the most frequent first. An hour of which a
 * part is asked for counts as a whole: more is not kept.
 *
 * @param from Inclusive, as `to` exclusive, in milliseconds since 1970 UTC.
 */
export function rejectionCounts(
  hours: readonly HourRejections[],
  { from, to, interval }: { from: number; to: number; interval: RejectionInterval },
): { totals: Counted[]; counts: CountedAt[] } {
  const totals = new Map<string, Counted>();
  const counts = new Map<string, CountedAt>();
  for (const { hour, kind, code, count } of hours) {
    if ((hour + 1) * HOUR_MS <= from || hour * HOUR_MS >= to) continue;
    const at = Math.floor((hour * HOUR_MS) / INTERVAL_MS[interval]) * INTERVAL_MS[interval];
    const reason = reasonOf({ kind, code });
    const total = totals.get(reason);
    totals.set(reason, { kind, code, count: (total?.count ?? 0) + count });
    const key = `${at} ${reason}`;
    counts.set(key, { at, kind, code, count: (counts.get(key)?.count ?? 0) + count });
  }
  return {
    totals: [...totals.values()].sort((a, b) => b.count - a.count || byReason(a, b)),
    counts: [...counts.values()].sort((a, b) => a.at - b.at || byReason(a, b)),
  };
}

const byReason = (a: IngestionWarning, b: IngestionWarning): number => (reasonOf(a) < reasonOf(b) ? -1 : 1);
