import type { Kafka } from 'kafkajs';
import { recoveryOf } from './errors.ts';
import { type ReadingAlone as Following, readAlone } from './read_alone.ts';

export interface FollowOptions {
  kafka: Kafka;
  topic: string;
  groupPrefix: string;
  /** A record in the order of its partition; a null value is a tombstone. */
  onRecord(key: string, value: Buffer | null): Promise<void> | void;
  onFatal(error: unknown): void;
}

export type { Following };

const FETCH_WAIT_MS = 250;
const FETCH_BYTES_MAX = 10 * 1024 * 1024;

/**
 * Reads a compacted topic from its beginning and follows it. Resolves when everything that stood in it at the call was
 * handed over. Each process reads all partitions. A record whose handling fails is handed over again; an unknown error
 * is fatal.
 */
export async function followTopic(options: FollowOptions): Promise<Following> {
  const { kafka, topic, onRecord, onFatal } = options;
  const pending = await endOffsets(kafka, topic);
  const next = new Map<number, number>();
  const ready = Promise.withResolvers<void>();
  function fail(error: unknown): void {
    ready.reject(error);
    onFatal(error);
  }
  function passed(partition: number): void {
    const end = pending.get(partition);
    if (end !== undefined && (next.get(partition) ?? 0) >= end) pending.delete(partition);
    if (pending.size === 0) ready.resolve();
  }
  const reading = await readAlone({
    kafka,
    topic,
    groupPrefix: `${options.groupPrefix}.table`,
    next,
    fetchWaitMs: FETCH_WAIT_MS,
    fetchBytesMax: FETCH_BYTES_MAX,
    concurrency: 1,
    async onRecords(records, partition) {
      for (const { key, value, offset } of records) {
        try {
          await onRecord(key?.toString('utf8') ?? '', value);
        } catch (error) {
          if (recoveryOf(error) === 'stop') fail(error);
          throw error;
        }
        next.set(partition, offset + 1);
      }
    },
    onPassed: passed,
    onFatal: fail,
  });
  passed(-1);
  await ready.promise;
  return reading;
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
