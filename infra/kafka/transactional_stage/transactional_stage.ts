import { setTimeout as sleep } from 'node:timers/promises';
import type { Admin, Kafka, Producer, Transaction } from 'kafkajs';
import { createMutex, type Mutex } from '#infra/concurrency/mutex.ts';
import { createWatchdog, WATCHDOG_MS } from '#infra/concurrency/watchdog.ts';
import { PartitionLostError } from '#infra/errors.ts';
import { failpoint } from '#infra/failpoint/failpoint.ts';
import { consume } from '#infra/kafka/consumer/consume.ts';
import type { Consumption } from '#infra/kafka/consumer/consumption.ts';
import { createGroupOffsets } from '#infra/kafka/consumer/group_offsets.ts';
import { endOf, type InBatch, type Leave } from '#infra/kafka/consumer/in_batch.ts';
import { transactionalId } from '#infra/kafka/consumer/partition_group.ts';
import type { TopicPartition } from '#infra/kafka/consumer/partition_state.ts';
import { createCrashGuard } from '#infra/kafka/consumer/poison_pill_guard.ts';
import { chosenPartition } from '#infra/kafka/producer/chosen_partition.ts';
import { COMPRESSION } from '#infra/kafka/producer/compression.ts';
import { openLeaders } from '#infra/kafka/producer/partition_leaders.ts';
import type { OutRecord } from '#infra/kafka/record.ts';
import type { Logger } from '#infra/log/logger.ts';
import { createGather, type Gather } from './grouped_flush.ts';

export interface HopResult {
  outputs: OutRecord[];
  /** Called once the transaction has committed: the place to count. */
  committed(): void;
  /** Where records are left for later; absent: all were taken. */
  leave?: Leave;
}

export interface HopOptions {
  kafka: Kafka;
  admin: Admin;
  groupId: string;
  topics: readonly string[];
  sessionTimeoutMs: number;
  concurrency: number;
  bytesPerPartitionMax?: number;
  /** As `consume` has them. A transaction costs about the same for ten events and for a thousand. */
  fetchBytesMin?: number;
  paceMs?: number;
  partitionsTogether?: number;
  watchdogMs?: number;
  drainMs?: number;
  transform(batch: InBatch): Promise<HopResult>;
  /** Puts away the one record of a batch because it kills the process. Absent: such a record is tried for ever. */
  bury?(batch: InBatch): HopResult;
  logger: Logger;
  /** As `consume` has it. */
  onSkipped?(topic: string, offsets: number): void;
  onFatal(error: unknown): void;
}

const TRANSACTION_TIMEOUT_MS = 60_000;

/** What one partition has to commit: records, and where it goes on from. */
interface Part {
  batch: InBatch;
  outputs: readonly OutRecord[];
  next: number;
  /** Not empty: nothing is passed on, it is only written down at the offset. */
  metadata: string;
}

/** Partitions that are passed on in one transaction, as this process has them. */
interface Bundle {
  /** One transaction, or the taking of its transactional id, at a time. */
  turn: Mutex;
  gather: Gather<Part>;
  /** Holds the transactional id; null where it has to be taken. */
  producer: Producer | null;
  /** Of the group when the id was taken. */
  generation: number;
  /** The producer of each partition whose committed offset was read after the producer had taken the id. */
  acquired: Map<number, Producer>;
}

/**
 * Consume, transform, produce, in one Kafka transaction with the offsets.
 *
 * kafkajs commits transactional offsets without the group's generation, so ownership is fenced by hand: one transactional
 * id per group, topic and bundle of partitions, which one member has together; on taking it, with no transaction of it in
 * flight, an empty one is begun and aborted, which fences the previous owner and ends what it had open; only then the
 * committed offset of each partition is read. What a partition read before the id was taken anew is not committed. After any
 * error inside a transaction the producer is closed and made anew, because the client may hand a failed batch's sequence
 * number to the next one.
 *
 * What the partitions of a bundle transform side by side goes in one transaction, which costs about the same for one of them
 * and for all. A batch that fails to transform fails by itself; of a transaction that fails, every batch is taken anew.
 *
 * What goes to one broker is sent in one request: of a transaction of twelve partitions that is a fifth of the requests
 * that one by one takes. It is sent once. The client may miss a partition or write it twice where it tries a request of
 * several partitions again after a leader has moved; here the transaction is aborted, and the batches taken anew.
 */
