import type { OffsetRange } from '#pipelines/warehouse/block.ts';
import { type ReadPartitionsOptions, readPartitions } from './read_partitions.ts';
import type { InRecord } from './record.ts';

export interface ReadRangesOptions extends Pick<ReadPartitionsOptions, 'kafka' | 'topic' | 'groupPrefix'> {
  ranges: ReadonlyMap<number, OffsetRange>;
}

/** The committed records of ranges of a topic that are still there, by partition and in order. Memory holds them all. */
export async function readRanges({ ranges, ...options }: ReadRangesOptions): Promise<Map<number, InRecord[]>> {
  const found = new Map([...ranges.keys()].map((partition): [number, InRecord[]] => [partition, []]));
  const spans = [...ranges].map(([partition, { first, last }]) => [partition, { first, end: last + 1 }] as const);
  await readPartitions({
    ...options,
    spans: new Map(spans),
    async onRecords(records, partition) {
      const { first, last } = ranges.get(partition) ?? { first: 0, last: -1 };
      found.get(partition)?.push(...records.filter(({ offset }) => offset >= first && offset <= last));
    },
    onProgress: () => undefined,
  });
  return found;
}
