// The client's consumer of a group: how it is created, assigned partitions, run again after a crash, and ended when it stalls.

import type { Batch, Consumer, ConsumerRunConfig, Kafka, PartitionAssigner } from 'kafkajs';
import kafkajs from 'kafkajs';
import { StageFailedError } from '#infra/errors.ts';
import {
  type Draining,
  drainingAssigner,
  type OutOfRangeListener,
  reportingAssigner,
} from '../kafkajs_patches/group_patches.ts';
import { toInRecord } from '../record.ts';
import type { Fetched, Slot, TopicPartition } from './partition_state.ts';

interface GroupConsumerOptions {
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

/**
 * Crashes that end with the cluster's trouble. The client starts itself again after some of them; others it calls
 * final, such as a coordinator not found because the connection broke while it was asked for.
 */
const PASSING_NAMES = new Set([
  'KafkaJSGroupCoordinatorNotFound',
  'KafkaJSConnectionError',
  'KafkaJSConnectionClosedError',
  'KafkaJSBrokerNotFound',
  'KafkaJSRequestTimeoutError',
  'KafkaJSNumberOfRetriesExceeded',
]);

/** Before a consumer that crashed is run again. */
export const PAUSE_MS = 1_000;
/** Crashes one after the other, without a joining of the group between them, that are taken for passing. */
const CRASHES_MAX = 60;

/** Retries inside a running consumer: joining a group whose coordinator is only just starting takes seconds. */
export const CONSUMER_RETRY = { initialRetryTime: 50, retries: 12 };

/** Whether a crash is one that ends with the cluster's trouble, by its first cause. */
export function passes(error: Error): boolean {
  const { cause, retriable } = error as Error & { retriable?: unknown };
  if (PASSING_NAMES.has(error.name)) return true;
  return cause instanceof Error ? passes(cause) : retriable === true;
}

export interface ConsumerRun {
  stop(): Promise<void>;
}

/**
 * Runs a subscribed consumer, and runs it again after a crash that passes. `onFatal` is called for any other crash, and
 * when it has crashed too often without joining its group.
 */
export async function runConsumer(
  consumer: Consumer,
  config: ConsumerRunConfig,
  onFatal: (error: unknown) => void,
): Promise<ConsumerRun> {
  let crashes = 0;
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;

  consumer.on(consumer.events.GROUP_JOIN, () => {
    crashes = 0;
  });
  consumer.on(consumer.events.CRASH, ({ payload }) => {
    if (payload.restart || stopped) return;
    crashes++;
    if (!passes(payload.error) || crashes > CRASHES_MAX) onFatal(payload.error);
    else timer = setTimeout(() => void consumer.run(config).catch(onFatal), PAUSE_MS);
  });
  await consumer.run(config);
  return {
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await consumer.disconnect();
    },
  };
}

const TICK_MS = 5_000;
/** Two minutes: longer than the client's own timeouts and tries for one step of joining a group. */
const TICKS_MAX = 24;

/**
 * Ends a process whose consumer neither fetches nor sends heartbeats for two minutes; those it sends while `isHalted` do not
 * count, as nothing of what it fetches is taken then. The client has been seen to wait for ever while it joined a group again
 * after brokers had died one after the other. Time in which the process itself was stalled does not count, so ticks are
 * counted and not the clock. Answers how to stop the watch.
 */
export function watchForStall(
  consumer: Pick<Consumer, 'on' | 'events'>,
  onFatal: (error: unknown) => void,
  isHalted: () => boolean = () => false,
): () => void {
  let stalledTicks = 0;
  const heard = (): void => {
    if (!isHalted()) stalledTicks = 0;
  };
  consumer.on(consumer.events.FETCH, heard);
  consumer.on(consumer.events.HEARTBEAT, heard);
  consumer.on(consumer.events.GROUP_JOIN, heard);
  const timer = setInterval(() => {
    stalledTicks++;
    if (stalledTicks === TICKS_MAX) onFatal(new StageFailedError('the consumer of the group is stalled'));
  }, TICK_MS);
  return () => clearInterval(timer);
}

