// Progress of replays, offsets of delivery topics, and the jobs that are written to them.

import { setTimeout as sleep } from 'node:timers/promises';
import type { KafkaSession } from '#infra/kafka/client.ts';
import { applyFact, followFacts } from '#infra/kafka/follow_topic.ts';
import { topicOffsets, topicOffsetsAt } from '#infra/kafka/offsets.ts';
import type { PartitionRecords } from '#infra/kafka/producers.ts';
import { readTopic } from '#infra/kafka/read_topic.ts';
import { TOPICS } from '#infra/kafka/topics.ts';
import type { Logger } from '#infra/log/logger.ts';
import { type Codec, createCodec } from '#infra/registry/codec.ts';
import type { Registry } from '#infra/registry/schema_registry.ts';
import { kindOfDestination } from '#pipelines/delivery/destination_id.ts';
import { fieldsOfAim, replayTopic } from '#pipelines/delivery/retry_topics.ts';
import { cutJobs, type PartitionFacts } from '#pipelines/redelivery/replay.ts';
import { createBatchWriter, type EncodedEvent } from '#schemas/event_batch.ts';
import type { DeliveryJobRecord, ReplayPartition, ReplayProgress } from '#schemas/records.ts';
import { type CarriedTrace, type TraceIndex, traceHeaders } from '#schemas/trace_context.ts';
import { partitionOf } from '#schemas/wire.ts';

export type FollowedReplays = Awaited<ReturnType<typeof followReplays>>;

/** How far each replay is, kept current from delivery.replays. */
export async function followReplays(
  session: KafkaSession,
  registry: Registry,
  logger: Logger,
  onFatal: (error: unknown) => void,
) {
  const codec = await createCodec<ReplayProgress>(registry, TOPICS.replays, 'replay_progress', 'left_out');
  const { all, readNow, stop } = await followFacts<ReplayProgress, Map<string, ReplayProgress>>({
    ...{ session, topic: TOPICS.replays, codec, logger, onFatal },
    empty: () => new Map(),
    apply: applyFact,
  });
  return {
    /** By replay id; kept current. */
    states: all as ReadonlyMap<string, ReplayProgress>,
    codec,
    /** What the topic holds at this moment, to its very end, by replay id. */
    readAllNow: readNow,
    /** What the topic holds at this moment of one replay. */
    readNow: async (replayId: string): Promise<ReplayProgress | undefined> => (await readNow()).get(replayId),
    stop,
  };
}

/** More than so many offsets in a row are not all transaction markers. */
const MARKERS_MAX = 1_000;
export const mayHoldMore = ({ first, end }: ReplayPartition): boolean => end - first > MARKERS_MAX;
const POLL_MS = 200;

/** What a group reads next of each partition; partitions of which it never committed are left out. */
async function committedOf({ admin }: KafkaSession, groupId: string, topic: string): Promise<Map<number, number>> {
  const [found] = await admin.fetchOffsets({ groupId, topics: [topic] });
  const known = (found?.partitions ?? []).filter(({ offset }) => Number(offset) >= 0);
  return new Map(known.map(({ partition, offset }) => [partition, Number(offset)]));
}

/**
 * The partitions of a topic, what of them was appended from one time to another (milliseconds since 1970 UTC, the end
 * exclusive), and how far a group has come; null where no group is asked about.
 */
export async function partitionFacts(
  session: KafkaSession,
  topic: string,
  [fromMs, toMs]: readonly [number, number],
  groupId: string | null,
): Promise<PartitionFacts[]> {
  const { admin } = session;
  // How far the group has come is read first: what it has done by then is under way to the ledger before all else.
  const reached = groupId === null ? null : await committedOf(session, groupId, topic);
  const ends = await topicOffsets(admin, topic);
  const [from, to] = await Promise.all([offsetsAt(session, topic, fromMs), offsetsAt(session, topic, toMs)]);
  return ends.map(({ partition, low, high }) => ({
    partition,
    low: Number(low),
    high: Number(high),
    from: from.get(partition) ?? Number(high),
    to: to.get(partition) ?? Number(high),
    reached: reached === null ? null : (reached.get(partition) ?? Number(low)),
  }));
}

async function offsetsAt({ admin }: KafkaSession, topic: string, timeMs: number): Promise<Map<number, number>> {
  const found = await topicOffsetsAt(admin, topic, timeMs);
  return new Map(found.flatMap(({ partition, offset }) => (Number(offset) < 0 ? [] : [[partition, Number(offset)]])));
}

