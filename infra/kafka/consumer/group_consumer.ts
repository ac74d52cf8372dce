import type { Batch, Consumer, Kafka } from 'kafkajs';
import { type Draining, drainingAssigner } from '#infra/kafka/kafkajs_patches/drain_before_rebalance.ts';
import { type OutOfRangeListener, reportingAssigner } from '#infra/kafka/kafkajs_patches/out_of_range.ts';
import { toInRecord } from '#infra/kafka/record.ts';
import { partitionGroupAssigner } from './partition_group_assigner.ts';
import type { Fetched, Slot } from './partition_state.ts';
import { CONSUMER_RETRY } from './run_consumer.ts';

export interface GroupConsumerOptions {
  kafka: Kafka;
  groupId: string;
  sessionTimeoutMs: number;
  bytesPerPartitionMax?: number;
  fetchBytesMin?: number;
  partitionGroupSize?: number;
}

/** The longest that a fetch waits for its least bytes. */
const FETCH_WAIT_MS = 100;
/** Partitions that were added to a topic are read after this long: the client looks for them when it renews its metadata. */
const METADATA_MS_MAX = 10_000;
/** Bytes that one fetch brings of a partition at the most, unless one record is larger. */
const PARTITION_BYTES_MAX = 1024 * 1024;

/** The client's consumer of committed records. */
export function createGroupConsumer(options: GroupConsumerOptions, listener: Draining & OutOfRangeListener): Consumer {
  const assigner = reportingAssigner(partitionGroupAssigner(options.partitionGroupSize ?? 1), listener);
  return options.kafka.consumer({
    groupId: options.groupId,
    partitionAssigners: [drainingAssigner(assigner, listener)],
    sessionTimeout: options.sessionTimeoutMs,
    rebalanceTimeout: 30_000,
    heartbeatInterval: Math.floor(options.sessionTimeoutMs / 6),
    minBytes: options.fetchBytesMin ?? 1,
    maxWaitTimeInMs: FETCH_WAIT_MS,
    maxBytesPerPartition: options.bytesPerPartitionMax ?? PARTITION_BYTES_MAX,
    maxBytes: 16 * 1024 * 1024,
    readUncommitted: false,
    allowAutoTopicCreation: false,
    metadataMaxAge: METADATA_MS_MAX,
    retry: CONSUMER_RETRY,
  });
}

/** What a fetch brought. The client keeps the offset it asked for, though its types do not say so. */
export function toFetched(batch: Batch, generation: number, { nextOffset, jumps }: Slot): Fetched {
  const fetchedOffset = Number((batch as unknown as { fetchedOffset: string }).fetchedOffset);
  return {
    records: batch.messages.map(toInRecord),
    fetchedOffset,
    lastOffset: Number(batch.messages.at(-1)?.offset ?? -1),
    endOffset: Number(batch.lastOffset()) + 1,
    lag: Math.max(0, Number(batch.highWatermark) - Number(batch.lastOffset()) - 1),
    bytes: batch.messages.reduce((sum, { value }) => sum + (value?.length ?? 0), 0),
    generation,
    jumps,
    discontinuous: fetchedOffset !== nextOffset,
  };
}
