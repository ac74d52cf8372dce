import type { Kafka } from 'kafkajs';
import { WATCHDOG_MS, withinLimit } from '#infra/concurrency/watchdog.ts';
import type { OutRecord } from '#infra/kafka/record.ts';
import { chosenPartition } from './chosen_partition.ts';

/** Writes records outside a transaction; a record may stand twice after a crash, so what is written must bear that. */
export interface KeyedProducer {
  /** Resolves when all are acknowledged by all in-sync replicas. */
  send(records: readonly OutRecord[]): Promise<void>;
  stop(): Promise<void>;
}

export async function createKeyedProducer(kafka: Kafka, watchdogMs = WATCHDOG_MS): Promise<KeyedProducer> {
  const producer = kafka.producer({
    allowAutoTopicCreation: false,
    createPartitioner: chosenPartition,
    maxInFlightRequests: 1,
  });
  await producer.connect();
  return {
    async send(records) {
      for (const [topic, partition, messages] of perPartition(records)) {
        const request = { topic, acks: -1, messages: messages.map((message) => ({ partition, ...message })) };
        await withinLimit('a send', () => producer.send(request), watchdogMs);
      }
    },
    stop: () => producer.disconnect(),
  };
}

type Message = { key: string | null; value: Buffer };

/** Groups records by topic and partition: a request that the client may try again must never span partitions. */
export function perPartition(outputs: readonly OutRecord[]): [topic: string, partition: number, messages: Message[]][] {
  const groups = new Map<string, [string, number, Message[]]>();
  for (const { topic, partition, key, value } of outputs) {
    const name = `${topic}/${partition}`;
    const group = groups.get(name) ?? [topic, partition, []];
    group[2].push({ key: key ?? null, value });
    groups.set(name, group);
  }
  return [...groups.values()];
}
