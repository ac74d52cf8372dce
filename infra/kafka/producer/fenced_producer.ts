import type { Kafka } from 'kafkajs';
import { withinLimit } from '#infra/concurrency/watchdog.ts';
import { partitionGroupsOf, transactionalId } from '#infra/kafka/consumer/partition_group.ts';
import { chosenPartition } from './chosen_partition.ts';
import { COMPRESSION } from './compression.ts';

/** Records for one partition. */
export type PartitionRecords = readonly [
  topic: string,
  partition: number,
  records: readonly { key: string | null; value: Buffer | null; headers?: Record<string, string> }[],
];

/** A producer that no other one of its transactional id can outlive. */
export interface FencedProducer {
  /** Appends records to one partition, all or none. After an error the producer must be closed and opened anew. */
  append(topic: string, partition: number, records: readonly { key: string; value: Buffer | null }[]): Promise<void>;
  /** Appends records to several partitions, all or none. */
  appendAll(groups: readonly PartitionRecords[]): Promise<void>;
  close(): Promise<void>;
}

const TRANSACTION_TIMEOUT_MS = 30_000;

/**
 * Opens a producer and fences every earlier one of the same id: none of them can append any more. Where that fails no
 * connection is left open.
 */
export async function openFencedProducer(kafka: Kafka, transactionalId: string): Promise<FencedProducer> {
  const producer = kafka.producer({
    transactionalId,
    maxInFlightRequests: 1,
    transactionTimeout: TRANSACTION_TIMEOUT_MS,
    allowAutoTopicCreation: false,
    createPartitioner: chosenPartition,
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
        const messages = records.map((record) => ({ partition, ...record }));
        await transaction.send({ topic, acks: -1, compression: COMPRESSION, messages });
      }
      await transaction.commit();
    } catch (error) {
      // The fence of the producer that follows ends the transaction if this abort does not arrive.
      if (transaction.isActive()) await transaction.abort().catch(() => undefined);
      throw error;
    }
  }
  return {
    append: (topic, partition, records) => withinLimit('a transaction', () => appendAll([[topic, partition, records]])),
    appendAll: (groups) => withinLimit('a transaction', () => appendAll(groups)),
    close: () => producer.disconnect(),
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
