// Producers of records with a chosen partition: outside of transactions, and with a transactional id that fences earlier holders;
// and who leads each partition.

import type { ICustomPartitioner, Kafka } from 'kafkajs';
import { WATCHDOG_MS, withinLimit } from '#infra/concurrency/time_limits.ts';
import { partitionGroupsOf, transactionalId } from './consumer/group_consumer.ts';
import type { OutRecord } from './record.ts';
import { COMPRESSION } from './zstd.ts';

/** Writes records outside a transaction; a record may stand twice after a crash, so what is written must bear that. */
export type KeyedProducer = Awaited<ReturnType<typeof createKeyedProducer>>;

export async function createKeyedProducer(kafka: Kafka, watchdogMs = WATCHDOG_MS) {
  const producer = kafka.producer({
    allowAutoTopicCreation: false,
    createPartitioner: explicitPartitioner,
    maxInFlightRequests: 1,
  });
  await producer.connect();
  return {
    /** Resolves when all are acknowledged by all in-sync replicas. */
    async send(records: readonly OutRecord[]): Promise<void> {
      for (const [topic, partition, messages] of perPartition(records)) {
        const request = { topic, acks: -1, messages: messages.map((message) => ({ partition, ...message })) };
        await withinLimit('a send', () => producer.send(request), watchdogMs);
      }
    },
    stop: (): Promise<void> => producer.disconnect(),
  };
}

type Message = { key: string | null; value: Buffer; headers?: Record<string, string> };

/** Groups records by topic and partition: a request that the client may try again must never span partitions. */
export function perPartition(outputs: readonly OutRecord[]): [topic: string, partition: number, messages: Message[]][] {
  const groups = new Map<string, [string, number, Message[]]>();
  for (const { topic, partition, key, value, headers } of outputs) {
    const name = `${topic}/${partition}`;
    const group = groups.get(name) ?? [topic, partition, []];
    group[2].push({ key: key ?? null, value, ...(headers && { headers }) });
    groups.set(name, group);
  }
  return [...groups.values()];
}

export type PartitionRecords = readonly [
  topic: string,
  partition: number,
  records: readonly { key: string | null; value: Buffer | null; headers?: Record<string, string> }[],
];

type AppendedRecord = PartitionRecords[2][number];

/** What is sent at once is a batch to the broker, which takes none of more bytes than a topic allows; a MiB where nobody set that. */
const SEND_BYTES_MAX = 512 * 1024;
/** Of a record beside its key and value. */
const RECORD_BYTES = 16;

function inSends(records: readonly AppendedRecord[]): AppendedRecord[][] {
  const sends: AppendedRecord[][] = [];
  let bytes = SEND_BYTES_MAX;
  for (const record of records) {
    const size = RECORD_BYTES + Buffer.byteLength(record.key ?? '') + (record.value?.length ?? 0);
    if (bytes + size > SEND_BYTES_MAX) {
      sends.push([]);
      bytes = 0;
    }
    sends.at(-1)?.push(record);
    bytes += size;
  }
  return sends;
}

/** INVALID_PRODUCER_EPOCH, and PRODUCER_FENCED of newer brokers. */
const FENCED: ReadonlySet<unknown> = new Set([47, 90]);

/** Whether a later producer of the same transactional id has fenced this one, whose transaction came to nothing. */
export function isFenced(error: unknown): boolean {
  const { code, cause } = (error ?? {}) as { code?: unknown; cause?: unknown };
  return FENCED.has(code) || (cause !== undefined && isFenced(cause));
}

/** A producer that no other one of its transactional id can outlive. */
export type FencedProducer = Awaited<ReturnType<typeof openFencedProducer>>;

const TRANSACTION_TIMEOUT_MS = 30_000;

/**
 * Opens a producer and fences every earlier one of the same id: none of them can append any more. Where that fails no
 * connection is left open.
 */
