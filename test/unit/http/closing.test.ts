import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createHttpServer, type HttpServer, listen } from '#infra/http/http_server.ts';
import { until } from '#test/harness/until.ts';

const CLOSING_MS = 1_000;
const HEAD = 'POST / HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\n';

interface World {
  app: HttpServer;
  /** Requests that wait for `answer`. */
  waiting: (() => void)[];
  open(text?: string): Promise<Client>;
}

interface Client {
  socket: Socket;
  heard(): string;
  ended: Promise<void>;
}

async function world(requestTimeoutMs = 30_000): Promise<World> {
  const app = createHttpServer({ trustedProxies: [], bodyBytesMax: 1_000, requestTimeoutMs, closingMs: CLOSING_MS });
  const waiting: (() => void)[] = [];
  app.get('/', (_request, reply) => reply.send('at once'));
  app.post('/', (_request, reply) => reply.send('taken'));
  app.get('/later', async (_request, reply) => {
    await new Promise<void>((resolve) => waiting.push(resolve));
    return reply.send('later');
  });
  const port = await listen(app, '127.0.0.1', 0);
  async function open(text = ''): Promise<Client> {
    const socket = connect(port, '127.0.0.1');
    let heard = '';
    socket.on('data', (chunk) => {
      heard += chunk.toString();
    });
    socket.on('error', () => undefined);
    const ended = new Promise<void>((resolve) => socket.once('close', () => resolve()));
    await new Promise<void>((resolve) => socket.once('connect', () => resolve()));
    if (text !== '') socket.write(text);
    // So that the server has read it.
    await sleep(50);
    return { socket, heard: () => heard, ended };
  }
  return { app, waiting, open };
}

async function msOf(promise: Promise<unknown>): Promise<number> {
  const startedMs = performance.now();
  await promise;
  return performance.now() - startedMs;
}

test('idle connections are closed at once, whether they ever sent something or not', async () => {
  const { app, open } = await world();
  const silent = await open();
  const kept = await open('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  await until('the answer', kept.heard, (text) => text.includes('at once'));
  expect(await msOf(app.close())).toBeLessThan(CLOSING_MS / 2);
  await Promise.all([silent.ended, kept.ended]);
});

test('half a head and a slow body get the time that is left, and no more', async () => {
  const { app, open } = await world();
  const half = await open('POST / HT');
  const slow = await open(`${HEAD}Content-Length: 100\r\n\r\nabc`);
  const finishing = await open(`${HEAD}Content-Length: 6\r\n\r\nabc`);
  const trickle = setInterval(() => slow.socket.write('x'), 50);
  const closing = msOf(app.close());
  await sleep(CLOSING_MS / 4);
  finishing.socket.write('def');
  half.socket.write('TP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n');
  await Promise.all([half.ended, finishing.ended]);
  for (const { heard } of [half, finishing]) {
    expect(heard()).toMatch(/^HTTP\/1\.1 200 /);
    expect(heard()).toMatch(/\r\nconnection: close\r\n/i);
  }
  const tookMs = await closing;
  clearInterval(trickle);
  expect(tookMs).toBeGreaterThan(CLOSING_MS / 2);
  expect(tookMs).toBeLessThan(CLOSING_MS * 3);
});

test('a request that is being answered is answered, and its connection closed then', async () => {
  const { app, open, waiting } = await world();
  const client = await open('GET /later HTTP/1.1\r\nHost: x\r\n\r\n');
  await until(
    'the request',
    () => waiting.length,
    (count) => count === 1,
  );
  const closing = msOf(app.close());
  await sleep(CLOSING_MS / 4);
  waiting[0]?.();
  await client.ended;
  expect(client.heard()).toContain('later');
  expect(await closing).toBeLessThan(CLOSING_MS);
});

test('a request that does not arrive is cut when it is late, not half a minute after', async () => {
  const requestTimeoutMs = 1_000;
  const { app, open } = await world(requestTimeoutMs);
  const clients = await Promise.all([open('GET / HT'), open(`${HEAD}Content-Length: 100\r\n\r\nabc`), open()]);
  expect(await msOf(Promise.all(clients.map(({ ended }) => ended)))).toBeLessThan(requestTimeoutMs * 4);
  expect(clients[1]?.heard()).toMatch(/^HTTP\/1\.1 408 /);
  await app.close();
});
