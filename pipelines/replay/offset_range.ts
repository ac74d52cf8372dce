import type { ReplayPartition } from '#schemas/replay_progress.ts';

/** What is known of one partition of the topic to be read. */
export interface PartitionFacts {
  partition: number;
  /** First offset that is still there, and the one behind the last. */
  low: number;
  high: number;
  /** Offsets of the first records stamped at the range's beginning and end, or later. */
  from: number;
  to: number;
  /** What delivery reads next by itself; null where that does not matter, as for dead letters. */
  reached: number | null;
}

export interface Range {
  partitions: ReplayPartition[];
  /** Offsets of the range that delivery has yet to reach by itself. */
  notReached: number;
}

/**
 * What a replay reads of each partition: the range by time, up to where delivery itself has come, as what lies behind
 * that is going to be delivered anyway. Partitions of which nothing is to be read are left out.
 */
export function rangeOf(facts: readonly PartitionFacts[]): Range {
  const range: Range = { partitions: [], notReached: 0 };
  for (const { partition, low, high, from, to, reached } of facts) {
    const first = Math.max(low, from);
    const wanted = Math.min(high, to);
    const end = reached === null ? wanted : Math.min(wanted, reached);
    const left = wanted - Math.max(first, end);
    // One offset is the marker that ends the last transaction.
    if (left > 1) range.notReached += left;
    if (first < end) range.partitions.push({ partition, first, next: first, end });
  }
  return range;
}

/**
 * What of the range delivery has yet to read, by partition. A single offset is the marker that ends the last transaction
 * and is left out; several may all be markers too, which only reading them shows.
 */
export function gapsOf(facts: readonly PartitionFacts[]): ReplayPartition[] {
  return facts.flatMap(({ partition, low, high, from, to, reached }) => {
    const first = Math.max(low, from, reached ?? high);
    const end = Math.min(high, to);
    return end - first > 1 ? [{ partition, first, next: first, end }] : [];
  });
}
