import { randomUUID } from 'node:crypto';
import type { Admin, Consumer, EachBatchPayload, Kafka } from 'kafkajs';
import { type InRecord, toInRecord } from './record.ts';
import { CONSUMER_RETRY, runConsumer } from './run_consumer.ts';

export interface ReadBackOptions {
  kafka: Kafka;
  admin: Admin;
  topic: string;
  groupPrefix: string;
  /** Records stamped earlier are left out where possible; milliseconds since 1970 UTC. Null: from the beginning. */
  sinceMs: number | null;
  /** Where to begin in each partition instead; partitions that are left out are not read. */
  from?: ReadonlyMap<number, number>;
  /** Records of a partition in their order; partitions come side by side. */
  onRecords(records: readonly InRecord[], partition: number): Promise<void>;
  /** Offsets passed and offsets to pass in all. */
  onProgress(done: number, total: number): void;
}

const PARTITIONS_SIDE_BY_SIDE = 4;
const FETCH_WAIT_MS = 100;

interface Range {
  first: number;
  end: number;
  next: number;
}

/**
 * Reads what a topic holds now, committed records only, and ends: at what stood at its end at the call. Memory holds one
 * fetch. Throws what `onRecords` throws.
 */
export async function readBack(options: ReadBackOptions): Promise<void> {
  const ranges = await rangesOf(options);
  if (ranges.size === 0) return;
  const consumer = options.kafka.consumer({
    groupId: `${options.groupPrefix}.back.${options.topic}.${randomUUID()}`,
    maxWaitTimeInMs: FETCH_WAIT_MS,
    maxBytes: 16 * 1024 * 1024,
    readUncommitted: false,
    allowAutoTopicCreation: false,
    retry: CONSUMER_RETRY,
  });
  await consumer.connect();
  await consumer.subscribe({ topics: [options.topic], fromBeginning: true });
  await readTo(consumer, ranges, options);
}

async function readTo(consumer: Consumer, ranges: Map<number, Range>, options: ReadBackOptions): Promise<void> {
  const total = [...ranges.values()].reduce((sum, { first, end }) => sum + end - first, 0);
  const { promise: done, resolve, reject } = Promise.withResolvers<void>();
  // The client counts filtered records, such as the marks of transactions, in this event only.
  consumer.on(consumer.events.END_BATCH_PROCESS, ({ payload }) => {
    const range = ranges.get(payload.partition);
    if (range !== undefined) range.next = Math.max(range.next, Number(payload.lastOffset) + 1);
    const all = [...ranges.values()];
    options.onProgress(
      all.reduce((sum, { first, next, end }) => sum + Math.min(next, end) - first, 0),
      total,
    );
    if (!failed && all.every(({ next, end }) => next >= end)) resolve();
  });
  let failed = false;
  const eachBatch = async ({ batch }: EachBatchPayload): Promise<void> => {
    const range = ranges.get(batch.partition);
    if (failed || range === undefined || Number(batch.firstOffset()) >= range.end) return;
    try {
      await options.onRecords(batch.messages.map(toInRecord), batch.partition);
    } catch (error) {
      failed = true;
      reject(error);
    }
  };
  const config = { autoCommit: false, partitionsConsumedConcurrently: PARTITIONS_SIDE_BY_SIDE, eachBatch };
  const running = runConsumer(consumer, config, reject);
  for (const [partition, { first }] of ranges) {
    consumer.seek({ topic: options.topic, partition, offset: String(first) });
  }
  const run = await running;
  try {
    await done;
  } finally {
    await run.stop();
  }
}

/** What is to be read of each partition that holds any. */
async function rangesOf({ admin, topic, sinceMs, from }: ReadBackOptions): Promise<Map<number, Range>> {
  const ends = await admin.fetchTopicOffsets(topic);
  const starts = sinceMs === null ? [] : await admin.fetchTopicOffsetsByTimestamp(topic, sinceMs);
  const startOf = new Map(starts.map(({ partition, offset }) => [partition, Number(offset)]));
  return new Map(
    ends.flatMap(({ partition, low, high }) => {
      const given = from === undefined ? startOf.get(partition) : (from.get(partition) ?? Number(high));
      const first = Math.max(Number(low), given ?? 0);
      return first < Number(high) ? [[partition, { first, end: Number(high), next: first }]] : [];
    }),
  );
}
