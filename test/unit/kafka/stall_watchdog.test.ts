import { EventEmitter } from 'node:events';
import type { Consumer } from 'kafkajs';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { watchForStall } from '#infra/kafka/consumer/group_consumer.ts';

const MINUTE_MS = 60_000;
const events = { FETCH: 'consumer.fetch', HEARTBEAT: 'consumer.heartbeat', GROUP_JOIN: 'consumer.group_join' };

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function watched(isHalted?: () => boolean) {
  const emitter = new EventEmitter();
  const fatal: unknown[] = [];
  const consumer = { events, on: emitter.on.bind(emitter) } as unknown as Consumer;
  const stop = watchForStall(consumer, (error) => fatal.push(error), isHalted);
  return { emitter, fatal, stop };
}

test('a consumer that is silent for two minutes is ended, once', () => {
  const { fatal, stop } = watched();
  vi.advanceTimersByTime(1.9 * MINUTE_MS);
  expect(fatal).toEqual([]);
  vi.advanceTimersByTime(5 * MINUTE_MS);
  expect(fatal).toMatchObject([{ message: 'the consumer of the group is stalled' }]);
  stop();
});

test.each(Object.values(events))('%s is a sign of life', (event) => {
  const { emitter, fatal, stop } = watched();
  for (let minutes = 0; minutes < 10; minutes++) {
    vi.advanceTimersByTime(MINUTE_MS);
    emitter.emit(event);
  }
  expect(fatal).toEqual([]);
  stop();
});

test.each(Object.values(events))('%s of one that takes nothing is none', (event) => {
  let isHalted = true;
  const { emitter, fatal, stop } = watched(() => isHalted);
  vi.advanceTimersByTime(1.5 * MINUTE_MS);
  isHalted = false;
  emitter.emit(event);
  isHalted = true;
  for (let seconds = 0; seconds < 100; seconds += 10) {
    vi.advanceTimersByTime(10_000);
    emitter.emit(event);
  }
  expect(fatal).toEqual([]);
  vi.advanceTimersByTime(MINUTE_MS);
  expect(fatal).toHaveLength(1);
  stop();
});

test('nothing is ended once the watch is stopped', () => {
  const { fatal, stop } = watched();
  stop();
  vi.advanceTimersByTime(10 * MINUTE_MS);
  expect(fatal).toEqual([]);
});
