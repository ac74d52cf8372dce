import { setTimeout as sleep } from 'node:timers/promises';
import type { Consumer, EachBatchPayload, Kafka } from 'kafkajs';
import type { Logger } from '#infra/log/logger.ts';
import { recoveryOf, StageFailedError } from './errors.ts';
import { createMutex, type Mutex } from './mutex.ts';
import { type InRecord, toInRecord } from './record.ts';
import { CONSUMER_RETRY, runConsumer } from './run_consumer.ts';

export interface TopicPartition {
  topic: string;
  partition: number;
}

/** What one fetch brought of one partition. */
export interface InBatch extends TopicPartition {
  records: InRecord[];
  /** Records of the partition behind this batch; the marker that ends a transaction is none. */
  lag: number;
  /** False once the partition may belong to somebody else: nothing may be committed then. */
  owned(): boolean;
}

/** Records from `offset` on are left for later, not before a time (milliseconds since 1970 UTC). */
export interface Leave {
  offset: number;
  notBeforeMs: number;
}

export interface PartitionHandlers {
  /**
   * Called before the first batch of a partition after every assignment, when no earlier batch of it is in flight.
   * Answers the offset to go on from, or null where nothing was ever committed.
   */
  acquire(partition: TopicPartition): Promise<number | null>;
  /** Takes a batch. When it resolves the next one comes; commit is the handler's own matter. */
  process(batch: InBatch): Promise<Leave | undefined>;
}

export interface ConsumeOptions {
  kafka: Kafka;
  groupId: string;
  topics: readonly string[];
  sessionTimeoutMs: number;
  /** Partitions worked on side by side. */
  concurrency: number;
  bytesPerPartitionMax?: number;
  handlers: PartitionHandlers;
  logger: Logger;
  /** Called once when the process must stop. */
  onFatal(error: unknown): void;
}

export interface Consumption {
  /**
   * Runs a task between two batches of an acquired partition, with the same care for its errors. Does nothing where
   * the partition is not ours.
   */
  between(partition: TopicPartition, task: () => Promise<void>): Promise<void>;
  /** Commits an offset with metadata under the group's present generation. */
  commit(partition: TopicPartition, offset: number, metadata: string): Promise<void>;
  assigned(): TopicPartition[];
  stop(): Promise<void>;
}

const FETCH_WAIT_MS = 100;
const FAILURES_MAX = 12;
const BACKOFF_MS = 50;
const BACKOFF_MS_MAX = 2_000;

interface Slot {
  mutex: Mutex;
  /** Generation in which the partition was acquired; -1: not. */
  generation: number;
  /** Offset of the newest fetch of the partition. */
  fetchedOffset: number;
  failures: number;
}

