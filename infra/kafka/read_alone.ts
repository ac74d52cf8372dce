import { randomUUID } from 'node:crypto';
import type { Consumer, EachBatchPayload, Kafka } from 'kafkajs';
import { StageFailedError } from './errors.ts';
import { type InRecord, toInRecord } from './record.ts';
import { CONSUMER_RETRY, PAUSE_MS, passes } from './run_consumer.ts';
import { watchSilence } from './silence.ts';

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
  /** Called after each fetch of a partition, also where it held nothing but marks of transactions. */
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

/**
 * Reads all partitions of a topic as the only member of a group, and goes on where it was after whatever crashes the
 * client. Each beginning has a group of its own: in the old one the member that crashed would be waited for until its
 * session ends.
 */
export async function readAlone(options: ReadAloneOptions): Promise<ReadingAlone> {
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  let leave = async (): Promise<void> => undefined;

  async function begin(): Promise<void> {
    const consumer = consumerOf(options);
    let over = false;
    const end = (error: unknown): void => {
      if (over) return;
      over = true;
      stopWatch();
      options.onCrashed?.();
      again(error);
    };
    const stopWatch = watchSilence(consumer, (error) => {
      void consumer.disconnect();
      end(error);
    });
    leave = () => {
      over = true;
      stopWatch();
      return consumer.disconnect();
    };
    consumer.on(consumer.events.CRASH, ({ payload }) => end(payload.error));
    try {
      await run(consumer, options);
    } catch (error) {
      await leave();
      throw error;
    }
    if (stopped) await leave();
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
      await leave();
    },
  };
}

function consumerOf({ kafka, topic, groupPrefix, next, onPassed, ...options }: ReadAloneOptions): Consumer {
  const consumer = kafka.consumer({
    groupId: `${groupPrefix}.${topic}.${randomUUID()}`,
    maxWaitTimeInMs: options.fetchWaitMs,
    maxBytes: options.fetchBytesMax,
    readUncommitted: false,
    allowAutoTopicCreation: false,
    retry: { ...CONSUMER_RETRY, restartOnFailure: () => Promise.resolve(false) },
  });
  consumer.on(consumer.events.FETCH, () => options.onFetched?.());
  // The client forgets where it was sent when it joins again, and a group that commits nothing begins at the beginning.
  consumer.on(consumer.events.GROUP_JOIN, () => {
    options.onJoined?.();
    for (const [partition, offset] of next) consumer.seek({ topic, partition, offset: String(offset) });
  });
  // The client counts filtered records, such as the marks of transactions, in this event only.
  consumer.on(consumer.events.END_BATCH_PROCESS, ({ payload: { partition, lastOffset } }) => {
    next.set(partition, Math.max(next.get(partition) ?? 0, Number(lastOffset) + 1));
    onPassed(partition);
  });
  return consumer;
}

async function run(consumer: Consumer, options: ReadAloneOptions): Promise<void> {
  await consumer.connect();
  await consumer.subscribe({ topics: [options.topic], fromBeginning: true });
  await consumer.run({
    autoCommit: false,
    partitionsConsumedConcurrently: options.concurrency,
    eachBatch: (payload) => takeBatch(options, payload),
  });
}

async function takeBatch({ next, onRecords }: ReadAloneOptions, { batch }: EachBatchPayload): Promise<void> {
  const from = next.get(batch.partition) ?? 0;
  const records = batch.messages.map(toInRecord).filter(({ offset }) => offset >= from);
  if (records.length > 0) await onRecords(records, batch.partition);
}
