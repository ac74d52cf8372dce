import { randomUUID } from 'node:crypto';
import type { Kafka } from 'kafkajs';

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
  });
  let caughtUp = (): void => undefined;
  const ready = new Promise<void>((resolve, reject) => {
    caughtUp = resolve;
    consumer.on(consumer.events.CRASH, ({ payload }) => {
      if (payload.restart) return;
      reject(payload.error);
      options.onFatal(payload.error);
    });
  });
  const seen = (partition: number, nextOffset: number): void => {
    const end = pending.get(partition);
    if (end !== undefined && nextOffset >= end) pending.delete(partition);
    if (pending.size === 0) caughtUp();
  };
  await consumer.connect();
  await consumer.subscribe({ topics: [topic], fromBeginning: true });
  consumer.on(consumer.events.END_BATCH_PROCESS, ({ payload }) =>
    seen(payload.partition, Number(payload.lastOffset) + 1),
  );
  await consumer.run({
    autoCommit: false,
    eachMessage: async ({ partition, message }) => {
      await options.onRecord(message.key?.toString('utf8') ?? '', message.value);
      seen(partition, Number(message.offset) + 1);
    },
  });
  seen(-1, 0);
  await ready;
  return { stop: () => consumer.disconnect() };
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