/**
 * Assigns partition groups round robin, each to one member: the partitions of a group commit under one transactional id, and
 * two members would fence each other. The name carries the size, so that the coordinator lets no member into a consumer group
 * whose partition groups have another size. For groups of one partition the client's own assigner does the same.
 */
function partitionGroupAssigner(size: number): PartitionAssigner {
  if (size === 1) return kafkajs.PartitionAssigners.roundRobin;
  return ({ cluster }) => {
    // A name on the wire: members of a consumer group must all offer the same.
    const name = `RoundRobinBundlesOf${size}`;
    const version = 0;
    return {
      name,
      version,
      async assign({ members, topics }) {
        const partitions = topics.flatMap((topic) =>
          cluster.findTopicPartitionMetadata(topic).map(({ partitionId }) => ({ topic, partition: partitionId })),
        );
        const assigned = assignPartitionGroups(
          members.map(({ memberId }) => memberId),
          partitions,
          size,
        );
        return [...assigned].map(([memberId, assignment]) => ({
          memberId,
          memberAssignment: kafkajs.AssignerProtocol.MemberAssignment.encode({
            version,
            assignment,
            userData: NO_DATA,
          }),
        }));
      },
      protocol: ({ topics }) => ({
        name,
        metadata: kafkajs.AssignerProtocol.MemberMetadata.encode({ version, topics, userData: NO_DATA }),
      }),
    };
  };
}

const NO_DATA = Buffer.alloc(0);

/**
 * Assigns partition groups, in the order of topics and partitions, round robin to members, in the order of their ids. Answers
 * each member's partitions by topic.
 */
export function assignPartitionGroups(
  members: readonly string[],
  partitions: readonly TopicPartition[],
  size: number,
): Map<string, Record<string, number[]>> {
  const sorted = [...members].sort();
  const ordered = [...partitions].sort((one, other) => one.partition - other.partition);
  const groups = Map.groupBy(ordered, ({ topic, partition }) => `${topic}/${partitionGroupOf(partition, size).first}`);
  const inOrder = [...groups.values()].sort(byTopicAndPartition);
  const assigned = new Map<string, Record<string, number[]>>();
  for (const [index, group] of inOrder.entries()) {
    const member = sorted[index % sorted.length] as string;
    const byTopic = assigned.get(member) ?? {};
    assigned.set(member, byTopic);
    for (const { topic, partition } of group) byTopic[topic] = [...(byTopic[topic] ?? []), partition];
  }
  return assigned;
}

function byTopicAndPartition([one]: readonly TopicPartition[], [other]: readonly TopicPartition[]): number {
  if (one === undefined || other === undefined) return 0;
  if (one.topic !== other.topic) return one.topic < other.topic ? -1 : 1;
  return one.partition - other.partition;
}

/** Partitions of a topic that one member of a consumer group has together, and commits in one transaction. */
interface PartitionGroup {
  first: number;
  last: number;
}

/** The group that a partition lies in: `size` partitions from a multiple of `size` on, whether the topic has all or not. */
export function partitionGroupOf(partition: number, size: number): PartitionGroup {
  const first = partition - (partition % size);
  return { first, last: first + size - 1 };
}

/** The groups of a topic with so many partitions, in order. */
export function partitionGroupsOf(partitions: number, size: number): PartitionGroup[] {
  return Array.from({ length: Math.ceil(partitions / size) }, (_, index) => partitionGroupOf(index * size, size));
}

/** One transactional id per consumer group, topic and partition group; that of a single partition ends with its number. */
export function transactionalId(groupId: string, { topic, partition }: TopicPartition, size: number): string {
  const { first, last } = partitionGroupOf(partition, size);
  return `${groupId}.${topic}.${first === last ? first : `${first}-${last}`}`;
}
