import { setTimeout as sleep } from 'node:timers/promises';
import type { Admin, Kafka, Producer, Transaction } from 'kafkajs';
import { failpoint } from '#infra/failpoint/failpoint.ts';
import type { Logger } from '#infra/log/logger.ts';
import { chosenPartition } from './chosen_partition.ts';
import { COMPRESSION } from './compression.ts';
import { type Consumption, consume, type InBatch, type Leave, type TopicPartition } from './consume.ts';
import { createCrashGuard } from './crash_guard.ts';
import { PartitionLostError } from './errors.ts';
import { transactionalId } from './fenced_producer.ts';
import { createGroupOffsets } from './group_offsets.ts';
import { openLeaders } from './leaders.ts';
import type { OutRecord } from './record.ts';
import { nameOf } from './slot.ts';

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
  transform(batch: InBatch): Promise<HopResult>;
  /** Puts away the one record of a batch because it kills the process. Absent: such a record is tried for ever. */
  bury?(batch: InBatch): HopResult;
  logger: Logger;
  onFatal(error: unknown): void;
}

const TRANSACTION_TIMEOUT_MS = 60_000;

/**
 * Consume, transform, produce, in one Kafka transaction with the offsets.
 *
 * kafkajs commits transactional offsets without the group's generation, so ownership is fenced by hand: one
 * transactional id per group, topic and partition; on taking a partition, with no batch of it in flight, an empty
 * transaction is begun and aborted, which fences the previous owner and ends what it had open; only then the committed
 * offset is read. After any error inside a transaction the producer is closed and made anew, because the client may
 * hand a failed batch's sequence number to the next one.
 *
 * What goes to one broker is sent in one request: of a transaction of twelve partitions that is a fifth of the requests
 * that one by one takes. It is sent once. The client may miss a partition or write it twice where it tries a request of
 * several partitions again after a leader has moved; here the transaction is aborted, and the batch taken anew.
 */
export async function runHop(options: HopOptions): Promise<Consumption> {
  const producers = new Map<string, Producer>();
  const offsets = createGroupOffsets(options.admin, options.groupId);
  const leaders = await openLeaders(options.kafka);
  const { transform, bury } = options;
  const guard = createCrashGuard({
    mark: (batch, offset, metadata) => commit(batch, [], offset, metadata),
    take: (batch) => pass(batch, transform),
    takeSuspects: (batch) => pass(batch, transform),
    bury: bury && ((batch) => pass(batch, async () => bury(batch))),
    logger: options.logger,
  });

  async function acquire(at: TopicPartition): Promise<number | null> {
    await close(at);
    const producer = options.kafka.producer({
      transactionalId: transactionalId(options.groupId, at),
      maxInFlightRequests: 1,
      transactionTimeout: TRANSACTION_TIMEOUT_MS,
      allowAutoTopicCreation: false,
      createPartitioner: chosenPartition,
      retry: { retries: 0 },
    });
    await producer.connect();
    producers.set(nameOf(at), producer);
    const fence = await producer.transaction();
    await fence.abort();
    const found = await offsets.of(at);
    guard.acquired(at, found?.metadata ?? '');
    return found === null ? null : found.offset;
  }

  async function close(at: TopicPartition): Promise<void> {
    const producer = producers.get(nameOf(at));
    if (producer === undefined) return;
    producers.delete(nameOf(at));
    await producer.disconnect();
  }

  async function pass(batch: InBatch, work: HopOptions['transform']): Promise<Leave | undefined> {
    const result = await work(batch);
    const last = batch.records.at(-1)?.offset ?? -1;
    if (!batch.owned()) throw new PartitionLostError('partition lost before its transaction');
    await commit(batch, result.outputs, result.leave?.offset ?? last + 1, '');
    result.committed();
    return result.leave;
  }

  async function commit(batch: InBatch, outputs: readonly OutRecord[], next: number, metadata: string): Promise<void> {
    try {
      await transact(batch, outputs, next, metadata);
    } catch (error) {
      await close(batch);
      throw error;
    }
  }

  async function transact(
    batch: InBatch,
    outputs: readonly OutRecord[],
    next: number,
    metadata: string,
  ): Promise<void> {
    const producer = producers.get(nameOf(batch));
    if (producer === undefined) throw new PartitionLostError('no producer for the partition');
    const requests = await leaders.requestsOf(outputs);
    const transaction = await producer.transaction();
    // What is only written into the metadata passes nothing on.
    const at = metadata === '' ? failpoint : () => undefined;
    try {
      await beginWithOffsets(transaction, options.groupId, batch, next, metadata);
      at('hop.after_offsets');
      for (const topicMessages of requests) {
        at('hop.before_send');
        await transaction.sendBatch({ topicMessages, acks: -1, compression: COMPRESSION });
        at('hop.after_send');
      }
      await transaction.commit();
      offsets.passed(batch, { offset: next, metadata });
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
      await Promise.all([...producers.values()].map((producer) => producer.disconnect()));
      await leaders.close();
    },
  };
}

const BEGIN_TRIES_MAX = 100;
const BEGIN_WAIT_MS = 5;

/**
 * Begins the transaction with the offset. The broker may still be ending the one before: nothing is begun then, and it
 * is asked again.
 */
async function beginWithOffsets(
  transaction: Transaction,
  groupId: string,
  at: TopicPartition,
  next: number,
  metadata: string,
): Promise<void> {
  const place = { partition: at.partition, offset: String(next), metadata };
  const topics = [{ topic: at.topic, partitions: [place] }];
  for (let tries = 1; ; tries++) {
    try {
      return await transaction.sendOffsets({ consumerGroupId: groupId, topics });
    } catch (error) {
      if ((error as { type?: unknown }).type !== 'CONCURRENT_TRANSACTIONS' || tries === BEGIN_TRIES_MAX) throw error;
      await sleep(BEGIN_WAIT_MS);
    }
  }
}
