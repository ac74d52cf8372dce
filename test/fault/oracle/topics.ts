import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Consumer, Kafka, logLevel } from 'kafkajs';
import { registerZstd } from '#infra/kafka/client.ts';
import { patchAbortedRecords } from '#infra/kafka/kafkajs_patches/client_patches.ts';
import { topicOffsets } from '#infra/kafka/offsets.ts';
import type { TopicRecord } from '#test/harness/topic.ts';

/** Where topics end, by topic and partition. */
export type Ends = Map<string, number[]>;

function client(brokers: string): Kafka {
  registerZstd();
  patchAbortedRecords();
  return new Kafka({ brokers: brokers.split(','), logLevel: logLevel.NOTHING });
}

/** The offsets at which each topic's partitions end now. One after the other: asked side by side the client loses topics. */
export async function endsOf(brokers: string, topics: readonly string[]): Promise<Ends> {
  const admin = client(brokers).admin();
  await admin.connect();
  try {
    const found: Ends = new Map();
    for (const topic of topics) {
      const ends: number[] = [];
      for (const { partition, high } of await topicOffsets(admin, topic)) ends[partition] = Number(high);
      found.set(topic, ends);
    }
    return found;
  } finally {
    await admin.disconnect();
  }
}

/** After everything expected was read, records that should not be there have this long to turn up. */
const QUIET_MS = 800;
const POLL_MS = 50;

/**
 * Records behind given offsets, as a reader of committed transactions sees them, until they are enough; whatever else
 * follows at once is returned too. Where they never are enough, what there is once none came for so long: a row of an hour
 * has half a million.
 */
export async function readBehind(
  brokers: string,
  starts: Ends,
  isEnough: (records: readonly TopicRecord[]) => boolean,
  quietMsMax: number,
): Promise<TopicRecord[]> {
  const consumer = client(brokers).consumer({ groupId: `fault.${randomUUID()}`, maxWaitTimeInMs: 100 });
  const records: TopicRecord[] = [];
  const seen = { newestMs: performance.now() };
  await consumer.connect();
  try {
    await follow(consumer, starts, (record) => {
      records.push(record);
      seen.newestMs = performance.now();
    });
    for (let judged = { records: -1, atMs: performance.now() }; ; await sleep(POLL_MS)) {
      const nowMs = performance.now();
      const quietMs = nowMs - seen.newestMs;
      if (quietMs > quietMsMax) return records;
      if (judged.records === records.length) continue;
      // Beside a load it is never quiet.
      if (quietMs <= QUIET_MS && nowMs - judged.atMs < quietMsMax) continue;
      judged = { records: records.length, atMs: nowMs };
      if (isEnough(records)) return records;
    }
  } finally {
    await consumer.disconnect();
  }
}

async function follow(consumer: Consumer, starts: Ends, take: (record: TopicRecord) => void): Promise<void> {
  await consumer.subscribe({ topics: [...starts.keys()], fromBeginning: true });
  await consumer.run({
    autoCommit: false,
    eachMessage: async ({ topic, partition, message: { offset, key, value } }) => {
      if (Number(offset) < (starts.get(topic)?.[partition] ?? 0)) return;
      take({ topic, partition, offset: Number(offset), key: key?.toString('utf8') ?? null, value });
    },
  });
  for (const [topic, offsets] of starts) {
    offsets.forEach((offset, partition) => {
      consumer.seek({ topic, partition, offset: String(offset) });
    });
  }
}
