import { randomUUID } from 'node:crypto';
import type { ConsumerRunConfig, Kafka } from 'kafkajs';
import { CONSUMER_RETRY, runConsumer } from './run_consumer.ts';

export interface FollowOptions {
  kafka: Kafka;
  topic: string;
  groupPrefix: string;
  /** A record in the order of its partition; a null value is a tombstone. */
  onRecord(key: string, value: Buffer | null): Promise<void> | void;
  onFatal(error: unknown): void;
}

export interface Following {
  stop(): Promise<void>;
}

const FETCH_WAIT_MS = 250;

/**
 * Reads a compacted topic from its beginning and follows it. Resolves when everything that stood in it at the call was
 * handed over. Each process reads all partitions, in a group of its own that commits nothing.
 */
export async function followTopic(options: FollowOptions): Promise<Following> {
  const { kafka, topic } = options;
  const pending = await endOffsets(kafka, topic);
  const consumer = kafka.consumer({
    groupId: `${options.groupPrefix}.table.${topic}.${randomUUID()}`,
    maxWaitTimeInMs: FETCH_WAIT_MS,
    allowAutoTopicCreation: false,
    retry: CONSUMER_RETRY,
  });
  const ready = Promise.withResolvers<void>();
  const seen = (partition: number, nextOffset: number): void => {
    const end = pending.get(partition);
    if (end !== undefined && nextOffset >= end) pending.delete(partition);
    if (pending.size === 0) ready.resolve();
  };
  await consumer.connect();
  await consumer.subscribe({ topics: [topic], fromBeginning: true });
  consumer.on(consumer.events.END_BATCH_PROCESS, ({ payload }) =>
    seen(payload.partition, Number(payload.lastOffset) + 1),
  );
  const config: ConsumerRunConfig = {
    autoCommit: false,
    eachMessage: async ({ partition, message }) => {
      await options.onRecord(message.key?.toString('utf8') ?? '', message.value);
      seen(partition, Number(message.offset) + 1);
    },
  };
  const run = await runConsumer(consumer, config, (error) => {
    ready.reject(error);
    options.onFatal(error);
  });
  seen(-1, 0);
  await ready.promise;
  return run;
}

async function endOffsets(kafka: Kafka, topic: string): Promise<Map<number, number>> {
  const admin = kafka.admin();
  await admin.connect();
  try {
    const offsets = await admin.fetchTopicOffsets(topic);
    const held = offsets.filter(({ low, high }) => Number(high) > Number(low));
    return new Map(held.map(({ partition, high }) => [partition, Number(high)]));
  } finally {
    await admin.disconnect();
  }
}
