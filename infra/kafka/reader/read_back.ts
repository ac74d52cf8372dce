import type { Admin } from 'kafkajs';
import { type ReadPartitionsOptions, readPartitions, type Span } from './read_partitions.ts';
import { topicOffsets, topicOffsetsAt } from './topic_offsets.ts';

export interface ReadBackOptions extends Omit<ReadPartitionsOptions, 'spans'> {
  admin: Admin;
  /** Records stamped earlier are left out where possible; milliseconds since 1970 UTC. Null: from the beginning. */
  sinceMs: number | null;
  /** Where to begin in each partition instead; partitions that are left out are not read. */
  from?: ReadonlyMap<number, number>;
  /** Offsets before which partitions were read already. */
  passed?: ReadonlyMap<number, number>;
}

/**
 * Reads what a topic holds now, committed records only, and ends: at what stood at its end at the call. Memory holds one
 * fetch. Throws what `onRecords` throws.
 */
export async function readBack(options: ReadBackOptions): Promise<void> {
  const spans = await spansOf(options);
  if (spans.size > 0) await readPartitions({ ...options, spans });
}

/** What is to be read of each partition that holds any. */
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
