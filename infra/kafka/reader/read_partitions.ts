import type { InRecord } from '#infra/kafka/record.ts';
import { type ReadAloneOptions, readAlone } from './read_alone.ts';

/** Offsets from `first` up to, and without, `end`. */
export interface Span {
  first: number;
  end: number;
}

export interface ReadPartitionsOptions extends Pick<ReadAloneOptions, 'kafka' | 'topic'> {
  /** Prefix of the groups that are made for this reader; they commit nothing. */
  groupPrefix: string;
  /** By partition; at least one, and none of them empty. */
  spans: ReadonlyMap<number, Span>;
  /**
   * Takes records of a partition, in order and each once, and possibly some behind its range; partitions are read side by
   * side.
   */
  onRecords(records: readonly InRecord[], partition: number): Promise<void>;
  /** Offsets passed and offsets to pass in all. */
  onProgress(done: number, total: number): void;
}

const PARTITIONS_SIDE_BY_SIDE = 4;
const FETCH_WAIT_MS = 100;
const FETCH_BYTES_MAX = 16 * 1024 * 1024;

/**
 * Reads the committed records of offset ranges of a topic, whoever owns the partitions, and ends. Holds one fetch in
 * memory. Throws what `onRecords` throws.
 */
export async function readPartitions({
  spans,
  onRecords,
  onProgress,
  ...options
}: ReadPartitionsOptions): Promise<void> {
  const next = new Map([...spans].map(([partition, { first }]) => [partition, first]));
  const total = [...spans.values()].reduce((sum, { first, end }) => sum + end - first, 0);
  const { promise: done, resolve, reject } = Promise.withResolvers<void>();
  let failed = false;
  const leftIn = (partition: number, { end }: Span): number => Math.max(end - (next.get(partition) ?? end), 0);
  const reading = await readAlone({
    ...options,
    groupPrefix: `${options.groupPrefix}.once`,
    next,
    fetchWaitMs: FETCH_WAIT_MS,
    fetchBytesMax: FETCH_BYTES_MAX,
    concurrency: PARTITIONS_SIDE_BY_SIDE,
    async onRecords(records, partition) {
      const end = spans.get(partition)?.end ?? 0;
      if (failed || (records[0]?.offset ?? end) >= end) return;
      try {
        await onRecords(records, partition);
      } catch (error) {
        failed = true;
        reject(error);
      }
    },
    onPassed() {
      const left = [...spans].reduce((sum, [of, span]) => sum + leftIn(of, span), 0);
      onProgress(total - left, total);
      if (!failed && left === 0) resolve();
    },
    onFatal: reject,
  });
  try {
    await done;
  } finally {
    await reading.stop();
  }
}
