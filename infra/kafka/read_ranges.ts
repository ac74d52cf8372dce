import { randomUUID } from 'node:crypto';
import type { Consumer, EachBatchPayload, Kafka } from 'kafkajs';
import type { OffsetRange } from '#pipelines/warehouse/block.ts';
import { type InRecord, toInRecord } from './record.ts';
import { CONSUMER_RETRY, runConsumer } from './run_consumer.ts';

export interface ReadRangesOptions {
  kafka: Kafka;
  topic: string;
  groupPrefix: string;
  ranges: ReadonlyMap<number, OffsetRange>;
}

const FETCH_WAIT_MS = 100;

/**
 * The committed records of ranges of a topic that are still there, by partition and in order, whoever owns the partitions.
 * It joins a group of its own and commits nothing.
 */
export async function readRanges(options: ReadRangesOptions): Promise<Map<number, InRecord[]>> {
  const { kafka, topic, ranges, groupPrefix } = options;
  const consumer = kafka.consumer({
    groupId: `${groupPrefix}.ranges.${topic}.${randomUUID()}`,
    maxWaitTimeInMs: FETCH_WAIT_MS,
    maxBytes: 16 * 1024 * 1024,
    readUncommitted: false,
    allowAutoTopicCreation: false,
    retry: CONSUMER_RETRY,
  });
  await consumer.connect();
  await consumer.subscribe({ topics: [topic], fromBeginning: true });
  return await read(consumer, topic, ranges);
}

async function read(
  consumer: Consumer,
  topic: string,
  ranges: ReadonlyMap<number, OffsetRange>,
): Promise<Map<number, InRecord[]>> {
  const found = new Map([...ranges.keys()].map((partition): [number, InRecord[]] => [partition, []]));
  const open = new Set(ranges.keys());
  const { promise: done, resolve, reject } = Promise.withResolvers<void>();
  // Only this event counts what is not handed over, such as the marks of transactions.
  consumer.on(consumer.events.END_BATCH_PROCESS, ({ payload }) => {
    const range = ranges.get(payload.partition);
    if (range !== undefined && Number(payload.lastOffset) >= range.last) open.delete(payload.partition);
    if (open.size === 0) resolve();
  });
  const eachBatch = async ({ batch }: EachBatchPayload): Promise<void> => {
    const range = ranges.get(batch.partition);
    if (range === undefined || !open.has(batch.partition)) return;
    for (const record of batch.messages.map(toInRecord)) {
      if (record.offset >= range.first && record.offset <= range.last) found.get(batch.partition)?.push(record);
    }
  };
  const running = runConsumer(consumer, { autoCommit: false, eachBatch }, reject);
  for (const [partition, { first }] of ranges) consumer.seek({ topic, partition, offset: String(first) });
  const run = await running;
  try {
    await done;
  } finally {
    await run.stop();
  }
  return found;
}
