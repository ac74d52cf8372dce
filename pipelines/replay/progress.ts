import type { ReplayPartition, ReplayPhase, ReplayProgress } from '#schemas/replay_progress.ts';
import type { Replay } from '#schemas/setting.ts';

/** What reading a part of the range came to, in events but for `unreadable`. */
export interface ReadCounts {
  seen: number;
  delivered: number;
  pending: number;
  unreadable: number;
  chosen: number;
  /** Of those chosen. */
  skipped_before: number;
}

export const NO_COUNTS: ReadCounts = { seen: 0, delivered: 0, pending: 0, unreadable: 0, chosen: 0, skipped_before: 0 };

/** A replay that has read nothing yet. */
export function newProgress(replayId: string, nowMs: number): ReplayProgress {
  return {
    replay_id: replayId,
    phase: 'waiting',
    detail: '',
    partitions: [],
    ...NO_COUNTS,
    to_send: null,
    found: null,
    not_reached: 0,
    started_at: nowMs,
    updated_at: nowMs,
  };
}

/** What counting found, once all of the range is read. */
export function counted(progress: ReplayProgress): ReplayProgress {
  const { chosen, delivered, pending, unreadable, skipped_before } = progress;
  return { ...progress, to_send: chosen, found: { delivered, pending, unreadable, skipped_before } };
}

/** Begins to read the range from its first offset, counting from nothing. */
export function beginReading(
  progress: ReplayProgress,
  phase: 'counting' | 'sending',
  partitions: readonly ReplayPartition[],
  nowMs: number,
): ReplayProgress {
  const fresh = partitions.map((one) => ({ ...one, next: one.first }));
  return { ...progress, ...NO_COUNTS, phase, detail: '', partitions: fresh, updated_at: nowMs };
}

/** After a part of one partition, up to `next`. */
export function addCounts(
  progress: ReplayProgress,
  partition: number,
  next: number,
  counts: ReadCounts,
  nowMs: number,
): ReplayProgress {
  return {
    ...progress,
    seen: progress.seen + counts.seen,
    delivered: progress.delivered + counts.delivered,
    pending: progress.pending + counts.pending,
    unreadable: progress.unreadable + counts.unreadable,
    chosen: progress.chosen + counts.chosen,
    skipped_before: progress.skipped_before + counts.skipped_before,
    partitions: progress.partitions.map((one) => (one.partition === partition ? { ...one, next } : one)),
    updated_at: nowMs,
  };
}

/** Goes on to a phase in which nothing is read. */
export function inPhase(progress: ReplayProgress, phase: ReplayPhase, detail: string, nowMs: number): ReplayProgress {
  return { ...progress, phase, detail, updated_at: nowMs };
}

export function isOver(phase: ReplayPhase): boolean {
  return phase === 'done' || phase === 'cancelled' || phase === 'failed';
}

/** Share of the phase's range that is read, from 0 to 1; null while the range is not known. */
export function shareRead({ phase, partitions }: ReplayProgress): number | null {
  if (phase === 'waiting') return null;
  const total = partitions.reduce((sum, { first, end }) => sum + end - first, 0);
  const read = partitions.reduce((sum, { first, next }) => sum + next - first, 0);
  return total === 0 ? 1 : read / total;
}

/**
 * Whether a replay to a destination is not over: it is to begin, runs or is paused. One whose command is not known here yet may be to
 * any destination.
 */
export function isReplayed(
  replays: readonly Pick<Replay, 'replay_id' | 'destination'>[],
  progresses: ReadonlyMap<string, Pick<ReplayProgress, 'phase'>>,
  destination: string,
): boolean {
  const goesOn = (id: string): boolean => !isOver(progresses.get(id)?.phase ?? 'waiting');
  if (replays.some((one) => one.destination === destination && goesOn(one.replay_id))) return true;
  const known = new Set(replays.map(({ replay_id }) => replay_id));
  return [...progresses.keys()].some((id) => !known.has(id) && goesOn(id));
}
