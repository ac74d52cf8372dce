// The consumer's contract: its options, the batches that it hands over, and what may be asked of it while it runs.

import type { Kafka } from 'kafkajs';
import type { Logger } from '#infra/log/logger.ts';
import type { InRecord } from '../record.ts';
import type { PartitionProgress } from './lag_watch.ts';
import type { TopicPartition } from './partition_state.ts';

export interface OffsetCommit extends TopicPartition {
  offset: number;
  metadata: string;
}

export interface Consumption {
  /**
   * Runs a task between two batches of an acquired partition; its errors are handled as a batch's are. Does nothing if the
   * partition is not ours.
   */
  between(partition: TopicPartition, task: () => Promise<void>): Promise<void>;
  /** Commits an offset with metadata. Throws PartitionLostError if the partition may not be ours any more. */
  commit(partition: TopicPartition, offset: number, metadata: string): Promise<void>;
  /**
   * Commits offsets of several partitions in one request, which the coordinator takes as a whole. Throws
   * PartitionLostError if one of them is not ours any more.
   */
  commitAll(offsets: readonly OffsetCommit[]): Promise<void>;
  assigned(): TopicPartition[];
  /** Whether the coordinator has heard of this member within its session: else its partitions may be others' by now. */
  isMember(): boolean;
  /** How far it is with each partition that it has; nothing while they are given away. */
  progress(): PartitionProgress[];
  /** Ends the rests of partitions that wait for a time: the records they left are read again now. */
  wake(): void;
  stop(): Promise<void>;
}

interface PartitionHandlers {
  /**
   * Called before the first batch of a partition after every assignment and every error, when no earlier batch of it is
   * in work in this process. `generation` differs after every assignment. Resolves to the offset to read from, or to null
   * if nothing was ever committed. Work of many steps calls `progressed` after each step.
   */
  acquire(partition: TopicPartition, generation: number, progressed: () => void): Promise<number | null>;
  /** Processes a batch. The next batch comes when it resolves; the handler commits by itself. */
  process(batch: InBatch): Promise<Deferral | undefined>;
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
  /** Bytes up to which several fetches are merged into one batch, where these are others. */
  batchBytesMax?: number;
  /** Bytes that a fetch waits for. Default 1: whatever is there. */
  fetchBytesMin?: number;
  /** The longest that it waits for them, in milliseconds. Default 100. A consumer that stops or joins waits for it, too. */
  fetchWaitMs?: number;
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
  /** Told when the search for a record that kills the process begins in a partition, and when it is over. */
  onSearch?(at: TopicPartition, isOn: boolean): void;
  /** Called when there is no record to read from offset `first` up to `end`: only transaction markers, or nothing any more. */
  onEmpty?(at: TopicPartition, first: number, end: number): void;
  onFatal(error: unknown): void;
}

/** `fetchBytesMin` of stages that gather: many small fetches would fill the queue of a partition, which is then paused. */
export const FETCH_BYTES_MIN = 256 * 1024;

/** What fetches brought of one partition since the last batch was taken from it. */
export interface InBatch extends TopicPartition {
  records: InRecord[];
  /** Offset of the last record that was fetched, where `records` may be only some of them. */
  lastOffset: number;
  /** The offset behind that record and behind the transaction markers that follow it. */
  endOffset: number;
  /** Records of the partition behind this batch; a transaction marker is not a record. */
  lag: number;
  /** False once the partition may belong to another member: nothing may be committed then. */
  owned(): boolean;
  /**
   * True once the partition is about to be given away, or may have been given away. The handler leaves what it has not
   * begun to the next owner, and returns soon with what it has done, as that can be committed for a short while only. A
   * handler that takes long asks before each of its steps: a partition of which nothing is heard counts as standing still.
   */
  stopping(): boolean;
}

/** Records from `offset` on are left for later, not before a time (milliseconds since 1970 UTC). */
export interface Deferral {
  offset: number;
  notBeforeMs: number;
}

/** The offset to commit when these records are done; it lies behind the transaction markers that follow the last of them. */
export function endOf({
  records,
  lastOffset,
  endOffset,
}: Pick<InBatch, 'records' | 'lastOffset' | 'endOffset'>): number {
  const last = records.at(-1)?.offset ?? -1;
  return last === lastOffset ? endOffset : last + 1;
}
