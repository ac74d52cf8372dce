import { randomUUID } from 'node:crypto';
import type { Consumer, EachBatchPayload, Kafka } from 'kafkajs';
import { type InRecord, toInRecord } from './record.ts';
import { CONSUMER_RETRY, runConsumer } from './run_consumer.ts';

/** Offsets from `first` up to, and without, `end`. */
export interface Span {
  first: number;
  end: number;
}

export interface ReadPartitionsOptions {
  kafka: Kafka;
  topic: string;
  /** Of the group that is made for this reading; it commits nothing. */
  groupPrefix: string;
  /** By partition; at least one, and none of them empty. */
  spans: ReadonlyMap<number, Span>;
  /** Records of a partition in their order, each once, and possibly some behind its span; partitions come side by side. */
  onRecords(records: readonly InRecord[], partition: number): Promise<void>;
  /** Offsets passed and offsets to pass in all. */
  onProgress(done: number, total: number): void;
}

const PARTITIONS_SIDE_BY_SIDE = 4;
const FETCH_WAIT_MS = 100;
const FETCH_BYTES_MAX = 16 * 1024 * 1024;

/**
 * Reads spans of a topic, committed records only, whoever owns the partitions, and ends. Memory holds one fetch. Throws
 * what `onRecords` throws.
 */
export async function readPartitions(options: ReadPartitionsOptions): Promise<void> {
  const { kafka, topic, groupPrefix } = options;
  const consumer = kafka.consumer({
    groupId: `${groupPrefix}.once.${topic}.${randomUUID()}`,
    maxWaitTimeInMs: FETCH_WAIT_MS,
    maxBytes: FETCH_BYTES_MAX,
    readUncommitted: false,
    allowAutoTopicCreation: false,
    retry: CONSUMER_RETRY,
  });
  await consumer.connect();
  await consumer.subscribe({ topics: [topic], fromBeginning: true });
  const reading = follow(consumer, options);
  const seek = (): void => {
    for (const [partition, offset] of reading.next) consumer.seek({ topic, partition, offset: String(offset) });
  };
  // The client forgets where it was sent when it joins again, and a group that commits nothing begins at the beginning.
  consumer.on(consumer.events.GROUP_JOIN, seek);
  const config = { autoCommit: false, partitionsConsumedConcurrently: PARTITIONS_SIDE_BY_SIDE };
  const running = runConsumer(consumer, { ...config, eachBatch: reading.eachBatch }, reading.fail);
  seek();
  const run = await running;
  try {
    await reading.done;
  } finally {
    await run.stop();
  }
}

interface Reading {
  /** By partition the offset behind what was passed. */
  next: ReadonlyMap<number, number>;
  /** Resolves when every span is passed. */
  done: Promise<void>;
  fail(error: unknown): void;
  eachBatch(payload: EachBatchPayload): Promise<void>;
}

function follow(consumer: Consumer, { spans, onRecords, onProgress }: ReadPartitionsOptions): Reading {
  const next = new Map([...spans].map(([partition, { first }]) => [partition, first]));
  const total = [...spans.values()].reduce((sum, { first, end }) => sum + end - first, 0);
  const { promise: done, resolve, reject } = Promise.withResolvers<void>();
  let failed = false;
  const leftIn = (partition: number, { end }: Span): number => Math.max(end - (next.get(partition) ?? end), 0);

  function pass(partition: number, lastOffset: string): void {
    const from = next.get(partition);
    if (from !== undefined) next.set(partition, Math.max(from, Number(lastOffset) + 1));
  }

  // The client counts filtered records, such as the marks of transactions, in this event only.
  consumer.on(consumer.events.END_BATCH_PROCESS, ({ payload: { partition, lastOffset } }) => {
    pass(partition, lastOffset);
    const left = [...spans].reduce((sum, [of, span]) => sum + leftIn(of, span), 0);
    onProgress(total - left, total);
    if (!failed && left === 0) resolve();
  });
  return {
    next,
    done,
    fail: reject,
    async eachBatch({ batch }) {
      const span = spans.get(batch.partition);
      const from = next.get(batch.partition) ?? 0;
      if (failed || span === undefined || from >= span.end || Number(batch.firstOffset()) >= span.end) return;
      const records = batch.messages.map(toInRecord).filter(({ offset }) => offset >= from);
      try {
        if (records.length > 0) await onRecords(records, batch.partition);
        pass(batch.partition, batch.lastOffset());
      } catch (error) {
        failed = true;
        reject(error);
      }
    },
  };
}
