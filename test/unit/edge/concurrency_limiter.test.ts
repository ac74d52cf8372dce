import { request } from 'node:http';
import { afterEach, expect, test } from 'vitest';
import type { SendResult } from '#infra/kafka/producer/sender.ts';
import { createGate } from '#services/edge/concurrency_limiter.ts';
import { newEvent, postEvents } from '#test/harness/ingest.ts';
import { until } from '#test/harness/until.ts';
import { startEdge, type TestEdge } from './edge.ts';

let edge: TestEdge | undefined;
afterEach(async () => {
  await edge?.close();
  edge = undefined;
});

test('a pass gives back what it held, once', () => {
  const gate = createGate({ requestsMax: 2, bytesMax: 100 });
  const [first, second] = [gate.enter(), gate.enter()];
  expect(gate.enter()).toBeNull();
  expect([first?.hold(60), second?.hold(60), second?.hold(40)]).toEqual([true, false, true]);
  first?.leave();
  first?.leave();
  expect([gate.requests, gate.bytes]).toEqual([1, 40]);
  expect(first?.hold(1)).toBe(false);
});

test('beyond the requests that may be open: 503 at once, and room again when they are answered', async () => {
  edge = await startEdge({ gate: { requestsMax: 3 } });
  const { url, serverKey, answers, gate } = edge;
  const { promise, resolve } = Promise.withResolvers<SendResult>();
  answers.push(promise, promise, promise);
  const held = Array.from({ length: 3 }, () => postEvents(url, serverKey, [newEvent()]));
  await until(
    'three requests open',
    () => gate.requests,
    (open) => open === 3,
  );
  const startedMs = performance.now();
  const refused = await postEvents(url, serverKey, [newEvent()]);
  expect(performance.now() - startedMs).toBeLessThan(1_000);
  expect(refused).toMatchObject({ status: 503, body: { error: { code: 'overloaded' } } });
  expect(refused.headers.get('retry-after')).toMatch(/^\d+$/);
  expect((await fetch(`${url}/v1/health`)).status).toBe(200);
  resolve({ ok: true });
  for (const answer of await Promise.all(held)) expect(answer.status).toBe(200);
  await until(
    'room again',
    () => [gate.requests, gate.bytes],
    ([open, bytes]) => open === 0 && bytes === 0,
  );
  expect(await postEvents(url, serverKey, [newEvent()])).toMatchObject({ status: 200 });
});

test('beyond the bytes that may be held: 503 in the middle of a body', async () => {
  edge = await startEdge({ gate: { bytesMax: 50_000 } });
  const event = newEvent({ properties: { text: 'x'.repeat(60_000) } });
  expect(await postEvents(edge.url, edge.serverKey, [event])).toMatchObject({ status: 503 });
  expect(await postEvents(edge.url, edge.serverKey, [newEvent()])).toMatchObject({ status: 200 });
});

test('a sender who goes away in the middle gives his place back', async () => {
  edge = await startEdge();
  const { url, serverKey, gate } = edge;
  const headers = { 'x-svc-key': serverKey, 'content-type': 'application/json', 'content-length': '1000' };
  const sent = request(`${url}/v1/ingest`, { method: 'POST', headers });
  sent.on('error', () => undefined);
  sent.write('{"events"');
  await until(
    'the first bytes',
    () => gate.bytes,
    (bytes) => bytes === 9,
  );
  sent.destroy();
  await until(
    'the place back',
    () => [gate.requests, gate.bytes],
    ([open, bytes]) => open === 0 && bytes === 0,
  );
  expect(edge.unknown).toEqual([]);
});
