import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type ReadAloneOptions, readWithoutGroup } from '#infra/kafka/read_topic.ts';
import { fakeKafka } from './fake_consumer.ts';

const MINUTE_MS = 60_000;
/** After a crash, before it is begun again. */
const PAUSE_MS = 1_000;
const never = (): Promise<never> => new Promise(() => undefined);

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function reading(given: Parameters<typeof fakeKafka>[0] = {}) {
  const { kafka, consumers } = fakeKafka(given);
  const told: string[] = [];
  const next = new Map([[0, 0]]);
  const options: ReadAloneOptions = {
    kafka,
    topic: 't',
    groupPrefix: 'g',
    next,
    fetchWaitMs: 100,
    fetchBytesMax: 1,
    concurrency: 1,
    onRecords: async (records) => void told.push(`records ${records.map(({ offset }) => offset).join(',')}`),
    onPassed: (partition) => void told.push(`passed ${partition} to ${next.get(partition)}`),
    onCrashed: () => void told.push('crashed'),
    onFatal: (error) => void told.push(`fatal ${String(error)}`),
  };
  return { options, consumers, told, next };
}

test('a silent reader is replaced, and nothing of it is heard when it wakes', async () => {
  const { options, consumers, told } = reading({ disconnect: never });
  const { stop } = await readWithoutGroup(options);
  await consumers[0]?.fetch(0, 0, 1);
  await vi.advanceTimersByTimeAsync(2.5 * MINUTE_MS);
  expect(consumers).toHaveLength(2);
  await consumers[0]?.fetch(0, 2, 3);
  await consumers[1]?.fetch(0, 1, 2);
  expect(told).toEqual(['records 0,1', 'passed 0 to 2', 'crashed', 'records 2', 'passed 0 to 3']);
  const stopped = stop();
  await vi.advanceTimersByTimeAsync(10_000);
  await stopped;
});

test('what a reader has in hand when it crashes is done before the next one begins, and handed over once', async () => {
  const { options, consumers, told } = reading();
  const gate = Promise.withResolvers<void>();
  options.onRecords = async (records) => {
    told.push(`records ${records.map(({ offset }) => offset).join(',')}`);
    if (records[0]?.offset === 0) await gate.promise;
  };
  const { stop } = await readWithoutGroup(options);
  const slow = consumers[0]?.fetch(0, 0, 1);
  consumers[0]?.emit('CRASH', { error: Object.assign(new Error('gone'), { retriable: true }) });
  await vi.advanceTimersByTimeAsync(10 * PAUSE_MS);
  expect(consumers).toHaveLength(1);
  gate.resolve();
  await slow;
  await vi.advanceTimersByTimeAsync(PAUSE_MS);
  expect(consumers).toHaveLength(2);
  await consumers[1]?.fetch(0, 0, 1, 2);
  expect(told).toEqual(['records 0,1', 'crashed', 'records 2', 'passed 0 to 3']);
  await stop();
});

test('a reader that is both silent and fails to begin is replaced by one', async () => {
  const run = Promise.withResolvers<void>();
  let runs = 0;
  const { options, consumers, told } = reading({
    run: () => {
      runs++;
      return runs === 2 ? run.promise : Promise.resolve();
    },
  });
  const { stop } = await readWithoutGroup(options);
  consumers[0]?.emit('CRASH', { error: Object.assign(new Error('gone'), { retriable: true }) });
  await vi.advanceTimersByTimeAsync(2.5 * MINUTE_MS);
  run.reject(Object.assign(new Error('late'), { retriable: true }));
  await vi.advanceTimersByTimeAsync(10 * PAUSE_MS);
  expect({ readers: consumers.length, told }).toEqual({ readers: 3, told: ['crashed', 'crashed'] });
  await stop();
});

test('one that is stopped while it begins again is closed when it has begun, and none follows', async () => {
  const run = Promise.withResolvers<void>();
  let runs = 0;
  const { options, consumers, told } = reading({
    run: () => {
      runs++;
      return runs === 2 ? run.promise : Promise.resolve();
    },
  });
  const { stop } = await readWithoutGroup(options);
  consumers[0]?.emit('CRASH', { error: Object.assign(new Error('gone'), { retriable: true }) });
  await vi.advanceTimersByTimeAsync(2 * PAUSE_MS);
  await stop();
  const second = consumers[1];
  if (second === undefined) throw new Error('it was not begun again');
  second.closed = false;
  run.resolve();
  await vi.advanceTimersByTimeAsync(MINUTE_MS);
  await second.fetch(0, 0);
  expect({ closed: second.closed, readers: consumers.length, told }).toEqual({
    closed: true,
    readers: 2,
    told: ['crashed'],
  });
});
