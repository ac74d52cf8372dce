/** Where a stage stands in its partitions, at one moment. */
export interface StageMoment {
  atMs: number;
  /** The committed offset of each partition, by topic and partition. */
  taken: ReadonlyMap<string, number>;
}

/** A rate is of so long at the least: committing goes in steps. */
const SPAN_MS_MIN = 3_000;
/** Moments older than this say nothing about now. */
const SPAN_MS_MAX = 120_000;

/** Offsets a second between two moments; null where they are too close, or too far from each other. */
export function rateBetween(before: StageMoment | null, now: StageMoment): number | null {
  if (before === null) return null;
  const spanMs = now.atMs - before.atMs;
  if (spanMs < SPAN_MS_MIN || spanMs > SPAN_MS_MAX) return null;
  let taken = 0;
  for (const [partition, offset] of now.taken) taken += Math.max(0, offset - (before.taken.get(partition) ?? offset));
  return Math.round((taken / spanMs) * 10_000) / 10;
}

/** The moment to compare with next time: the one before stays until the new one is far enough from it. */
export function kept(before: StageMoment | null, now: StageMoment): StageMoment {
  const isFar = before === null || Math.abs(now.atMs - before.atMs) >= SPAN_MS_MIN * 3;
  return isFar ? now : before;
}