export async function openFencedProducer(kafka: Kafka, transactionalId: string) {
  const producer = kafka.producer({
    transactionalId,
    maxInFlightRequests: 1,
    transactionTimeout: TRANSACTION_TIMEOUT_MS,
    allowAutoTopicCreation: false,
    createPartitioner: explicitPartitioner,
  });
  try {
    await producer.connect();
    const fence = await producer.transaction();
    await fence.abort();
  } catch (error) {
    // What is thrown says more than a connection that does not close.
    await producer.disconnect().catch(() => undefined);
    throw error;
  }
  async function appendAll(groups: readonly PartitionRecords[]): Promise<void> {
    const transaction = await producer.transaction();
    try {
      for (const [topic, partition, records] of groups) {
        for (const some of inSends(records)) {
          const messages = some.map((record) => ({ partition, ...record }));
          await transaction.send({ topic, acks: -1, compression: COMPRESSION, messages });
        }
      }
      await transaction.commit();
    } catch (error) {
      // The fence of the producer that follows ends the transaction if this abort does not arrive.
      if (transaction.isActive()) await transaction.abort().catch(() => undefined);
      throw error;
    }
  }
  return {
    /** Appends records to one partition, all or none. After an error the producer must be closed and opened anew. */
    append: (...group: PartitionRecords): Promise<void> => withinLimit('a transaction', () => appendAll([group])),
    /** Appends records to several partitions, all or none. */
    appendAll: (groups: readonly PartitionRecords[]) => withinLimit('a transaction', () => appendAll(groups)),
    close: (): Promise<void> => producer.disconnect(),
  };
}

/**
 * Ends every open transaction of a transactional stage on a topic, and fences the members that hold a producer but have no
 * transaction open: nothing that was read before the call is committed after it. The members acquire their partitions again.
 */
export async function fenceStage(
  kafka: Kafka,
  groupId: string,
  topic: string,
  partitions: number,
  partitionGroupSize: number,
): Promise<void> {
  for (const { first } of partitionGroupsOf(partitions, partitionGroupSize)) {
    const id = transactionalId(groupId, { topic, partition: first }, partitionGroupSize);
    const producer = await openFencedProducer(kafka, id);
    await producer.close();
  }
}

/** A record without a chosen partition must not be sent: the client would choose, and a send could span partitions. */
export class PartitionUnchosenError extends Error {
  readonly code = 'partition_unchosen';
}

export const explicitPartitioner: ICustomPartitioner =
  () =>
  ({ message }) => {
    if (message.partition === undefined) throw new PartitionUnchosenError('record without a partition');
    return message.partition;
  };

export type PartitionLeaders = Awaited<ReturnType<typeof openLeaders>>;

/**
 * Which broker leads each partition, as it was when it was last asked. Opens an admin client of its own: asked for the
 * metadata of some topics, the client forgets that of all others, which those may be in the middle of using that share it
 * (BrokerPool.refreshMetadata, kafkajs 2.2.4).
 */
export async function openLeaders(kafka: Kafka) {
  const admin = kafka.admin();
  await admin.connect();
  const known = new Map<string, ReadonlyMap<number, number>>();
  return {
    /** Asks for what is not known of these topics. */
    async learn(topics: readonly string[]): Promise<void> {
      const unknown = topics.filter((topic) => !known.has(topic));
      if (unknown.length === 0) return;
      const { topics: found } = await admin.fetchTopicMetadata({ topics: unknown });
      for (const { name, partitions } of found) {
        known.set(name, new Map(partitions.map(({ partitionId, leader }) => [partitionId, leader])));
      }
    },
    /** The id of the broker; undefined where it is not known. */
    of: (topic: string, partition: number): number | undefined => known.get(topic)?.get(partition),
    /** A request failed, perhaps as a leader has moved: who leads is to be asked anew. */
    forget: (): void => known.clear(),
    close: (): Promise<void> => admin.disconnect(),
  };
}