export async function runHop(options: HopOptions): Promise<Consumption> {
  const size = options.partitionsTogether ?? 1;
  const bundles = new Map<string, Bundle>();
  const offsets = createGroupOffsets(options.admin, options.groupId);
  const watchdog = createWatchdog({ limitMs: options.watchdogMs ?? WATCHDOG_MS, onFatal: options.onFatal });
  const leaders = await openLeaders(options.kafka);
  const { transform, bury } = options;
  const guard = createCrashGuard({
    mark: (batch, next, metadata) => bundleAt(batch).gather.run(async () => ({ batch, outputs: [], next, metadata })),
    take: (batch) => pass(batch, transform),
    takeSuspects: (batch) => pass(batch, transform),
    bury: bury && ((batch) => pass(batch, async () => bury(batch))),
    logger: options.logger,
  });

  function bundleAt(at: TopicPartition): Bundle {
    const id = transactionalId(options.groupId, at, size);
    const known = bundles.get(id);
    if (known !== undefined) return known;
    const bundle: Bundle = {
      turn: createMutex(),
      gather: createGather((parts) => bundle.turn.run(() => commit(bundle, parts))),
      producer: null,
      generation: -1,
      acquired: new Map(),
    };
    bundles.set(id, bundle);
    return bundle;
  }

  async function acquire(at: TopicPartition, generation: number): Promise<number | null> {
    const bundle = bundleAt(at);
    const producer = await bundle.turn.run(() =>
      takeId(bundle, transactionalId(options.groupId, at, size), generation),
    );
    const found = await offsets.of(at);
    bundle.acquired.set(at.partition, producer);
    guard.acquired(at, found?.metadata ?? '');
    return found === null ? null : found.offset;
  }

  /** Once in each generation, and after an error, for all partitions of the bundle. */
  async function takeId(bundle: Bundle, id: string, generation: number): Promise<Producer> {
    if (bundle.producer !== null && bundle.generation === generation) return bundle.producer;
    // Who waited through a drain that took too long would close what the partition's successor has taken.
    if (generation < bundle.generation) throw new PartitionLostError('partition lost before its id was taken');
    await close(bundle);
    const producer = options.kafka.producer({
      transactionalId: id,
      maxInFlightRequests: 1,
      transactionTimeout: TRANSACTION_TIMEOUT_MS,
      allowAutoTopicCreation: false,
      createPartitioner: chosenPartition,
      retry: { retries: 0 },
    });
    await producer.connect();
    bundle.producer = producer;
    // Where the fence fails it is set by whoever comes next.
    bundle.generation = -1;
    const fence = await producer.transaction();
    await fence.abort();
    bundle.generation = generation;
    return producer;
  }

  async function close(bundle: Bundle): Promise<void> {
    const { producer } = bundle;
    bundle.producer = null;
    bundle.acquired.clear();
    await producer?.disconnect();
  }

  function isOurs(bundle: Bundle, batch: InBatch): boolean {
    const { producer, acquired } = bundle;
    return producer !== null && batch.owned() && acquired.get(batch.partition) === producer;
  }

  async function pass(batch: InBatch, work: HopOptions['transform']): Promise<Leave | undefined> {
    const bundle = bundleAt(batch);
    const made = Promise.withResolvers<HopResult>();
    await bundle.gather.run(async () => {
      if (!isOurs(bundle, batch)) throw new PartitionLostError('partition lost before its batch');
      const result = await work(batch);
      made.resolve(result);
      return { batch, outputs: result.outputs, next: result.leave?.offset ?? endOf(batch), metadata: '' };
    });
    const result = await made.promise;
    result.committed();
    return result.leave;
  }

  /** Commits the parts of those partitions that are ours still; says of each part what became of it. */
  async function commit(bundle: Bundle, parts: readonly Part[]): Promise<(Error | null)[]> {
    const { producer } = bundle;
    const ours = parts.filter(({ batch }) => isOurs(bundle, batch));
    if (producer !== null && ours.length > 0) {
      try {
        await watchdog.watch('a transaction', () => transact(producer, ours));
      } catch (error) {
        await watchdog.watch('closing a producer', () => close(bundle));
        throw error;
      }
    }
    return parts.map((part) =>
      ours.includes(part) ? null : new PartitionLostError('partition lost before its transaction'),
    );
  }

  async function transact(producer: Producer, parts: readonly Part[]): Promise<void> {
    const requests = await leaders.requestsOf(parts.flatMap(({ outputs }) => outputs));
    const transaction = await producer.transaction();
    // What is only written into the metadata passes nothing on.
    const at = parts.some(({ metadata }) => metadata === '') ? failpoint : () => undefined;
    try {
      await beginWithOffsets(transaction, options.groupId, parts);
      at('hop.after_offsets');
      for (const topicMessages of requests) {
        at('hop.before_send');
        await transaction.sendBatch({ topicMessages, acks: -1, compression: COMPRESSION });
        at('hop.after_send');
      }
      await transaction.commit();
      for (const { batch, next, metadata } of parts) offsets.passed(batch, { offset: next, metadata });
      at('hop.after_commit');
    } catch (error) {
      leaders.forget();
      if (transaction.isActive()) {
        // The next owner's fence ends the transaction if this abort does not arrive.
        await transaction
          .abort()
          .catch((failure: unknown) => options.logger.info({ err: failure }, 'abort not confirmed'));
      }
      throw error;
    }
  }

  const consumption = await consume({ ...options, handlers: { acquire, process: guard.process } });
  return {
    ...consumption,
    async stop() {
      await consumption.stop();
      await Promise.all([...bundles.values()].map(close));
      await leaders.close();
    },
  };
}

const BEGIN_TRIES_MAX = 100;
const BEGIN_WAIT_MS = 5;

/**
 * Begins the transaction with the offsets. The broker may still be ending the one before: nothing is begun then, and it
 * is asked again.
 */
async function beginWithOffsets(transaction: Transaction, groupId: string, parts: readonly Part[]): Promise<void> {
  const topics = [...Map.groupBy(parts, ({ batch }) => batch.topic)].map(([topic, ofTopic]) => ({
    topic,
    partitions: ofTopic.map(({ batch: { partition }, next, metadata }) => ({
      partition,
      offset: String(next),
      metadata,
    })),
  }));
  for (let tries = 1; ; tries++) {
    try {
      return await transaction.sendOffsets({ consumerGroupId: groupId, topics });
    } catch (error) {
      if ((error as { type?: unknown }).type !== 'CONCURRENT_TRANSACTIONS' || tries === BEGIN_TRIES_MAX) throw error;
      await sleep(BEGIN_WAIT_MS);
    }
  }
}
