// The client's consumer of a group: how it is created, assigned partitions, run again after a crash, and ended when it stalls.

import type { Consumer, ConsumerRunConfig, PartitionAssigner, TopicPartitionOffsetAndMetadata } from 'kafkajs';
import kafkajs from 'kafkajs';
import { PartitionLostError, StageFailedError } from '#infra/errors.ts';
import { drainingAssigner, type GroupListener } from '../kafkajs_patches/group_patches.ts';
import type { ConsumeOptions } from './consumption.ts';
import type { TopicPartition } from './partition_state.ts';

const FETCH_WAIT_MS = 100;
/** Partitions that were added to a topic are read after this long: the client looks for them when it renews its metadata. */
const METADATA_MS_MAX = 10_000;
/** Bytes that one fetch brings of a partition at the most, unless one record is larger. */
const PARTITION_BYTES_MAX = 1024 * 1024;

export function createGroupConsumer(options: Omit<ConsumeOptions, 'handlers'>, listener: GroupListener): Consumer {
  const assigner = partitionGroupAssigner(options.partitionGroupSize ?? 1);
  return options.kafka.consumer({
    groupId: options.groupId,
    partitionAssigners: [drainingAssigner(assigner, listener)],
    sessionTimeout: options.sessionTimeoutMs,
    rebalanceTimeout: 30_000,
    heartbeatInterval: Math.floor(options.sessionTimeoutMs / 6),
    minBytes: options.fetchBytesMin ?? 1,
    maxWaitTimeInMs: options.fetchWaitMs ?? FETCH_WAIT_MS,
    maxBytesPerPartition: options.bytesPerPartitionMax ?? PARTITION_BYTES_MAX,
    maxBytes: 16 * 1024 * 1024,
    readUncommitted: false,
    allowAutoTopicCreation: false,
    metadataMaxAge: METADATA_MS_MAX,
    retry: CONSUMER_RETRY,
  });
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

/**
 * Runs a subscribed consumer, and runs it again after a crash that passes. `onFatal` is called for any other crash, and
 * when it has crashed too often without joining its group. Resolves to what ends it.
 */
export async function runConsumer(
  consumer: Consumer,
  config: ConsumerRunConfig,
  onFatal: (error: unknown) => void,
): Promise<() => Promise<void>> {
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
  return async () => {
    stopped = true;
    clearTimeout(timer);
    await consumer.disconnect();
  };
}

export type Committer = ReturnType<typeof createCommitter>;

/**
 * Commits offsets of a running consumer. The client answers a commit like one that was made when its consumer has
 * crashed, or crashes meanwhile, and writes nothing (Runner.commitOffsets, kafkajs 2.2.4); only its event says that one
 * was made.
 */
export function createCommitter(consumer: Pick<Consumer, 'on' | 'events' | 'commitOffsets'>) {
  /** Whether each commit under way was made. No offset of a partition is committed twice at a time. */
  const waiting = new Map<string, boolean>();
  consumer.on(consumer.events.COMMIT_OFFSETS, ({ payload }) => {
    const key = commitKey(
      payload.topics.flatMap(({ topic, partitions }) =>
        partitions.map(({ partition, offset }) => ({ topic, partition, offset })),
      ),
    );
    if (waiting.has(key)) waiting.set(key, true);
  });
  return {
    /** Resolves when the coordinator has taken the offsets; throws PartitionLostError where it may not have. */
    async commit(offsets: readonly Required<TopicPartitionOffsetAndMetadata>[]): Promise<void> {
      const key = commitKey(offsets);
      waiting.set(key, false);
      try {
        await consumer.commitOffsets([...offsets]);
        if (waiting.get(key) !== true) throw new PartitionLostError('the commit was not made');
      } finally {
        waiting.delete(key);
      }
    },
    underWay: (): number => waiting.size,
  };
}

function commitKey(offsets: readonly (TopicPartition & { offset: { toString(): string } })[]): string {
  return offsets
    .map(({ topic, partition, offset }) => `${topic}/${partition}/${offset.toString()}`)
    .toSorted()
    .join(' ');
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
  // A name on the wire: members of a consumer group must all offer the same.
  const name = `RoundRobinBundlesOf${size}`;
  const [version, userData] = [0, Buffer.alloc(0)];
  const { MemberAssignment, MemberMetadata } = kafkajs.AssignerProtocol;
  return ({ cluster }) => ({
    name,
    version,
    async assign({ members, topics }) {
      const ids = members.map(({ memberId }) => memberId);
      const partitions = topics.flatMap((topic) =>
        cluster.findTopicPartitionMetadata(topic).map(({ partitionId }) => ({ topic, partition: partitionId })),
      );
      return [...assignPartitionGroups(ids, partitions, size)].map(([memberId, assignment]) => ({
        memberId,
        memberAssignment: MemberAssignment.encode({ version, assignment, userData }),
      }));
    },
    protocol: ({ topics }) => ({ name, metadata: MemberMetadata.encode({ version, topics, userData }) }),
  });
}

/**
 * Assigns partition groups, in the order of topics and partitions, round robin to members, in the order of their ids. Answers
 * each member's partitions by topic.
 */
export function assignPartitionGroups(
  members: readonly string[],
  partitions: readonly TopicPartition[],
  size: number,
): Map<string, Record<string, number[]>> {
  const sorted = members.toSorted();
  const ordered = partitions.toSorted((one, other) => {
    if (one.topic !== other.topic) return one.topic < other.topic ? -1 : 1;
    return one.partition - other.partition;
  });
  const groups = Map.groupBy(ordered, ({ topic, partition }) => `${topic}/${partitionGroupOf(partition, size).first}`);
  const assigned = new Map<string, Record<string, number[]>>();
  for (const [index, group] of [...groups.values()].entries()) {
    const member = sorted[index % sorted.length] as string;
    const byTopic = assigned.get(member) ?? {};
    assigned.set(member, byTopic);
    for (const { topic, partition } of group) byTopic[topic] = [...(byTopic[topic] ?? []), partition];
  }
  return assigned;
}

/** Partitions of a topic that one member of a consumer group has together, and commits in one transaction. */
type PartitionGroup = { first: number; last: number };

/** The group that a partition lies in: `size` partitions from a multiple of `size` on, whether the topic has all or not. */
export function partitionGroupOf(partition: number, size: number): PartitionGroup {
  const first = partition - (partition % size);
  return { first, last: first + size - 1 };
}

export function partitionGroupsOf(partitions: number, size: number): PartitionGroup[] {
  return Array.from({ length: Math.ceil(partitions / size) }, (_, index) => partitionGroupOf(index * size, size));
}

/** One transactional id per consumer group, topic and partition group; that of a single partition ends with its number. */
export function transactionalId(groupId: string, { topic, partition }: TopicPartition, size: number): string {
  const { first, last } = partitionGroupOf(partition, size);
  return `${groupId}.${topic}.${first === last ? first : `${first}-${last}`}`;
}
