import { EventEmitter } from 'node:events';
import type { Consumer, ConsumerRunConfig, EachBatchPayload, Kafka } from 'kafkajs';

const EVENTS = {
  FETCH: 'consumer.fetch',
  HEARTBEAT: 'consumer.heartbeat',
  GROUP_JOIN: 'consumer.group_join',
  CRASH: 'consumer.crash',
  START_BATCH_PROCESS: 'consumer.start_batch_process',
  END_BATCH_PROCESS: 'consumer.end_batch_process',
  COMMIT_OFFSETS: 'consumer.commit_offsets',
};

/** A consumer that does only what a test has it do. */
interface FakeConsumer {
  emit(event: keyof typeof EVENTS, payload?: object): void;
  /** Hands over records of a partition that were fetched at the first one's offset. */
  fetch(partition: number, ...offsets: number[]): Promise<void>;
  resolved: string[];
  /** Whether it was asked to close. */
  closed: boolean;
}

export interface FakeKafka {
  kafka: Kafka;
  /** In the order in which they were made. */
  consumers: FakeConsumer[];
}

/** A client whose consumers are fakes; `run` and `disconnect` of each take as long as a test wants. */
export function fakeKafka(given: { run?(): Promise<void>; disconnect?(): Promise<void> } = {}): FakeKafka {
  const consumers: FakeConsumer[] = [];
  return { consumers, kafka: { consumer: () => make(consumers, given) } as unknown as Kafka };
}

function make(consumers: FakeConsumer[], given: Parameters<typeof fakeKafka>[0] = {}): Consumer {
  const emitter = new EventEmitter();
  let config: ConsumerRunConfig = {};
  const fake: FakeConsumer = {
    emit: (event, payload = {}) => void emitter.emit(EVENTS[event], { payload }),
    async fetch(partition, ...offsets) {
      await config.eachBatch?.(payloadOf(partition, offsets, fake));
      fake.emit('END_BATCH_PROCESS', { partition, lastOffset: String(offsets.at(-1)) });
    },
    resolved: [],
    closed: false,
  };
  consumers.push(fake);
  const nothing = async (): Promise<void> => undefined;
  return {
    events: EVENTS,
    on: emitter.on.bind(emitter),
    connect: nothing,
    subscribe: nothing,
    async run(wanted: ConsumerRunConfig) {
      config = wanted;
      await given.run?.();
    },
    async disconnect() {
      fake.closed = true;
      await given.disconnect?.();
    },
    seek: () => undefined,
    pause: () => undefined,
    resume: () => undefined,
  } as unknown as Consumer;
}

function payloadOf(partition: number, offsets: readonly number[], { resolved }: FakeConsumer): EachBatchPayload {
  const messages = offsets.map((offset) => ({ offset: String(offset), timestamp: '0', key: null, value: null }));
  const batch = {
    topic: 't',
    partition,
    fetchedOffset: String(offsets[0]),
    highWatermark: '100',
    messages,
    lastOffset: () => String(offsets.at(-1)),
  };
  return {
    batch,
    isRunning: () => true,
    isStale: () => false,
    resolveOffset: (offset: string) => resolved.push(offset),
  } as unknown as EachBatchPayload;
}
