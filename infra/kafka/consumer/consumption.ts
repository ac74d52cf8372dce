import type { TopicPartition } from './partition_state.ts';

export interface OffsetCommit extends TopicPartition {
  offset: number;
  metadata: string;
}

/** A running consumer of a group. */
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
  /** Ends the rests of partitions that wait for a time: the records they left are read again now. */
  wake(): void;
  stop(): Promise<void>;
}
