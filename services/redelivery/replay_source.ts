// The events that a replay reads: of a range of events.identified, or of dead letters.

import { setTimeout as sleep } from 'node:timers/promises';
import type { Warehouse } from '#infra/clickhouse/client.ts';
import type { KafkaSession } from '#infra/kafka/client.ts';
import { consume } from '#infra/kafka/consumer/consume.ts';
import type { Deferral, InBatch } from '#infra/kafka/consumer/consumption.ts';
import { topicOffsets } from '#infra/kafka/offsets.ts';
import type { InRecord } from '#infra/kafka/record.ts';
import { deadTopic, TOPICS } from '#infra/kafka/topics.ts';
import type { Logger } from '#infra/log/logger.ts';
import { hasPassed, holdRecords, isCaughtUp, mayHoldMore, partitionFacts } from '#infra/redelivery/replay_topics.ts';
import { type Codec, createCodec, createEventBatchReader, type EventBatchReader } from '#infra/registry/codec.ts';
import type { Registry } from '#infra/registry/schema_registry.ts';
import { kindOfDestination } from '#pipelines/delivery/destination_id.ts';
import { replayTopic } from '#pipelines/delivery/retry_topics.ts';
import type { SuppressionList } from '#pipelines/erasure/suppression.ts';
import { createPassed, gapsOf, type Range, rangeOf } from '#pipelines/redelivery/replay.ts';
import type { SettingsTable } from '#pipelines/settings/table.ts';
import type { EncodedEvent } from '#schemas/event_batch.ts';
import type { DeadLetter, DeliveryJobRecord, ReplayPartition, ReplayProgress } from '#schemas/records.ts';
import type { Replay } from '#schemas/setting.ts';

export interface ReplayContext {
  session: KafkaSession;
  registry: Registry;
  warehouse: Warehouse;
  table: SettingsTable;
  /** Whose events are left out, as if they were not there. */
  suppressed: Pick<SuppressionList, 'kept'>;
  progress: Codec<ReplayProgress>;
  /** Writes the jobs that delivery reads, whatever the kind of destination: they share a schema, not an id. */
  jobsOf(kind: string): Promise<Codec<DeliveryJobRecord>>;
  /** Schema id of an EventBatch on events.identified. */
  eventSchemaId: number;
  logger: Logger;
  nowMs(): number;
}

/** Events of one record of the topic that a replay reads. */
interface SourceRecord {
  views: EncodedEvent[];
  /** Whether the record cannot be read, or was cut when it died. */
  unreadable: boolean;
  /** When they died, of a dead letter; milliseconds since 1970 UTC. */
  diedAtMs?: number;
}

/** What a replay reads, from one end of its range to the other. */
export interface Source {
  topic: string;
  /** Whether delivery reads the topic too: a replay stops where delivery has come. */
  sharedWithDelivery: boolean;
  /** Whether an event may stand there more than once: reading begins at the range's first offset, whatever was sent. */
  repeats: boolean;
  read(record: InRecord): Promise<SourceRecord>;
}

/** The events themselves, or the dead letters of the destination. */
export async function openSource(registry: Registry, replay: Replay): Promise<Source> {
  const reader = await createEventBatchReader(registry, TOPICS.identified);
  if (replay.source === 'dead_letters') return deadLetters(registry, reader, replay.destination);
  return {
    topic: TOPICS.identified,
    sharedWithDelivery: true,
    repeats: false,
    read: ({ value }) => readEvents(reader, value),
  };
}

async function readEvents(reader: EventBatchReader, value: Buffer | null): Promise<SourceRecord> {
  const read = await reader.read(value);
  return read.ok ? { views: read.value, unreadable: false } : { views: [], unreadable: true };
}

async function deadLetters(registry: Registry, reader: EventBatchReader, destination: string): Promise<Source> {
  const topic = deadTopic('delivery');
  const codec = await createCodec<DeadLetter>(registry, topic, 'dead_letter');
  return {
    topic,
    sharedWithDelivery: false,
    repeats: true,
    async read({ value }) {
      const decoded = await codec.decode(value);
      if (!decoded.ok) return { views: [], unreadable: true };
      const deadLetter = decoded.value;
      if (deadLetter.destination !== destination) return { views: [], unreadable: false };
      const isCut = deadLetter.bytes.length < deadLetter.bytes_total;
      if (isCut) return { views: [], unreadable: true };
      return { ...(await readEvents(reader, deadLetter.bytes)), diedAtMs: deadLetter.died_at };
    },
  };
}

export interface Slice {
  partition: number;
  records: InRecord[];
  /** What comes next, as far as it was fetched by now. */
  ahead: readonly InRecord[];
}

interface ReadingOptions {
  replayId: string;
  topic: string;
  /** The partitions to be read as they are by now. */
  partitions(): readonly ReplayPartition[];
  /** Whether each partition is read from its first offset, though more of it is done. */
  fromFirst: boolean;
  /** Of a slice; one is never more than what the consumer takes at once. */
  recordsMax: number;
  /** Of a slice and what is ahead of it. */
  aheadMax: number;
  /** Takes a slice, or answers when to come again with it, in milliseconds since 1970 UTC; null where it is taken. */
  take(slice: Slice): Promise<number | null>;
  stopped(): boolean;
}

const READ_POLL_MS = 100;
/** A partition that is done rests for so long at a time. */
const REST_MS = 3_600_000;

