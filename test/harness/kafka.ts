import { randomUUID } from 'node:crypto';
import type { KafkaConfig } from '#infra/config/service_config.ts';
import { createKafka, type Kafka } from '#infra/kafka/client.ts';
import { explicitPartitioner } from '#infra/kafka/producers.ts';
import { provisionTopics } from '#infra/kafka/provision.ts';
import { createLogger, type Logger } from '#infra/log/logger.ts';

/** The shortest session a broker grants by default. */
export const SESSION_TIMEOUT_MS = 6_000;

export const quiet: Logger = createLogger('test', 'silent');

/** `retries`: of one request; without it as many as a service makes. */
export function kafkaOf(brokers: string, clientId = 'test', retries?: number, topicPrefix = ''): Kafka {
  const config: KafkaConfig = {
    brokers: brokers.split(','),
    tls: false,
    tlsCaFile: null,
    sasl: null,
    eventPartitions: 4,
    smallPartitions: 2,
    partitionGroupSize: 2,
    auditDays: 1,
    replicationFactor: 1,
    sessionTimeoutMs: SESSION_TIMEOUT_MS,
    watchdogMs: 300_000,
    prefix: 'test',
    topicPrefix,
  };
  return createKafka(config, clientId, quiet, retries);
}

/** A name that no other test uses. */
export function uniqueName(prefix: string): string {
  return `${prefix}-${randomUUID().slice(0, 8)}`;
}

export async function createTopic(
  kafka: Kafka,
  prefix: string,
  partitions: number,
  config: Record<string, string> = {},
): Promise<string> {
  const name = uniqueName(prefix);
  await provisionTopics(kafka, [{ name, partitions, config, schema: 'event_batch' }], 1);
  return name;
}

export interface Text {
  partition: number;
  value: string;
  key?: string;
  /** Milliseconds since 1970 UTC; absent: now. */
  timestamp?: string;
}

/** Appends texts, a send for each partition. */
export async function produce(kafka: Kafka, topic: string, texts: readonly Text[]): Promise<void> {
  const producer = kafka.producer({ allowAutoTopicCreation: false, createPartitioner: explicitPartitioner });
  await producer.connect();
  for (const [partition, group] of Map.groupBy(texts, (text) => text.partition)) {
    const messages = group.map(({ key, value, timestamp }) => ({
      ...{ partition, value, key: key ?? null },
      ...(timestamp !== undefined && { timestamp }),
    }));
    await producer.send({ topic, acks: -1, messages });
  }
  await producer.disconnect();
}

/** `count` texts `<label>-0`, `<label>-1`, ... spread over the partitions in turn. */
export function numbered(label: string, count: number, partitions: number): Text[] {
  return Array.from({ length: count }, (_, index) => ({ partition: index % partitions, value: `${label}-${index}` }));
}

/** What is said in texts, in their order. */
export function valuesOf(texts: readonly Text[]): string[] {
  return texts.map(({ value }) => value);
}

export interface Found {
  partition: number;
  offset: number;
  value: string;
}

/**
 * What a reader under read_committed sees. A mark is appended to each partition and the topic read until all are
 * found: they come last, and only when no transaction is open before them.
 */
export async function readCommitted(kafka: Kafka, topic: string, partitions: number): Promise<Found[]> {
  const mark = `mark-${randomUUID()}`;
  await produce(
    kafka,
    topic,
    Array.from({ length: partitions }, (_, partition) => ({ partition, value: mark })),
  );
  const consumer = kafka.consumer({
    groupId: uniqueName('reader'),
    maxWaitTimeInMs: 50,
    // A coordinator that is only just coming makes a consumer crash, and the next one waits for its session to end.
    sessionTimeout: SESSION_TIMEOUT_MS,
    rebalanceTimeout: SESSION_TIMEOUT_MS,
  });
  const found: Found[] = [];
  const open = new Set(Array.from({ length: partitions }, (_, partition) => partition));
  const { promise, resolve } = Promise.withResolvers<void>();
  await consumer.connect();
  await consumer.subscribe({ topic, fromBeginning: true });
  await consumer.run({
    autoCommit: false,
    eachMessage: async ({ partition, message }) => {
      const value = message.value?.toString() ?? '';
      if (value === mark) open.delete(partition);
      else if (!value.startsWith('mark-')) found.push({ partition, offset: Number(message.offset), value });
      if (open.size === 0) resolve();
    },
  });
  await promise;
  await consumer.disconnect();
  return found;
}

/** How often each expected value stands there and what else does: nothing missing or doubled is an empty list. */
export function differences(found: readonly Found[], expected: readonly string[]): string[] {
  const counts = new Map<string, number>(expected.map((value) => [value, 0]));
  const strange = found.flatMap(({ value }) => (counts.has(value) ? [] : [`${value}: not expected`]));
  for (const { value } of found) if (counts.has(value)) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts].flatMap(([value, count]) => (count === 1 ? [] : [`${value}: ${count} times`])).concat(strange);
}
