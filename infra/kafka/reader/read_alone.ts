import { randomUUID } from 'node:crypto';
import { type Consumer, type EachBatchPayload, type Kafka, PartitionAssigners } from 'kafkajs';
import { StageFailedError } from '#infra/errors.ts';
import { CONSUMER_RETRY, PAUSE_MS, passes } from '#infra/kafka/consumer/run_consumer.ts';
import { watchForStall } from '#infra/kafka/consumer/stall_watchdog.ts';
import { reportingAssigner } from '#infra/kafka/kafkajs_patches/out_of_range.ts';
import { type InRecord, toInRecord } from '#infra/kafka/record.ts';

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

/** One consumer, from its start to its crash. */
interface Reader {
  /** Throws if it cannot start. */
  run(): Promise<void>;
  /** After this no callback is called any more, though its client may hang. */
  close(): Promise<void>;
}

/** Longest wait for a client that is being closed; nothing that it still does has any effect. */
const CLOSE_MS_MAX = 5_000;

/**
 * Reads all partitions of a topic as the only member of a group, and goes on at its position after any crash of the client.
 * Each start has a group of its own: in the old group it would wait for the crashed member until that one's session ends.
 * Only one consumer at a time hands over records: the next one starts when the work of the one before is done.
 */
export async function readAlone(options: ReadAloneOptions): Promise<ReadingAlone> {
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  let reader: Reader | null = null;
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

function createReader(
  options: ReadAloneOptions,
  inHand: Set<Promise<void>>,
  onEnded: (error: unknown) => void,
): Reader {
  let over = false;
  const consumer = consumerOf(options, () => over);
  const stopWatch = watchForStall(consumer, end);
  consumer.on(consumer.events.CRASH, ({ payload }) => end(payload.error));

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

  /**
   * A consumer that is closed while it starts is closed again once it has started: before that the client has nothing to
   * close.
   */
  async function step(work: Promise<void>): Promise<void> {
    await work;
    if (over) await close();
  }

  async function eachBatch(payload: EachBatchPayload): Promise<void> {
    if (over) return;
    const work = takeBatch(options, payload);
    inHand.add(work);
    await work.finally(() => inHand.delete(work));
  }

  return {
    close,
    async run() {
      try {
        await step(consumer.connect());
        if (!over) await step(consumer.subscribe({ topics: [options.topic], fromBeginning: true }));
        const config = { autoCommit: false, partitionsConsumedConcurrently: options.concurrency, eachBatch };
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

function consumerOf(
  { kafka, topic, groupPrefix, next, ...options }: ReadAloneOptions,
  isOver: () => boolean,
): Consumer {
  function pass(partition: number, end: number): void {
    if (isOver()) return;
    next.set(partition, Math.max(next.get(partition) ?? 0, end));
    options.onPassed(partition);
  }
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
  consumer.on(consumer.events.FETCH, () => {
    if (!isOver()) options.onFetched?.();
  });
  // The client forgets its seeks when it joins again, and a group that commits nothing starts at the beginning.
  consumer.on(consumer.events.GROUP_JOIN, () => {
    if (isOver()) return;
    options.onJoined?.();
    for (const [partition, offset] of next) consumer.seek({ topic, partition, offset: String(offset) });
  });
  // The client counts filtered records, such as transaction markers, in this event only.
  consumer.on(consumer.events.END_BATCH_PROCESS, ({ payload: { partition, lastOffset } }) =>
    pass(partition, Number(lastOffset) + 1),
  );
  return consumer;
}

async function takeBatch({ next, onRecords }: ReadAloneOptions, { batch }: EachBatchPayload): Promise<void> {
  const from = next.get(batch.partition) ?? 0;
  const records = batch.messages.map(toInRecord).filter(({ offset }) => offset >= from);
  const last = records.at(-1);
  if (last === undefined) return;
  await onRecords(records, batch.partition);
  // This consumer may have ended by now: the next one must not hand over the same records.
  next.set(batch.partition, Math.max(next.get(batch.partition) ?? 0, last.offset + 1));
}
