import { Kafka, logLevel } from 'kafkajs';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { internal } from '#infra/kafka/kafkajs_patches/client_patches.ts';
import { clusterMakerOf, passRetries } from '#infra/kafka/kafkajs_patches/clusters.ts';

const CONCURRENT_TRANSACTIONS = 51;
const RETRY = { initialRetryTime: 5, factor: 0.2, multiplier: 2, maxRetryTime: 1_000, retries: 25 };

interface EosManager {
  initProducerId(): Promise<void>;
  getProducerId(): string;
}
const createEosManager = internal<(options: object) => EosManager>('producer/eosManager/index.js');
const { createErrorFromCode } = internal<{ createErrorFromCode(code: number): Error }>('protocol/error.js');

/** A transactional producer's manager at a coordinator that still ends a transaction for so many requests. */
function managerOf(kafka: Kafka, busyTimes: number) {
  let asked = 0;
  const broker = {
    async initProducerId() {
      asked++;
      if (asked <= busyTimes) throw createErrorFromCode(CONCURRENT_TRANSACTIONS);
      return { producerId: '7', producerEpoch: 0 };
    },
  };
  const cluster = Object.assign(clusterMakerOf(kafka).make({}), {
    refreshMetadataIfNecessary: async () => undefined,
    findGroupCoordinator: async () => broker,
  });
  const logger = { debug: () => undefined };
  const manager = createEosManager({ logger, cluster, transactional: true, transactionalId: 'stage-0' });
  return { manager, asked: () => asked };
}

const client = (): Kafka => new Kafka({ brokers: ['127.0.0.1:1'], retry: RETRY, logLevel: logLevel.NOTHING });

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test('a producer whose transaction the brokers still end asks as often and as soon as it is told to', async () => {
  const kafka = client();
  passRetries(kafka, RETRY);
  const { manager, asked } = managerOf(kafka, 20);
  const begun = manager.initProducerId();
  await vi.advanceTimersByTimeAsync(10);
  expect(asked()).toBe(2);
  await vi.runAllTimersAsync();
  await begun;
  expect(manager.getProducerId()).toBe('7');
  expect(asked()).toBe(21);
});

test('of a client as it comes such a producer gives up sooner, whatever the client is told', async () => {
  const { manager, asked } = managerOf(client(), 20);
  const begun = expect(manager.initProducerId()).rejects.toMatchObject({ name: 'KafkaJSNumberOfRetriesExceeded' });
  await vi.runAllTimersAsync();
  await begun;
  expect(asked()).toBe(6);
});
