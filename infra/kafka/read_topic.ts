// Reads topics without committing: ranges, and whole topics up to the end they had at the start.

import { randomUUID } from 'node:crypto';
import { type Admin, type EachBatchPayload, type Kafka, PartitionAssigners } from 'kafkajs';
import { StageFailedError } from '#infra/errors.ts';
import type { OffsetRange } from '#pipelines/warehouse/block.ts';
import type { KafkaSession } from './client.ts';
import { CONSUMER_RETRY, PAUSE_MS, passes, watchForStall } from './consumer/group_consumer.ts';
import { reportingAssigner } from './kafkajs_patches/group_patches.ts';
import { topicOffsets, topicOffsetsAt } from './offsets.ts';
import { type InRecord, toInRecord } from './record.ts';

/**
 * Reads the committed records that a topic holds now with the clients of a session, one after the other.
 * Throws what `onRecord` throws.
 *
 * @param from The first offset of each partition that is read; without it all are, from their beginning.
 */
export function readTopic(
  { kafka, admin, config }: KafkaSession,
  topic: string,
  onRecord: (record: InRecord, partition: number) => Promise<void> | void,
  from?: ReadonlyMap<number, number>,
): Promise<void> {
  return readBack({
    ...{ kafka, admin, topic, groupPrefix: config.prefix, sinceMs: null },
    ...(from === undefined ? {} : { from }),
    async onRecords(records, partition) {
      for (const record of records) await onRecord(record, partition);
    },
  });
}

export interface ReadBackOptions extends Omit<ReadPartitionsOptions, 'spans'> {
  admin: Admin;
  /**
   * Records with an earlier timestamp (milliseconds since 1970 UTC) are skipped where possible. Null: from the beginning.
   */
  sinceMs: number | null;
  /** The first offset of each partition, instead of a time; a partition that is missing is not read. */
  from?: ReadonlyMap<number, number>;
  /** Offsets before which partitions were read already. */
  passed?: ReadonlyMap<number, number>;
}

/**
 * Reads the committed records that a topic holds now, and ends at what was its end at the call. Holds one fetch in memory.
 * Throws what `onRecords` throws.
 */
export async function readBack(options: ReadBackOptions): Promise<void> {
  const spans = await spansOf(options);
  if (spans.size > 0) await readPartitions({ ...options, spans });
}

/** The range to read of each partition that has records. */
async function spansOf({ admin, topic, sinceMs, from, passed }: ReadBackOptions): Promise<Map<number, Span>> {
  const ends = await topicOffsets(admin, topic);
  const starts = sinceMs === null ? [] : await topicOffsetsAt(admin, topic, sinceMs);
  const startOf = new Map(starts.map(({ partition, offset }) => [partition, Number(offset)]));
  return new Map(
    ends.flatMap(({ partition, low, high }) => {
      const given = from === undefined ? startOf.get(partition) : (from.get(partition) ?? Number(high));
      const first = Math.max(Number(low), given ?? 0, passed?.get(partition) ?? 0);
      return first < Number(high) ? [[partition, { first, end: Number(high) }]] : [];
    }),
  );
}

interface ReadRangesOptions extends Pick<ReadPartitionsOptions, 'kafka' | 'topic' | 'groupPrefix'> {
  admin: Admin;
  ranges: ReadonlyMap<number, OffsetRange>;
}

/**
 * The committed records of offset ranges of a topic, by partition and in order. Holds all of them in memory. What retention
 * has deleted is left out.
 */
export async function readRanges({ ranges, admin, ...options }: ReadRangesOptions): Promise<Map<number, InRecord[]>> {
  const found = new Map([...ranges.keys()].map((partition): [number, InRecord[]] => [partition, []]));
  const spans = heldOf(ranges, await topicOffsets(admin, options.topic));
  if (spans.size === 0) return found;
  await readPartitions({
    ...options,
    spans,
    async onRecords(records, partition) {
      const { first, last } = ranges.get(partition) ?? { first: 0, last: -1 };
      found.get(partition)?.push(...records.filter(({ offset }) => offset >= first && offset <= last));
    },
  });
  return found;
}

