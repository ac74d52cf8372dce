import { randomUUID } from 'node:crypto';
import { Kafka, logLevel } from 'kafkajs';

export interface TopicRecord {
  partition: number;
  offset: number;
  key: string | null;
  value: Buffer | null;
}

/** Nothing new for this long: what is left behind the last record are the markers of transactions. */
const QUIET_MS = 1_000;
const POLL_MS = 50;

/** All records of a topic from its beginning, as a reader of committed transactions sees them. */
export async function readTopic(brokers: string, topic: string): Promise<TopicRecord[]> {
  const kafka = new Kafka({ brokers: brokers.split(','), logLevel: logLevel.NOTHING });
  const consumer = kafka.consumer({ groupId: `test.${randomUUID()}`, readUncommitted: false, maxWaitTimeInMs: 100 });
  const records: TopicRecord[] = [];
  let newestMs = Number.POSITIVE_INFINITY;
  consumer.on(consumer.events.GROUP_JOIN, () => {
    newestMs = performance.now();
  });
  try {
    await consumer.connect();
    await consumer.subscribe({ topic, fromBeginning: true });
    await consumer.run({
      autoCommit: false,
      eachMessage: async ({ partition, message: { offset, key, value } }) => {
        newestMs = performance.now();
        records.push({ partition, offset: Number(offset), key: key?.toString('utf8') ?? null, value });
      },
    });
    while (performance.now() - newestMs < QUIET_MS || newestMs === Number.POSITIVE_INFINITY) {
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
    return records;
  } finally {
    await consumer.disconnect();
  }
}
