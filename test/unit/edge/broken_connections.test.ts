import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, expect, test } from 'vitest';
import type { SendResult } from '#infra/kafka/sender.ts';
import { cases, testSeed } from '#test/harness/environment.ts';
import { DOCUMENTED } from '#test/harness/hostile/run.ts';
import { runBroken } from '#test/harness/hostile/run_broken.ts';
import { edgeRequest } from '#test/harness/hostile/targets.ts';
import { newEvent, postEvents } from '#test/harness/ingest.ts';
import { until } from '#test/harness/until.ts';
import { startEdge, type TestEdge } from './edge.ts';

let edge: TestEdge;
afterEach(async () => {
  await edge.close();
});

const COUNT = cases(500);

async function expectUnharmed(): Promise<void> {
  await until(
    'every place given back',
    () => [edge.limiter.requests, edge.limiter.bytes],
    ([requests, bytes]) => requests === 0 && bytes === 0,
  );
  expect(edge.unknown).toEqual([]);
  expect(await postEvents(edge.url, edge.serverKey, [newEvent()])).toMatchObject({ status: 200 });
}

test('connections reset, half closed and cut at any byte: nothing unforeseen, nothing lost', {
  timeout: 120_000,
}, async () => {
  edge = await startEdge();
  const run = await runBroken(edge.url, (chance) => edgeRequest(chance, edge), {
    seed: testSeed(),
    count: COUNT,
    documented: DOCUMENTED,
  });
  expect(run.surprises).toEqual([]);
  const stored = new Set(edge.records.flat().map(({ event_id }) => event_id));
  expect(run.promised.filter((id) => !stored.has(id))).toEqual([]);
  expect(run.promised.length).toBeGreaterThan(COUNT / 10);
  await expectUnharmed();
});

test.each([
  { name: 'a bad chunk', path: '/v1/ingest', more: 'Transfer-Encoding: chunked\r\n\r\nZZ\r\n' },
  { name: 'a bad chunk of a foreign protocol', path: '/batch/', more: 'Transfer-Encoding: chunked\r\n\r\nZZ\r\n' },
  { name: 'two encodings', path: '/v1/ingest', more: 'Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n\r\n' },
])('$name, with a browser key, is no error of ours', async ({ path, more }) => {
  edge = await startEdge();
  const socket = connect(Number(new URL(edge.url).port), '127.0.0.1');
  socket.write(`POST ${path}?key=${edge.browserKey} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${more}`);
  await new Promise<void>((resolve) => socket.once('close', () => resolve()).resume());
  await expectUnharmed();
});

test('senders who say that nothing follows get every answer', async () => {
  edge = await startEdge();
  const socket = connect({ port: Number(new URL(edge.url).port), host: '127.0.0.1', allowHalfOpen: true });
  const request = (): string => {
    const body = JSON.stringify({ events: [newEvent()] });
    const head = [
      'POST /v1/ingest HTTP/1.1',
      'Host: x',
      `X-Svc-Key: ${edge.serverKey}`,
      'Content-Type: application/json',
    ];
    return `${head.join('\r\n')}\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  };
  socket.end(request() + request());
  const said = await text(socket);
  expect(said.match(/HTTP\/1\.1 200 OK/g)).toHaveLength(2);
  expect(edge.records.flat()).toHaveLength(2);
  await expectUnharmed();
});

test('a sender who is gone before Kafka has answered keeps his place until then', async () => {
  edge = await startEdge();
  const { promise, resolve } = Promise.withResolvers<SendResult>();
  edge.answers.push(promise);
  const body = JSON.stringify({ events: [newEvent()] });
  const socket = connect(Number(new URL(edge.url).port), '127.0.0.1');
  const head = ['POST /v1/ingest HTTP/1.1', 'Host: x', `X-Svc-Key: ${edge.serverKey}`];
  socket.write(
    `${head.join('\r\n')}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
  await until(
    'the event is on its way',
    () => edge.answers.length,
    (left) => left === 0,
  );
  socket.resetAndDestroy();
  await new Promise<void>((done) => socket.once('close', () => done()));
  expect(edge.limiter.requests).toBe(1);
  resolve({ ok: true });
  await expectUnharmed();
});
