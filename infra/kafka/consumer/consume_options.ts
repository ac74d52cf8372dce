import type { Kafka } from 'kafkajs';
import type { Logger } from '#infra/log/logger.ts';
import type { InBatch, Leave } from './in_batch.ts';
import type { TopicPartition } from './partition_state.ts';

interface PartitionHandlers {
  /**
   * Called before the first batch of a partition after every assignment and every error, when no earlier batch of it is
   * in work in this process. `generation` differs after every assignment. Resolves to the offset to read from, or to null
   * if nothing was ever committed. Work of many steps calls `progressed` after each step.
   */
  acquire(partition: TopicPartition, generation: number, progressed: () => void): Promise<number | null>;
  /** Processes a batch. The next batch comes when it resolves; the handler commits by itself. */
  process(batch: InBatch): Promise<Leave | undefined>;
}

export interface ConsumeOptions {
  kafka: Kafka;
  groupId: string;
  topics: readonly string[];
  sessionTimeoutMs: number;
  /** Partitions taken from one fetch side by side; work on them never waits for that of another. */
  concurrency: number;
  /**
   * Compressed bytes that one fetch brings of a partition at most (default 1 MiB), and bytes up to which several fetches are
   * merged into one batch (default 4 MiB). What arrives within `lingerMs` must fit, or the queue of fetches is always full.
   */
  bytesPerPartitionMax?: number;
  /** Bytes that a fetch waits for, for a tenth of a second at most. Default 1: whatever is there. */
  fetchBytesMin?: number;
  /** Least time between the starts of two batches, in milliseconds; what arrives meanwhile goes into one batch. */
  lingerMs?: number;
  /** Partitions of a topic in one partition group, which one member has as a whole. Default 1. */
  partitionGroupSize?: number;
  /** Longest that acquiring a partition or a commit may take before the process ends. Default 5 minutes. */
  watchdogMs?: number;
  /** Longest wait for running work before partitions are given away, or at the end. Default 12 s. */
  drainMs?: number;
  handlers: PartitionHandlers;
  logger: Logger;
  /** Called when retention has deleted offsets of a topic that were never read; some of them may be transaction markers. */
  onSkipped?(topic: string, offsets: number): void;
  /** Called when there is no record to read from offset `first` up to `end`: only transaction markers, or nothing any more. */
  onEmpty?(at: TopicPartition, first: number, end: number): void;
  /** Called once when the process must stop. */
  onFatal(error: unknown): void;
}

/** `fetchBytesMin` of stages that gather: many small fetches would fill the queue of a partition, which is then paused. */
export const FETCH_BYTES_MIN = 256 * 1024;