/** The parts of the ranges that the topic still has; a range of which it has nothing is left out. */
function heldOf(
  ranges: ReadonlyMap<number, OffsetRange>,
  offsets: readonly { partition: number; low: string }[],
): Map<number, Span> {
  return new Map(
    offsets.flatMap(({ partition, low }) => {
      const range = ranges.get(partition);
      const first = Math.max(range?.first ?? 0, Number(low));
      return range === undefined || first > range.last ? [] : [[partition, { first, end: range.last + 1 }]];
    }),
  );
}

/** Offsets from `first` up to, and without, `end`. */
interface Span {
  first: number;
  end: number;
}

interface ReadPartitionsOptions extends Pick<ReadAloneOptions, 'kafka' | 'topic' | 'groupPrefix'> {
  /** By partition; at least one, and none of them empty. */
  spans: ReadonlyMap<number, Span>;
  /**
   * Takes records of a partition, in order and each once, and possibly some behind its range; partitions are read side by
   * side.
   */
  onRecords(records: readonly InRecord[], partition: number): Promise<void>;
  /** Offsets passed and offsets to pass in all. */
  onProgress?(done: number, total: number): void;
}

const PARTITIONS_SIDE_BY_SIDE = 4;
const FETCH_WAIT_MS = 100;
const FETCH_BYTES_MAX = 16 * 1024 * 1024;

/**
 * Reads the committed records of offset ranges of a topic, whoever owns the partitions, and ends. Holds one fetch in
 * memory. Throws what `onRecords` throws.
 */
export async function readPartitions({
  spans,
  onRecords,
  onProgress,
  ...options
}: ReadPartitionsOptions): Promise<void> {
  const next = new Map([...spans].map(([partition, { first }]) => [partition, first]));
  const total = [...spans.values()].reduce((sum, { first, end }) => sum + end - first, 0);
  const { promise: done, resolve, reject } = Promise.withResolvers<void>();
  let failed = false;
  const leftIn = (partition: number, { end }: Span): number => Math.max(end - (next.get(partition) ?? end), 0);
  const reading = await readWithoutGroup({
    ...options,
    groupPrefix: `${options.groupPrefix}.once`,
    next,
    fetchWaitMs: FETCH_WAIT_MS,
    fetchBytesMax: FETCH_BYTES_MAX,
    concurrency: PARTITIONS_SIDE_BY_SIDE,
    async onRecords(records, partition) {
      const end = spans.get(partition)?.end ?? 0;
      if (failed || (records[0]?.offset ?? end) >= end) return;
      try {
        await onRecords(records, partition);
      } catch (error) {
        failed = true;
        reject(error);
      }
    },
    onPassed() {
      const left = [...spans].reduce((sum, [of, span]) => sum + leftIn(of, span), 0);
      onProgress?.(total - left, total);
      if (!failed && left === 0) resolve();
    },
    onFatal: reject,
  });
  try {
    await done;
  } finally {
    await reading.stop();
  }
}

export interface ReadAloneOptions {
  kafka: Kafka;
  topic: string;
  /** Prefix of the groups that are made for this reader; they commit nothing. */
  groupPrefix: string;
  /**
   * The offset to read from by partition, which moves as records are read; a partition that is missing is read from its
   * beginning.
   */
  next: Map<number, number>;
  fetchWaitMs: number;
  fetchBytesMax: number;
  /** Partitions taken side by side. */
  concurrency: number;
  /** Takes committed records of a partition, in order and each once. If it throws, it is given them again. */
  onRecords(records: readonly InRecord[], partition: number): Promise<void>;
  /** Called after each fetch of a partition, also if it held only transaction markers, or if the offset was deleted. */
  onPassed(partition: number): void;
  /** Called when the reader starts, and each time it starts again, with or without an `onCrashed` before. */
  onJoined?(): void;
  onCrashed?(): void;
  /** Called when a broker has answered, if only that there is nothing new. */
  onFetched?(): void;
  onFatal(error: unknown): void;
}

export interface ReadingAlone {
  stop(): Promise<void>;
}

/** Longest wait for a client that is being closed; nothing that it still does has any effect. */
const CLOSE_MS_MAX = 5_000;

/**
 * Reads all partitions of a topic as the only member of a group, and goes on at its position after any crash of the client.
 * Each start has a group of its own: in the old group it would wait for the crashed member until that one's session ends.
 * Only one consumer at a time hands over records: the next one starts when the work of the one before is done.
 */