/** Offsets behind what a group has done with a topic; transaction markers count too. */
export async function remainingOffsets(session: KafkaSession, groupId: string, topic: string): Promise<number> {
  const left = await leftOf(session, groupId, topic);
  return left.reduce((sum, { first, end }) => sum + end - first, 0);
}

/** Whether a group has done all that stands on a topic now. */
export async function isCaughtUp(session: KafkaSession, groupId: string, topic: string): Promise<boolean> {
  const left = (await leftOf(session, groupId, topic)).filter(({ first, end }) => end - first > 1);
  return !left.some(mayHoldMore) && !(await holdRecords(session, topic, left));
}

/**
 * Whether a group does what stands on a topic now before a time (milliseconds since 1970 UTC). What comes meanwhile is not
 * waited for.
 */
export async function hasReached(
  session: KafkaSession,
  groupId: string,
  topic: string,
  untilMs: number,
  nowMs: () => number,
): Promise<boolean> {
  const ends = await topicOffsets(session.admin, topic);
  for (;;) {
    if (await hasPassed(session, groupId, topic, ends)) return true;
    if (nowMs() >= untilMs) return false;
    await sleep(POLL_MS);
  }
}

/** The ends of the partitions of a topic at one moment. */
export type TopicEnds = Awaited<ReturnType<typeof topicOffsets>>;

/** Whether a group has done all that stands before the ends of a topic. */
export async function hasPassed(
  session: KafkaSession,
  groupId: string,
  topic: string,
  ends: TopicEnds,
): Promise<boolean> {
  const left = (await leftOf(session, groupId, topic, ends)).filter(({ first, end }) => first < end);
  return !left.some(mayHoldMore) && !(await holdRecords(session, topic, left));
}

/** Whether ranges of a topic hold any record, not only transaction markers. */
export async function holdRecords(
  session: KafkaSession,
  topic: string,
  ranges: readonly ReplayPartition[],
): Promise<boolean> {
  if (ranges.length === 0) return false;
  const limits = new Map(ranges.map(({ partition, end }) => [partition, end]));
  let found = false;
  await readTopic(
    session,
    topic,
    ({ offset }, partition) => {
      found ||= offset < (limits.get(partition) ?? 0);
    },
    new Map(ranges.map(({ partition, first }) => [partition, first])),
  );
  return found;
}

/** What a group has yet to do of the partitions of a topic, up to their ends. */
async function leftOf(
  session: KafkaSession,
  groupId: string,
  topic: string,
  known?: TopicEnds,
): Promise<ReplayPartition[]> {
  const ends = known ?? (await topicOffsets(session.admin, topic));
  const reached = await committedOf(session, groupId, topic);
  return ends.map(({ partition, low, high }) => {
    const first = Math.max(Number(low), reached.get(partition) ?? 0);
    return { partition, first, next: first, end: Number(high) };
  });
}

/**
 * What a replay writes for a destination's delivery: the events as first attempts, due at once.
 *
 * @param askedAtMs When somebody asked for it: a destination that is made later is another one.
 * @param traces Those that the records they were read from name.
 */
export function jobRecords(
  { destination, askedAtMs }: { destination: string; askedAtMs: number },
  chosen: readonly EncodedEvent[],
  codec: Codec<DeliveryJobRecord>,
  eventSchemaId: number,
  partitions: number,
  traces?: TraceIndex<CarriedTrace>,
): PartitionRecords[] {
  const aim = fieldsOfAim({ destination, dueAtMs: 0, waitsSinceMs: askedAtMs });
  return cutJobs(chosen).map((views) => {
    const siteId = views[0]?.siteId ?? '';
    const writer = createBatchWriter(eventSchemaId);
    for (const { coordinate, personBytes, eventBytes } of views) writer.add(coordinate, personBytes, eventBytes);
    const facts = { site_id: siteId, attempt: 1, first_attempted_at: 0, reason: 'replay', ...aim };
    const value = codec.encode({ ...facts, batch: writer.finish() });
    const found = views.map(({ coordinate }) => traces?.of(coordinate)).filter((trace) => trace !== undefined);
    const headers = traceHeaders(new Set(found));
    const record = { key: null, value, ...(headers && { headers }) };
    return [replayTopic(kindOfDestination(destination)), partitionOf(siteId, partitions), [record]];
  });
}
