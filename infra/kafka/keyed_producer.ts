import type { Kafka } from 'kafkajs';
import { chosenPartition } from './chosen_partition.ts';
import { type OutRecord, perPartition } from './hop.ts';

/** Writes records outside a transaction; a record may stand twice after a crash, so what is written must bear that. */
export interface KeyedProducer {
  /** Resolves when all are acknowledged by all in-sync replicas. */
  send(records: readonly OutRecord[]): Promise<void>;
  stop(): Promise<void>;
}

export async function createKeyedProducer(kafka: Kafka): Promise<KeyedProducer> {
  const producer = kafka.producer({
    allowAutoTopicCreation: false,
    createPartitioner: chosenPartition,
    maxInFlightRequests: 1,
  });
  await producer.connect();
  return {
    async send(records) {
      for (const [topic, partition, messages] of perPartition(records)) {
        await producer.send({ topic, acks: -1, messages: messages.map((message) => ({ partition, ...message })) });
      }
    },
    stop: () => producer.disconnect(),
  };
}
