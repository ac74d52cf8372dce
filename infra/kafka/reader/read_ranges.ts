import type { Admin } from 'kafkajs';
import type { InRecord } from '#infra/kafka/record.ts';
import type { OffsetRange } from '#pipelines/warehouse/block.ts';
import { type ReadPartitionsOptions, readPartitions, type Span } from './read_partitions.ts';
import { topicOffsets } from './topic_offsets.ts';

export interface ReadRangesOptions extends Pick<ReadPartitionsOptions, 'kafka' | 'topic' | 'groupPrefix'> {
  admin: Admin;
  ranges: ReadonlyMap<number, OffsetRange>;
}

/**
 * The committed records of offset ranges of a topic, by partition and in order. Holds all of them in memory. What retention
 * has deleted is left out.
 */
export async function readRanges({ ranges, admin, ...options }: ReadRangesOptions): Promise<Map<number, InRecord[]>> {
  const found = new Map([...ranges.keys()].map((partition): [number, InRecord[]] => [partition, []]));
  const spans = heldOf(ranges, await topicOffsets(admin, options.topic));
  if (spans.size === 0) return found;
  await readPartitions({
    ...options,
    spans,
    async onRecords(records, partition) {
      const { first, last } = ranges.get(partition) ?? { first: 0, last: -1 };
      found.get(partition)?.push(...records.filter(({ offset }) => offset >= first && offset <= last));
    },
    onProgress: () => undefined,
  });
  return found;
}

/** The parts of the ranges that the topic still has; a range of which it has nothing is left out. */
function heldOf(
  ranges: ReadonlyMap<number, OffsetRange>,
  offsets: readonly { partition: number; low: string }[],
): Map<number, Span> {
  return new Map(
    offsets.flatMap(({ partition, low }) => {
      const range = ranges.get(partition);
      const first = Math.max(range?.first ?? 0, Number(low));
      return range === undefined || first > range.last ? [] : [[partition, { first, end: range.last + 1 }]];
    }),
  );
}
