import { request } from 'node:http';
import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterEach, expect, test, vi } from 'vitest';
import type { SendResult } from '#infra/kafka/sender.ts';
import { createConcurrencyLimiter } from '#services/edge/concurrency_limiter.ts';
import { newEvent, postBody, postEvents } from '#test/harness/ingest.ts';
import { until } from '#test/harness/until.ts';
import { startEdge, type TestEdge } from './edge.ts';
import { post } from './foreign.ts';

let edge: TestEdge | undefined;
afterEach(async () => {
  vi.useRealTimers();
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

test('no network has more than a quarter, nor have all whose key is not known, and one of them a sixteenth', () => {
  const limiter = createConcurrencyLimiter({ requestsMax: 32, bytesMax: 3_200 });
  const stranger = (network: string) => limiter.acquire(network)?.begin() === true;
  expect([stranger('a'), stranger('a'), stranger('a')]).toEqual([true, true, false]);
  expect(['b', 'b', 'c', 'c', 'd', 'd', 'e'].map(stranger)).toEqual([true, true, true, true, true, true, false]);
  const known = Array.from({ length: 9 }, () => {
    const permit = limiter.acquire('f');
    permit?.know();
    return permit?.begin() === true;
  });
  expect(known).toEqual([...Array<boolean>(8).fill(true), false]);
});

test('bytes are shared as requests are, and a key that is found gives back what it took of the strangers', () => {
  const limiter = createConcurrencyLimiter({ requestsMax: 320, bytesMax: 1_600 });
  const [one, two, other] = [limiter.acquire('a'), limiter.acquire('a'), limiter.acquire('b')];
  for (const permit of [one, two, other]) expect(permit?.begin()).toBe(true);
  expect([one?.reserveBytes(100), two?.reserveBytes(1), other?.reserveBytes(100)]).toEqual([true, false, true]);
  one?.know();
  expect([two?.reserveBytes(100), one?.reserveBytes(200), one?.reserveBytes(1)]).toEqual([true, true, false]);
  for (const permit of [one, two, other]) permit?.release();
  expect([limiter.requests, limiter.bytes]).toEqual([0, 0]);
  expect(limiter.acquire('a')?.begin()).toBe(true);
});

test('uploads that stall without a key leave the requests of others alone, and are cut when their place is wanted', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  edge = await startEdge({ limiter: { requestsMax: 160, bytesMax: 16 * 1024 * 1024 }, isExempt: () => false });
  const { url, serverKey, limiter } = edge;
  const port = Number(new URL(url).port);
  const answers: string[] = [];
  const sockets = Array.from({ length: 100 }, () => {
    const socket = connect(port, '127.0.0.1').on('error', () => undefined);
    socket.on('data', (data) => answers.push(data.toString().slice(0, 12)));
    socket.write(`POST /batch HTTP/1.1\r\nHost: x\r\nContent-Length: 300000\r\n\r\n${'x'.repeat(200_000)}`);
    return socket;
  });
  await until(
    'all but a few refused',
    () => answers.length,
    (refused) => refused >= 90,
  );
  expect(new Set(answers)).toEqual(new Set(['HTTP/1.1 503']));
  expect(limiter.bytes).toBeLessThanOrEqual(1024 * 1024);
  for (let sent = 0; sent < 20; sent += 1) {
    expect(await postEvents(url, serverKey, [newEvent()])).toMatchObject({ status: 200 });
  }
  expect(limiter.requests).toBeGreaterThan(0);
  vi.advanceTimersByTime(300_000);
  // Those that are left take no more than half of their network's share, which nobody wants then.
  await until(
    'the stalled cut',
    () => limiter.bytes,
    (bytes) => bytes <= 512 * 1024,
  );
  for (const socket of sockets) socket.destroy();
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

test('the bytes count that a body becomes, by whatever protocol it comes', async () => {
  edge = await startEdge({ limiter: { bytesMax: 50_000 } });
  const { url, serverKey, limiter } = edge;
  const text = 'x'.repeat(60_000);
  const packed = (body: object) => new Uint8Array(gzipSync(JSON.stringify(body)));
  const headers = { 'content-encoding': 'gzip' };
  const event = newEvent({ properties: { text } });
  expect(await postBody(url, serverKey, packed({ events: [event] }), headers)).toMatchObject({ status: 503 });
  const call = { event: 'Seen', userId: 'u', writeKey: serverKey, properties: { text } };
  expect(await post(edge, '/v1/track', packed(call), headers)).toMatchObject({ status: 503 });
  expect(await postBody(url, serverKey, packed({ events: [newEvent()] }), headers)).toMatchObject({ status: 200 });
  await until(
    'the bytes back',
    () => [limiter.requests, limiter.bytes],
    ([open, bytes]) => open === 0 && bytes === 0,
  );
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