/**
 * Reads a range of a topic, slice by slice, until all of it is taken or `stopped` says so; answers whether all is taken.
 * A slice may come again after an error; a partition's slices come one after the other. Throws what cannot be healed.
 */
export async function readRange(
  { session, logger, nowMs }: Pick<ReplayContext, 'session' | 'logger' | 'nowMs'>,
  options: ReadingOptions,
): Promise<boolean> {
  const groupId = session.groupOf(`replay.${options.replayId}`);
  const failed: { error: unknown }[] = [];
  /** Behind what was taken in this reading, by partition. */
  const taken = new Map<number, number>();
  const passed = createPassed();
  // What is deleted by now never comes, also where nothing else does.
  for (const { partition, low } of await topicOffsets(session.admin, options.topic))
    passed.until(partition, Number(low));
  const partOf = (partition: number): ReplayPartition | undefined =>
    options.partitions().find((one) => one.partition === partition);

  async function process(batch: InBatch): Promise<Deferral | undefined> {
    const part = partOf(batch.partition);
    const rest = (offset: number): Deferral => ({ offset, notBeforeMs: nowMs() + REST_MS });
    if (part === undefined) return rest(batch.records[0]?.offset ?? 0);
    const wanted = batch.records.filter(({ offset }) => offset < part.end);
    for (let at = 0; at < wanted.length; at += options.recordsMax) {
      const records = wanted.slice(at, at + options.recordsMax);
      const offset = records[0]?.offset ?? part.next;
      if (options.stopped()) return rest(offset);
      const ahead = wanted.slice(at + options.recordsMax, at + options.aheadMax);
      const notBeforeMs = await options.take({ partition: batch.partition, records, ahead });
      if (notBeforeMs !== null) return { offset, notBeforeMs };
      taken.set(batch.partition, (records.at(-1)?.offset ?? -1) + 1);
    }
    const isWhole = wanted.length === batch.records.length;
    passed.until(batch.partition, isWhole ? batch.endOffset : part.end);
    return isWhole ? undefined : rest(part.end);
  }

  const consumption = await consume({
    kafka: session.kafka,
    groupId,
    topics: [options.topic],
    sessionTimeoutMs: session.config.sessionTimeoutMs,
    concurrency: session.config.eventPartitions,
    handlers: {
      acquire: async ({ partition }) => {
        const part = partOf(partition);
        if (part === undefined) return null;
        return taken.get(partition) ?? (options.fromFirst ? part.first : part.next);
      },
      process,
    },
    logger,
    onEmpty: ({ partition }, first, end) => passed.empty(partition, first, end),
    onFatal: (error) => failed.push({ error }),
  });
  const isRead = ({ partition, next, end }: ReplayPartition): boolean => passed.reaches(partition, next) >= end;
  try {
    for (;;) {
      const [failure] = failed;
      if (failure !== undefined) throw failure.error;
      if (options.partitions().every(isRead)) return true;
      if (options.stopped()) return false;
      await sleep(READ_POLL_MS);
    }
  } finally {
    await consumption.stop();
    // A group without members is of no use to anybody; the broker forgets it by itself where this fails.
    await session.admin
      .deleteGroups([groupId])
      .catch((error: unknown) => logger.info({ err: error }, 'consumer group could not be deleted'));
  }
}

const OFFSETS_POLL_MS = 500;
/** How long delivery may take to come to the end of the range by itself, before the rest is left to it. */
const REACH_MS_MAX = 30_000;

/**
 * Decides what a replay reads, once everything is known of it: delivery has come as far as it does by itself, what an
 * earlier replay wrote is taken, and every outcome up to now is in ClickHouse. Null where it is to stop before. `waitsFor` is
 * called with a stable code when it begins to wait for something else.
 */
export async function planRange(
  context: ReplayContext,
  replay: Replay,
  source: Source,
  stopped: () => boolean,
  waitsFor: (what: string) => Promise<void>,
): Promise<Range | null> {
  const { session, nowMs } = context;
  const kind = kindOfDestination(replay.destination);
  const delivery = session.groupOf(`delivery.${kind}`);
  const until = async (what: string, isSo: () => Promise<boolean>, untilMs = Number.POSITIVE_INFINITY) => {
    for (let waits = false; !(await isSo()) && nowMs() < untilMs && !stopped(); ) {
      if (!waits) await waitsFor(what);
      waits = true;
      await sleep(OFFSETS_POLL_MS);
    }
  };
  const group = source.sharedWithDelivery ? delivery : null;
  const facts = () => partitionFacts(session, source.topic, [replay.from, replay.to], group);
  const hasReached = async (): Promise<boolean> => {
    const gaps = gapsOf(await facts());
    return !gaps.some(mayHoldMore) && !(await holdRecords(session, source.topic, gaps));
  };
  await until('delivery', hasReached, nowMs() + REACH_MS_MAX);
  await until('earlier_replay', () => isCaughtUp(session, delivery, replayTopic(kind)));
  const reached = await hasReached();
  const found = rangeOf(await facts());
  const range = reached ? { ...found, notReached: 0 } : found;
  if (!replay.force) {
    // More come all the time: those that stand there now tell what was sent by now.
    const outcomes = await topicOffsets(session.admin, TOPICS.outcomes);
    const warehouse = session.groupOf('warehouse');
    await until('warehouse', () => hasPassed(session, warehouse, TOPICS.outcomes, outcomes));
  }
  return stopped() ? null : range;
}
