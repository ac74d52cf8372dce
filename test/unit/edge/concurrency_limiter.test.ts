import { request } from 'node:http';
import { afterEach, expect, test } from 'vitest';
import type { SendResult } from '#infra/kafka/producer/sender.ts';
import { createConcurrencyLimiter } from '#services/edge/concurrency_limiter.ts';
import { newEvent, postEvents } from '#test/harness/ingest.ts';
import { until } from '#test/harness/until.ts';
import { startEdge, type TestEdge } from './edge.ts';

let edge: TestEdge | undefined;
afterEach(async () => {
  await edge?.close();
  edge = undefined;
});

test('a permit gives back what it held, once', () => {
  const limiter = createConcurrencyLimiter({ requestsMax: 2, bytesMax: 100 });
  const [first, second] = [limiter.acquire(), limiter.acquire()];
  expect(limiter.acquire()).toBeNull();
  expect([first?.reserveBytes(60), second?.reserveBytes(60), second?.reserveBytes(40)]).toEqual([true, false, true]);
  first?.release();
  first?.release();
  expect([limiter.requests, limiter.bytes]).toEqual([1, 40]);
  expect(first?.reserveBytes(1)).toBe(false);
});

test('beyond the requests that may be open: 503 at once, and room again when they are answered', async () => {
  edge = await startEdge({ limiter: { requestsMax: 3 } });
  const { url, serverKey, answers, limiter } = edge;
  const { promise, resolve } = Promise.withResolvers<SendResult>();
  answers.push(promise, promise, promise);
  const held = Array.from({ length: 3 }, () => postEvents(url, serverKey, [newEvent()]));
  await until(
    'three requests open',
    () => limiter.requests,
    (open) => open === 3,
  );
  const refused = await postEvents(url, serverKey, [newEvent()]);
  expect(refused).toMatchObject({ status: 503, body: { error: { code: 'overloaded' } } });
  expect(refused.headers.get('retry-after')).toMatch(/^\d+$/);
  expect((await fetch(`${url}/v1/health`)).status).toBe(200);
  resolve({ ok: true });
  for (const answer of await Promise.all(held)) expect(answer.status).toBe(200);
  await until(
    'room again',
    () => [limiter.requests, limiter.bytes],
    ([open, bytes]) => open === 0 && bytes === 0,
  );
  expect(await postEvents(url, serverKey, [newEvent()])).toMatchObject({ status: 200 });
});

test('beyond the bytes that may be held: 503 in the middle of a body', async () => {
  edge = await startEdge({ limiter: { bytesMax: 50_000 } });
  const event = newEvent({ properties: { text: 'x'.repeat(60_000) } });
  expect(await postEvents(edge.url, edge.serverKey, [event])).toMatchObject({ status: 503 });
  expect(await postEvents(edge.url, edge.serverKey, [newEvent()])).toMatchObject({ status: 200 });
});

test('a sender who goes away in the middle gives his place back', async () => {
  edge = await startEdge();
  const { url, serverKey, limiter } = edge;
  const headers = { 'x-svc-key': serverKey, 'content-type': 'application/json', 'content-length': '1000' };
  const sent = request(`${url}/v1/ingest`, { method: 'POST', headers });
  sent.on('error', () => undefined);
  sent.write('{"events"');
  await until(
    'the first bytes',
    () => limiter.bytes,
    (bytes) => bytes === 9,
  );
  sent.destroy();
  await until(
    'the place back',
    () => [limiter.requests, limiter.bytes],
    ([open, bytes]) => open === 0 && bytes === 0,
  );
  expect(edge.unknown).toEqual([]);
});
