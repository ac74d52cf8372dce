import type { Producer } from 'kafkajs';
import type { Mutex } from '#infra/concurrency/mutex.ts';
import type { Watchdog } from '#infra/concurrency/watchdog.ts';
import type { GroupOffsets } from '#infra/kafka/consumer/group_offsets.ts';
import type { InBatch } from '#infra/kafka/consumer/in_batch.ts';
import type { Leaders } from '#infra/kafka/producer/partition_leaders.ts';
import type { OutRecord } from '#infra/kafka/record.ts';
import type { Gather } from './grouped_flush.ts';
import type { TransactionalStageOptions } from './transactional_stage_options.ts';

/** The state of a transactional stage in one process. The modules beside this one are the steps that change it. */
export interface StageState {
  readonly options: TransactionalStageOptions;
  readonly offsets: GroupOffsets;
  readonly watchdog: Watchdog;
  readonly leaders: Leaders;
  /** Every partition group that was ever assigned, by its transactional id. */
  readonly groups: Map<string, GroupState>;
  /** Closes what it has opened beside the producers of the groups. */
  close(): Promise<void>;
}

/** A partition group, whose partitions commit in one transaction, as this process has it. */
export interface GroupState {
  /** One transaction, or the taking of its transactional id, at a time. */
  readonly turn: Mutex;
  readonly gather: Gather<Part>;
  /** Holds the transactional id; null while that has to be taken. */
  producer: Producer | null;
  /** The generation in which the id was taken; -1 if it has yet to be fenced. */
  generation: number;
  /** The producer of each partition whose committed offset was read after the producer had taken the id. */
  readonly acquired: Map<number, Producer>;
}

/** What one partition has to commit: records, and the offset to go on from. */
export interface Part {
  batch: InBatch;
  outputs: readonly OutRecord[];
  next: number;
  /** If not empty, nothing is sent: only this is written at the offset. */
  metadata: string;
}

/** Whether the process may still commit the batch under the transactional id that it holds. */
export function isOurs({ producer, acquired }: GroupState, batch: InBatch): boolean {
  return producer !== null && batch.owned() && acquired.get(batch.partition) === producer;
}
