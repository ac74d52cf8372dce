import type { Kafka } from 'kafkajs';
import { recoveryOf } from '#infra/errors.ts';
import type { Logger } from '#infra/log/logger.ts';
import type { Codec } from '#infra/registry/codec.ts';
import { type KafkaSession, withAdmin } from './client.ts';
import { topicOffsets } from './offsets.ts';
import { type ReadingAlone, readTopic, readWithoutGroup } from './read_topic.ts';

export interface FollowOptions {
  kafka: Kafka;
  topic: string;
  groupPrefix: string;
  /** A record in the order of its partition; a null value is a tombstone. */
  onRecord(key: string, value: Buffer | null): Promise<void> | void;
  onFatal(error: unknown): void;
}

export interface Following extends ReadingAlone {
  /**
   * Whether everything written up to now has been handed over, except what is on its way. False while the reader is
   * interrupted, or if no broker has answered for some seconds.
   */
  isCurrent(): boolean;
}

/**
 * How long a fetch waits for records. Records are handed over at once; only a pause or a stop has to wait for such a fetch.
 */
const FETCH_WAIT_MS = 1_000;
const FETCH_BYTES_MAX = 10 * 1024 * 1024;
/** A reader that has had no answer of a broker for so long may lag. */
const SILENT_MS_MAX = 5_000;

/**
 * Reads a compacted topic from its beginning and follows it. Resolves when everything that was in it at the call has been
 * handed over. Each process reads all partitions. A record whose handling fails is handed over again; an unknown error
 * is fatal.
 */
export async function followTopic(options: FollowOptions): Promise<Following> {
  const { kafka, topic, onRecord, onFatal } = options;
  let pending = await endOffsets(kafka, topic);
  /** Crashes of the reader, and after how many of them it has caught up. */
  let crashes = 0;
  let caughtUp = 0;
  let fetchedMs = performance.now();
  const next = new Map<number, number>();
  const ready = Promise.withResolvers<void>();
  function fail(error: unknown): void {
    ready.reject(error);
    onFatal(error);
  }
  function passed(partition: number): void {
    const end = pending.get(partition);
    if (end !== undefined && (next.get(partition) ?? 0) >= end) pending.delete(partition);
    if (pending.size === 0) ready.resolve();
  }
  async function catchUp(): Promise<void> {
    const from = crashes;
    if (caughtUp === from) return;
    try {
      const ends = await endOffsets(kafka, topic);
      if (crashes !== from) return;
      pending = ends;
      caughtUp = from;
      for (const partition of [...pending.keys()]) passed(partition);
    } catch (error) {
      // After another crash the reader starts again, and catches up then.
      if (crashes === from) fail(error);
    }
  }
  const reading = await readWithoutGroup({
    kafka,
    topic,
    groupPrefix: `${options.groupPrefix}.table`,
    next,
    fetchWaitMs: FETCH_WAIT_MS,
    fetchBytesMax: FETCH_BYTES_MAX,
    concurrency: 1,
    async onRecords(records, partition) {
      for (const { key, value, offset } of records) {
        try {
          await onRecord(key?.toString('utf8') ?? '', value);
        } catch (error) {
          if (recoveryOf(error) === 'stop') fail(error);
          throw error;
        }
        next.set(partition, offset + 1);
      }
    },
    onPassed: passed,
    onJoined: () => void catchUp(),
    onCrashed() {
      crashes++;
    },
    onFetched() {
      fetchedMs = performance.now();
    },
    onFatal: fail,
  });
  passed(-1);
  await ready.promise;
  return {
    ...reading,
    isCurrent: () => caughtUp === crashes && pending.size === 0 && performance.now() - fetchedMs < SILENT_MS_MAX,
  };
}

interface FactOptions<Fact, Facts> {
  session: KafkaSession;
  topic: string;
  codec: Pick<Codec<Fact>, 'decode'>;
  logger: Logger;
  onFatal(error: unknown): void;
  /** What nothing is known in. */
  empty(): Facts;
  /** Takes over what a record says; null: what was under the key is gone. */
  apply(facts: Facts, key: string, fact: Fact | null): void;
  /** After a record of those that are followed. */
  onApplied?(facts: Facts, key: string): void;
}

type ReadFactOptions<Fact, Facts> = Omit<FactOptions<Fact, Facts>, 'onFatal' | 'onApplied'>;

/** What a compacted topic holds at this moment, to its very end. A record that cannot be read changes nothing and is logged. */
export async function readFacts<Fact, Facts>(options: ReadFactOptions<Fact, Facts>): Promise<Facts> {
  const facts = options.empty();
  await readTopic(options.session, options.topic, async ({ key, value }) => {
    await readFact(options, facts, key?.toString('utf8') ?? '', value);
  });
  return facts;
}

async function readFact<Fact, Facts>(
  { topic, codec, logger, apply }: ReadFactOptions<Fact, Facts>,
  facts: Facts,
  key: string,
  value: Buffer | null,
): Promise<boolean> {
  const decoded = value === null ? { ok: true as const, value: null } : await codec.decode(value);
  if (decoded.ok) apply(facts, key, decoded.value);
  else logger.error({ topic, key, reason: decoded.reason }, 'skipping invalid record');
  return decoded.ok;
}

/** Follows what a compacted topic says by its keys. A record that cannot be read changes nothing and is logged. */
export async function followFacts<Fact, Facts>(options: FactOptions<Fact, Facts>) {
  const { session, topic, onFatal, empty } = options;
  const all = empty();

  const { stop, isCurrent } = await followTopic({
    ...{ kafka: session.kafka, topic, groupPrefix: session.config.prefix, onFatal },
    async onRecord(key, value) {
      if (await readFact(options, all, key, value)) options.onApplied?.(all, key);
    },
  });
  return {
    /** Kept current. */
    all,
    /** What the topic holds at this moment, to its very end. */
    readNow: (): Promise<Facts> => readFacts(options),
    isCurrent,
    stop,
  };
}

/** Has one fact by each key. */
export function applyFact<Fact>(facts: Map<string, Fact>, key: string, fact: Fact | null): void {
  if (fact === null) facts.delete(key);
  else facts.set(key, fact);
}

/** The end of each partition that holds records. */
function endOffsets(kafka: Kafka, topic: string): Promise<Map<number, number>> {
  return withAdmin(kafka, async (admin) => {
    const offsets = await topicOffsets(admin, topic);
    const held = offsets.filter(({ low, high }) => Number(high) > Number(low));
    return new Map(held.map(({ partition, high }) => [partition, Number(high)]));
  });
}
