import type { Admin } from 'kafkajs';
import { type ReadPartitionsOptions, readPartitions, type Span } from './read_partitions.ts';
import { topicOffsets, topicOffsetsAt } from './topic_offsets.ts';

export interface ReadBackOptions extends Omit<ReadPartitionsOptions, 'spans'> {
  admin: Admin;
  /**
   * Records with an earlier timestamp (milliseconds since 1970 UTC) are skipped where possible. Null: from the beginning.
   */
  sinceMs: number | null;
  /** The first offset of each partition, instead of a time; a partition that is missing is not read. */
  from?: ReadonlyMap<number, number>;
  /** Offsets before which partitions were read already. */
  passed?: ReadonlyMap<number, number>;
}

/**
 * Reads the committed records that a topic holds now, and ends at what was its end at the call. Holds one fetch in memory.
 * Throws what `onRecords` throws.
 */
export async function readBack(options: ReadBackOptions): Promise<void> {
  const spans = await spansOf(options);
  if (spans.size > 0) await readPartitions({ ...options, spans });
}

/** The range to read of each partition that has records. */
async function spansOf({ admin, topic, sinceMs, from, passed }: ReadBackOptions): Promise<Map<number, Span>> {
  const ends = await topicOffsets(admin, topic);
  const starts = sinceMs === null ? [] : await topicOffsetsAt(admin, topic, sinceMs);
  const startOf = new Map(starts.map(({ partition, offset }) => [partition, Number(offset)]));
  return new Map(
    ends.flatMap(({ partition, low, high }) => {
      const given = from === undefined ? startOf.get(partition) : (from.get(partition) ?? Number(high));
      const first = Math.max(Number(low), given ?? 0, passed?.get(partition) ?? 0);
      return first < Number(high) ? [[partition, { first, end: Number(high) }]] : [];
    }),
  );
}
