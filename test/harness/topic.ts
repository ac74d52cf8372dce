import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Kafka, logLevel } from 'kafkajs';
import { registerZstd } from '#infra/kafka/client.ts';
import { patchAbortedRecords } from '#infra/kafka/kafkajs_patches/client_patches.ts';

export interface TopicRecord {
  topic: string;
  partition: number;
  offset: number;
  key: string | null;
  value: Buffer | null;
}

/** Nothing new for this long: what is left behind the last record are the markers of transactions. */
const QUIET_MS = 1_500;
/** Before the first record of all: on a busy machine many topics take their time. */
const BEGIN_MS = 8_000;
const POLL_MS = 50;

function client(brokers: string): Kafka {
  registerZstd();
  patchAbortedRecords();
  return new Kafka({ brokers: brokers.split(','), logLevel: logLevel.NOTHING });
}

/** The topics of a cluster but for the broker's and the registry's own. */
export async function listTopics(brokers: string): Promise<string[]> {
  const admin = client(brokers).admin();
  await admin.connect();
  try {
    const topics = await admin.listTopics();
    return topics.filter((name) => !name.startsWith('__') && !name.startsWith('kafkasql'));
  } finally {
    await admin.disconnect();
  }
}

/** All records of topics from their beginning, as a reader of committed transactions sees them. */
export async function readTopics(brokers: string, topics: string[]): Promise<TopicRecord[]> {
  const groupId = `test.${randomUUID()}`;
  const consumer = client(brokers).consumer({ groupId, readUncommitted: false, maxWaitTimeInMs: 100 });
  const records: TopicRecord[] = [];
  let newestMs: number | null = null;
  let crash: Error | null = null;
  consumer.on(consumer.events.CRASH, ({ payload }) => {
    crash = payload.error;
  });
  consumer.on(consumer.events.GROUP_JOIN, () => {
    newestMs = performance.now();
  });
  try {
    await consumer.connect();
    await consumer.subscribe({ topics, fromBeginning: true });
    await consumer.run({
      autoCommit: false,
      eachMessage: async ({ topic, partition, message: { offset, key, value } }) => {
        newestMs = performance.now();
        records.push({ topic, partition, offset: Number(offset), key: key?.toString('utf8') ?? null, value });
      },
    });
    while (newestMs === null || performance.now() - newestMs < (records.length === 0 ? BEGIN_MS : QUIET_MS)) {
      if (crash !== null) throw crash;
      await sleep(POLL_MS);
    }
    return records;
  } finally {
    await consumer.disconnect();
  }
}