/** Reads topics as a member of a group, handing each partition's batches to the handlers one after the other. */
export async function consume(options: ConsumeOptions): Promise<Consumption> {
  const consumer = createConsumer(options);
  const slots = new Map<string, Slot>();
  const timers = new Set<NodeJS.Timeout>();
  let generation = 0;
  let assignment: TopicPartition[] = [];

  consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
    generation++;
    assignment = Object.entries(payload.memberAssignment).flatMap(([topic, partitions]) =>
      partitions.map((partition) => ({ topic, partition })),
    );
    options.logger.info({ group: options.groupId, partitions: assignment.length }, 'joined the group');
  });
  consumer.on(consumer.events.REBALANCING, () => {
    generation++;
  });

  function slotOf({ topic, partition }: TopicPartition): Slot {
    const name = `${topic}/${partition}`;
    let slot = slots.get(name);
    if (slot === undefined) {
      slot = { mutex: createMutex(), generation: -1, fetchedOffset: 0, failures: 0 };
      slots.set(name, slot);
    }
    return slot;
  }

  async function eachBatch(payload: EachBatchPayload): Promise<void> {
    const taken = generation;
    const slot = slotOf(payload.batch);
    const beat = setInterval(() => {
      // An error here comes again from the client's own next heartbeat, which handles it.
      payload.heartbeat().catch(() => undefined);
    }, options.sessionTimeoutMs / 6);
    try {
      await slot.mutex.run(() => take(payload, slot, taken));
    } finally {
      clearInterval(beat);
    }
  }

  async function take(payload: EachBatchPayload, slot: Slot, taken: number): Promise<void> {
    const owned = (): boolean => taken === generation;
    if (!owned() || !payload.isRunning() || payload.isStale()) return;
    const { topic, partition } = payload.batch;
    const fetchedOffset = Number((payload.batch as unknown as { fetchedOffset: string }).fetchedOffset);
    slot.fetchedOffset = fetchedOffset;
    try {
      if (slot.generation !== taken) {
        const start = await options.handlers.acquire({ topic, partition });
        if (!owned()) return;
        slot.generation = taken;
        if (start !== null && start !== fetchedOffset) {
          consumer.seek({ topic, partition, offset: String(start) });
          return;
        }
      }
      const leave = await options.handlers.process(toInBatch(payload, owned));
      slot.failures = 0;
      if (!owned()) return;
      if (leave === undefined) payload.resolveOffset(String(payload.batch.lastOffset()));
      else goOnLater({ topic, partition }, leave);
    } catch (error) {
      slot.generation = -1;
      if (!owned()) {
        options.logger.info({ topic, partition, err: error }, 'partition was taken away during a batch');
        return;
      }
      await recover(error, slot, { topic, partition });
    }
  }

  async function between(at: TopicPartition, task: () => Promise<void>): Promise<void> {
    const slot = slotOf(at);
    const taken = generation;
    await slot.mutex.run(async () => {
      if (taken !== generation || slot.generation !== taken) return;
      try {
        await task();
      } catch (error) {
        slot.generation = -1;
        if (taken !== generation || recoveryOf(error) === 'rejoin') return;
        await recover(error, slot, at);
      }
    });
  }

  /** The seek makes the partition be fetched again, and what comes is acquired anew: from the committed offset. */
  async function recover(error: unknown, slot: Slot, at: TopicPartition): Promise<void> {
    const recovery = recoveryOf(error);
    if (recovery === 'rejoin') throw error;
    if (recovery !== 'wait' || slot.failures < FAILURES_MAX) slot.failures++;
    if (recovery === 'stop' || slot.failures > FAILURES_MAX) {
      options.onFatal(recovery === 'stop' ? error : new StageFailedError('retries used up', { cause: error }));
      return;
    }
    options.logger.warn(
      { ...at, failures: slot.failures, err: error },
      'batch failed, trying again from the committed offset',
    );
    consumer.seek({ ...at, offset: String(slot.fetchedOffset) });
    await sleep(Math.min(BACKOFF_MS * 2 ** slot.failures, BACKOFF_MS_MAX));
  }

  function goOnLater({ topic, partition }: TopicPartition, { offset, notBeforeMs }: Leave): void {
    consumer.seek({ topic, partition, offset: String(offset) });
    consumer.pause([{ topic, partitions: [partition] }]);
    const timer = setTimeout(
      () => {
        timers.delete(timer);
        consumer.resume([{ topic, partitions: [partition] }]);
      },
      Math.max(1, notBeforeMs - Date.now()),
    );
    timers.add(timer);
  }

  await consumer.connect();
  await consumer.subscribe({ topics: [...options.topics], fromBeginning: true });
  const config = {
    autoCommit: false,
    eachBatchAutoResolve: false,
    partitionsConsumedConcurrently: options.concurrency,
    eachBatch,
  };
  const run = await runConsumer(consumer, config, (error) => options.onFatal(error));
  return {
    between,
    commit: ({ topic, partition }, offset, metadata) =>
      consumer.commitOffsets([{ topic, partition, offset: String(offset), metadata }]),
    assigned: () => assignment,
    async stop() {
      for (const timer of timers) clearTimeout(timer);
      await run.stop();
    },
  };
}

function createConsumer(options: ConsumeOptions): Consumer {
  return options.kafka.consumer({
    groupId: options.groupId,
    sessionTimeout: options.sessionTimeoutMs,
    rebalanceTimeout: 30_000,
    heartbeatInterval: Math.floor(options.sessionTimeoutMs / 6),
    maxWaitTimeInMs: FETCH_WAIT_MS,
    maxBytesPerPartition: options.bytesPerPartitionMax ?? 1024 * 1024,
    maxBytes: 16 * 1024 * 1024,
    readUncommitted: false,
    allowAutoTopicCreation: false,
    retry: CONSUMER_RETRY,
  });
}

function toInBatch({ batch }: EachBatchPayload, owned: () => boolean): InBatch {
  return {
    topic: batch.topic,
    partition: batch.partition,
    lag: Math.max(0, Number(batch.highWatermark) - Number(batch.lastOffset()) - 1),
    records: batch.messages.map(toInRecord),
    owned,
  };
}
