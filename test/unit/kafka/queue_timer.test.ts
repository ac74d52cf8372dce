import { createRequire } from 'node:module';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { patchQueueTimer } from '#infra/kafka/kafkajs_patches/client_patches.ts';

interface Queue {
  push(request: object): void;
  fulfillRequest(answer: { correlationId: number; payload: null; size: number }): void;
  maybeThrottle(ms: number): void;
  destroy(): void;
}

const require = createRequire(import.meta.url);
const QueueOfClient = require('kafkajs/src/network/requestQueue/index.js') as new (options: object) => Queue;
const LOGGER = { debug: () => undefined, warn: () => undefined };

/** A queue as a connection has it, and the requests it sent. */
function openQueue(maxInFlightRequests: number): { queue: Queue; sent: number[]; ask(id: number): void } {
  const queue = new QueueOfClient({
    maxInFlightRequests,
    requestTimeout: 30_000,
    enforceRequestTimeout: false,
    clientId: 'test',
    broker: 'broker:9092',
    logger: LOGGER,
    isConnected: () => true,
  });
  const sent: number[] = [];
  const ask = (id: number): void =>
    queue.push({
      entry: { correlationId: id, apiName: 'Test', apiKey: 0, apiVersion: 0, resolve: () => undefined },
      expectResponse: true,
      sendRequest: () => sent.push(id),
    });
  return { queue, sent, ask };
}

const answer = (queue: Queue, correlationId: number): void =>
  queue.fulfillRequest({ correlationId, payload: null, size: 0 });

beforeEach(() => {
  patchQueueTimer();
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test('a queue in which nothing waits sets no timer', () => {
  const { queue, sent, ask } = openQueue(1);
  ask(1);
  answer(queue, 1);
  expect(sent).toEqual([1]);
  expect(vi.getTimerCount()).toBe(0);
});

test('what waits for an answer goes out with it', () => {
  const { queue, sent, ask } = openQueue(1);
  ask(1);
  ask(2);
  expect(sent).toEqual([1]);
  answer(queue, 1);
  expect(sent).toEqual([1, 2]);
});

test('what waits for the end of a throttling goes out then, and the timer ends with it', () => {
  const { queue, sent, ask } = openQueue(10);
  queue.maybeThrottle(500);
  ask(1);
  ask(2);
  vi.advanceTimersByTime(499);
  expect(sent).toEqual([]);
  vi.advanceTimersByTime(2);
  expect(sent).toEqual([1, 2]);
  expect(vi.getTimerCount()).toBe(0);
});

test('a throttling that is made longer is kept', () => {
  const { queue, sent, ask } = openQueue(10);
  queue.maybeThrottle(500);
  ask(1);
  queue.maybeThrottle(900);
  vi.advanceTimersByTime(899);
  expect(sent).toEqual([]);
  vi.advanceTimersByTime(20);
  expect(sent).toEqual([1]);
});

test('a queue that is destroyed sets none', () => {
  const { queue, ask } = openQueue(1);
  ask(1);
  ask(2);
  queue.destroy();
  expect(vi.getTimerCount()).toBe(0);
});
