import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Consumer, type EachBatchPayload, type Kafka, PartitionAssigners } from 'kafkajs';
import { StageFailedError } from '#infra/errors.ts';
import { CONSUMER_RETRY, PAUSE_MS, passes } from '#infra/kafka/consumer/run_consumer.ts';
import { watchForStall } from '#infra/kafka/consumer/stall_watchdog.ts';
import { reportingAssigner } from '#infra/kafka/kafkajs_patches/out_of_range.ts';
import { type InRecord, toInRecord } from '#infra/kafka/record.ts';

export interface ReadAloneOptions {
  kafka: Kafka;
  topic: string;
  /** Of the groups that are made for this reading; they commit nothing. */
  groupPrefix: string;
  /** By partition the offset to read on from, moved as records are passed; partitions left out begin at their beginning. */
  next: Map<number, number>;
  fetchWaitMs: number;
  fetchBytesMax: number;
  /** Partitions taken side by side. */
  concurrency: number;
  /** Committed records of a partition in their order, each once. What is thrown has them handed over again. */
  onRecords(records: readonly InRecord[], partition: number): Promise<void>;
  /** Called after each fetch of a partition, also where it held nothing but transaction markers, or the offset it was sent to is deleted. */
  onPassed(partition: number): void;
  /** Called when reading begins, and when it begins again, after `onCrashed` or not. */
  onJoined?(): void;
  onCrashed?(): void;
  /** Called when a broker has answered, if only that there is nothing new. */
  onFetched?(): void;
  onFatal(error: unknown): void;
}

export interface ReadingAlone {
  stop(): Promise<void>;
}

/** One consumer, from its beginning to its crash. */
interface Reader {
  /** Throws where it cannot begin. */
  run(): Promise<void>;
  /** Nothing is told or handed over any more, though its client may hang. */
  close(): Promise<void>;
}

/** Longest that a client is waited for that is being closed: what it still does is heard by nobody. */
const CLOSE_MS_MAX = 5_000;

/**
 * Reads all partitions of a topic as the only member of a group, and goes on where it was after whatever crashes the
 * client. Each beginning has a group of its own: in the old one the member that crashed would be waited for until its
 * session ends. One reader at a time hands over records: the next one begins when what the one before had in hand is done.
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

  /** For as long as the trouble lasts: whoever reads settings goes on with those it has. */
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
    await Promise.race([closed, sleep(CLOSE_MS_MAX, undefined, { ref: false })]);
  }

  function end(error: unknown): void {
    if (over) return;
    void close();
    onEnded(error);
  }

  /** What is closed while it begins is closed again when it has: the client knows of nothing to close before. */
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
        // Whoever ended it has been told, or has done so.
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
  // The client forgets where it was sent when it joins again, and a group that commits nothing begins at the beginning.
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
  // Its reader may be over by now: the next one must not hand them over again.
  next.set(batch.partition, Math.max(next.get(batch.partition) ?? 0, last.offset + 1));
}
