import { EventEmitter } from 'node:events';
import type { Consumer } from 'kafkajs';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { watchSilence } from '#infra/kafka/silence.ts';

const MINUTE_MS = 60_000;
const events = { FETCH: 'consumer.fetch', HEARTBEAT: 'consumer.heartbeat', GROUP_JOIN: 'consumer.group_join' };

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function watched() {
  const emitter = new EventEmitter();
  const fatal: unknown[] = [];
  const consumer = { events, on: emitter.on.bind(emitter) } as unknown as Consumer;
  const stop = watchSilence(consumer, (error) => fatal.push(error));
  return { emitter, fatal, stop };
}

test('a consumer that is silent for two minutes is ended, once', () => {
  const { fatal, stop } = watched();
  vi.advanceTimersByTime(1.9 * MINUTE_MS);
  expect(fatal).toEqual([]);
  vi.advanceTimersByTime(5 * MINUTE_MS);
  expect(fatal).toMatchObject([{ message: 'the consumer of the group is silent' }]);
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

test('nothing is ended once the watch is stopped', () => {
  const { fatal, stop } = watched();
  stop();
  vi.advanceTimersByTime(10 * MINUTE_MS);
  expect(fatal).toEqual([]);
});
