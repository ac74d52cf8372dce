// Offsets: where topics begin and end, what a group has committed, and the ids by which a topic that was made anew is told.

import { setTimeout as sleep } from 'node:timers/promises';
import type { Admin, Kafka } from 'kafkajs';
import type { Logger } from '#infra/log/logger.ts';
import { type Decoder, openCluster, requestOf, textOf } from './client.ts';
import { nameOf, type TopicPartition } from './consumer/partition_state.ts';
import { internal } from './kafkajs_patches/client_patches.ts';
import { prefixOf } from './kafkajs_patches/namespace.ts';
import type { OffsetLog } from './offset_log.ts';

/** What a group has committed, as its coordinator, the offset log and this process know it. */
export type GroupOffsets = ReturnType<typeof createGroupOffsets>;

/** `isLost`: the group's coordinator says less, and is to be told again. */
interface Believed extends Committed {
  isLost?: true;
}

/**
 * The offsets of a group in a process that commits some of them. What was committed stands, whatever the coordinator says
 * later: it may answer by an early part of the offsets, or by none (decision 17). The committed offsets of a group that has
 * members only grow, and metadata without a change of the offset is written after the offset; a plan (`isPlan`) last of all.
 */
export function createGroupOffsets(
  admin: Admin,
  groupId: string,
  log: Pick<OffsetLog, 'of' | 'topicId'>,
  logger: Logger,
  isPlan: (metadata: string) => boolean = () => false,
) {
  const own = new Map<string, Committed & { topicId: string }>();

  /** This process's own does not count for a topic that was made anew. */
  function ownOf(at: TopicPartition): Committed | null {
    const found = own.get(nameOf(at));
    return found === undefined || found.topicId !== log.topicId(at.topic) ? null : found;
  }

  function isFurther(logged: Committed, said: Committed | null): boolean {
    if (said === null || said.offset !== logged.offset) return logged.offset > (said?.offset ?? -1);
    return isPlan(logged.metadata) && !isPlan(said.metadata);
  }

  return {
    passed(at: TopicPartition, { offset, metadata }: Committed): void {
      own.set(nameOf(at), { offset, metadata, topicId: log.topicId(at.topic) });
    },
    /** What this process has committed last of a partition; null where it has nothing. */
    ownOf,
    /**
     * The highest offset that was committed, or null if none ever was. What the coordinator does not say does not count if
     * the topic ends before it: brokers before 3.1 give no ids by which one that was made anew is told.
     */
    async of(at: TopicPartition): Promise<Believed | null> {
      const [said, logged] = await Promise.all([committed(admin, groupId, at), log.of(at)]);
      const mine = ownOf(at);
      let found = logged !== null && isFurther(logged, said) ? logged : said;
      if (mine !== null && isBehind(found, mine)) found = mine;
      if (found === null || found === said) return said;
      const { offset, metadata } = found;
      if (offset === said?.offset) return { offset, metadata };
      const ends = (await topicOffsets(admin, at.topic)).find(({ partition }) => partition === at.partition);
      if (offset > Number(ends?.high ?? 0)) return said;
      const facts = { ...at, said: said?.offset ?? null, offset, metadata };
      logger.error(facts, 'committed offset lost, resuming from the offset log');
      return { offset, metadata, isLost: true };
    },
  };
}

function isBehind(found: Committed | null, mine: Committed): boolean {
  if (found === null || found.offset !== mine.offset) return mine.offset > (found?.offset ?? -1);
  return found.metadata === '';
}

/** The group's committed offset; null where none was ever committed. */
export async function committedOffset(admin: Admin, groupId: string, at: TopicPartition): Promise<number | null> {
  const found = await committed(admin, groupId, at);
  return found === null ? null : found.offset;
}