export async function readWithoutGroup(options: ReadAloneOptions): Promise<ReadingAlone> {
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  let reader: ReturnType<typeof createReader> | null = null;
  const inHand = new Set<Promise<void>>();

  async function begin(): Promise<void> {
    await Promise.allSettled(inHand);
    if (stopped) return;
    reader = createReader(options, inHand, (error) => {
      options.onCrashed?.();
      again(error);
    });
    await reader.run();
  }

  /** Retries for ever: a process that follows its settings goes on with those it has. */
  function again(error: unknown): void {
    if (stopped) return;
    if (error instanceof Error && (passes(error) || error instanceof StageFailedError)) {
      timer = setTimeout(() => void begin().catch(again), PAUSE_MS);
    } else options.onFatal(error);
  }

  await begin();
  return {
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await reader?.close();
    },
  };
}

/** One consumer, from its start to its crash. */
function createReader(options: ReadAloneOptions, inHand: Set<Promise<void>>, onEnded: (error: unknown) => void) {
  const { kafka, topic, groupPrefix, next, concurrency } = options;
  let over = false;
  const consumer = kafka.consumer({
    groupId: `${groupPrefix}.${topic}.${randomUUID()}`,
    partitionAssigners: [
      reportingAssigner(PartitionAssigners.roundRobin, {
        outOfRange: ({ partition, start }) => pass(partition, start),
      }),
    ],
    maxWaitTimeInMs: options.fetchWaitMs,
    maxBytes: options.fetchBytesMax,
    readUncommitted: false,
    allowAutoTopicCreation: false,
    retry: { ...CONSUMER_RETRY, restartOnFailure: () => Promise.resolve(false) },
  });
  const { events } = consumer;
  consumer.on(events.FETCH, () => {
    if (!over) options.onFetched?.();
  });
  // The client forgets its seeks when it joins again, and a group that commits nothing starts at the beginning.
  consumer.on(events.GROUP_JOIN, () => {
    if (over) return;
    options.onJoined?.();
    for (const [partition, offset] of next) consumer.seek({ topic, partition, offset: String(offset) });
  });
  // The client counts filtered records, such as transaction markers, in this event only.
  consumer.on(events.END_BATCH_PROCESS, ({ payload: { partition, lastOffset } }) =>
    pass(partition, Number(lastOffset) + 1),
  );
  const stopWatch = watchForStall(consumer, end);
  consumer.on(events.CRASH, ({ payload }) => end(payload.error));

  function moveTo(partition: number, offset: number): void {
    next.set(partition, Math.max(next.get(partition) ?? 0, offset));
  }

  function pass(partition: number, offset: number): void {
    if (over) return;
    moveTo(partition, offset);
    options.onPassed(partition);
  }

  /** After this no callback is called any more, though the client may hang. */
  async function close(): Promise<void> {
    over = true;
    stopWatch();
    const closed = consumer.disconnect().catch(() => undefined);
    await Promise.race([closed, new Promise((resolve) => setTimeout(resolve, CLOSE_MS_MAX).unref())]);
  }

  function end(error: unknown): void {
    if (over) return;
    void close();
    onEnded(error);
  }

  /** A consumer that is closed while it starts is closed again then: before that the client has nothing to close. */
  async function step(work: Promise<void>): Promise<void> {
    await work;
    if (over) await close();
  }

  async function take({ partition, messages }: EachBatchPayload['batch']): Promise<void> {
    const from = next.get(partition) ?? 0;
    const records = messages.map(toInRecord).filter(({ offset }) => offset >= from);
    const last = records.at(-1);
    if (last === undefined) return;
    await options.onRecords(records, partition);
    // This consumer may have ended by now: the next one must not hand over the same records.
    moveTo(partition, last.offset + 1);
  }

  async function eachBatch({ batch }: EachBatchPayload): Promise<void> {
    if (over) return;
    const work = take(batch);
    inHand.add(work);
    await work.finally(() => inHand.delete(work));
  }

  return {
    close,
    /** Throws if it cannot start. */
    async run(): Promise<void> {
      try {
        await step(consumer.connect());
        if (!over) await step(consumer.subscribe({ topics: [topic], fromBeginning: true }));
        const config = { autoCommit: false, partitionsConsumedConcurrently: concurrency, eachBatch };
        if (!over) await step(consumer.run(config));
      } catch (error) {
        // The error that ended it is known already.
        if (over) return;
        await close();
        throw error;
      }
    },
  };
}