/** The group's committed offset with its metadata; null where none was ever committed. */
export async function committed(admin: Admin, groupId: string, at: TopicPartition): Promise<Committed | null> {
  const [topic] = await admin.fetchOffsets({ groupId, topics: [at.topic] });
  const entry = topic?.partitions.find(({ partition }) => partition === at.partition);
  if (entry === undefined || Number(entry.offset) < 0) return null;
  return { offset: Number(entry.offset), metadata: entry.metadata ?? '' };
}

export interface Committed {
  offset: number;
  metadata: string;
}

/** The leader of a partition that was just made, or whose broker just started, is not available yet. */
const LEADERLESS = new Set(['NOT_LEADER_FOR_PARTITION', 'LEADER_NOT_AVAILABLE', 'REPLICA_NOT_AVAILABLE']);
const TRIES_MAX = 100;
const PAUSE_MS = 100;

/** Where a topic's partitions begin and end now. Waits up to 10 s for their leaders, which the client does not. */
export function topicOffsets(admin: Admin, topic: string): ReturnType<Admin['fetchTopicOffsets']> {
  return withLeaders(() => admin.fetchTopicOffsets(topic));
}

/** By partition the first offset stamped at a time (milliseconds since 1970 UTC) or later. Waits like topicOffsets. */
export function topicOffsetsAt(
  admin: Admin,
  topic: string,
  timeMs: number,
): ReturnType<Admin['fetchTopicOffsetsByTimestamp']> {
  return withLeaders(() => admin.fetchTopicOffsetsByTimestamp(topic, timeMs));
}

async function withLeaders<T>(ask: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await ask();
    } catch (error) {
      const { type } = error as { type?: unknown };
      if (typeof type !== 'string' || !LEADERLESS.has(type) || tries === TRIES_MAX) throw error;
      await sleep(PAUSE_MS);
    }
  }
}

/** Tells a topic from another one that was made under its name after it. */
export type TopicIds = Awaited<ReturnType<typeof openTopicIds>>;

const { createErrorFromCode, failure } = internal<{
  createErrorFromCode(code: number): Error;
  failure(code: number): boolean;
}>('protocol/error.js');

/** The first version that answers with ids where topics are asked for by name; the client itself speaks version 6. */
const METADATA = { key: 3, version: 12 };
const ID_BYTES = 16;

/** Asks over a connection of its own, by a request that the client (kafkajs 2.2.4) does not know. */
export async function openTopicIds(kafka: Kafka) {
  const cluster = await openCluster(kafka);
  return {
    /** The cluster's id of a topic, for good; empty where the brokers give none (before Kafka 3.1). */
    async of(topic: string): Promise<string> {
      await cluster.refreshMetadataIfNecessary();
      const broker = await cluster.findControllerBroker();
      if ((broker.versions[METADATA.key]?.maxVersion ?? 0) < METADATA.version) return '';
      return broker.connectionPool.send(requestOf('Metadata', METADATA, requestFor(prefixOf(kafka) + topic), readId));
    },
    close: (): Promise<void> => cluster.disconnect(),
  };
}

/** One topic by its name, made by nobody's asking, without rights, and the tagged fields. */
const requestFor = (topic: string): Buffer =>
  Buffer.concat([Buffer.of(2), Buffer.alloc(ID_BYTES), textOf(topic), Buffer.of(0, 0, 0, 0)]);

function readId(from: Decoder): string {
  from.readTaggedFields();
  from.readInt32(); // throttling
  for (let left = from.readUVarInt() - 1; left > 0; left--) {
    from.readInt32(); // broker
    from.readUVarIntString();
    from.readInt32(); // port
    from.readUVarIntString();
    from.readTaggedFields();
  }
  from.readUVarIntString(); // cluster
  from.readInt32(); // controller
  from.readUVarInt(); // topics: the one that was asked for
  const code = from.readInt16();
  if (failure(code)) throw createErrorFromCode(code);
  from.readUVarIntString();
  return from.buffer.subarray(from.offset, from.offset + ID_BYTES).toString('base64url');
}
