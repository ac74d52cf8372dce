import { connect, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import { createHttpServer, type HttpServer, listen } from '#infra/http/http_server.ts';
import { until } from '#test/harness/until.ts';

/** No test takes as long: what is said to end at once does not end by this. */
const LATE_MS = 600_000;
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

async function world({ requestTimeoutMs = LATE_MS, closingMs = LATE_MS } = {}): Promise<World> {
  const app = createHttpServer({ trustedProxies: [], bodyBytesMax: 1_000, requestTimeoutMs, closingMs });
  const waiting: (() => void)[] = [];
  app.get('/', (_request, reply) => reply.send('at once'));
  app.post('/', (_request, reply) => reply.send('taken'));
  app.get('/later', async (_request, reply) => {
    await new Promise<void>((resolve) => waiting.push(resolve));
    return reply.send('later');
  });
  const accepted = new Map<number | undefined, Socket>();
  app.server.on('connection', (socket) => accepted.set(socket.remotePort, socket));
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
    await until(
      'all read by the server',
      () => accepted.get(socket.localPort)?.bytesRead,
      (bytes) => bytes === text.length,
    );
    return { socket, heard: () => heard, ended };
  }
  return { app, waiting, open };
}

test('idle connections are closed at once, whether they ever sent something or not', async () => {
  const { app, open } = await world();
  const silent = await open();
  const kept = await open('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  await until('the answer', kept.heard, (text) => text.includes('at once'));
  await app.close();
  await Promise.all([silent.ended, kept.ended]);
});

test('half a head and half a body may still become whole', async () => {
  const { app, open } = await world();
  const half = await open('POST / HT');
  const slow = await open(`${HEAD}Content-Length: 6\r\n\r\nabc`);
  const idle = await open();
  const closing = app.close();
  // Whatever is cut at once is cut with it.
  await idle.ended;
  slow.socket.write('def');
  half.socket.write('TP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n');
  await Promise.all([half.ended, slow.ended]);
  for (const { heard } of [half, slow]) {
    expect(heard()).toMatch(/^HTTP\/1\.1 200 /);
    expect(heard()).toMatch(/\r\nconnection: close\r\n/i);
  }
  await closing;
});

test('a body that goes on trickling gets the time that is left, and no more', async () => {
  const { app, open } = await world({ closingMs: 200 });
  const slow = await open(`${HEAD}Content-Length: 1000\r\n\r\nabc`);
  // oxlint-disable-next-line no-restricted-globals -- It waits for nothing: it is the trickle.
  const trickle = setInterval(() => slow.socket.write('x'), 20);
  await app.close();
  clearInterval(trickle);
  await slow.ended;
  expect(slow.heard()).toBe('');
});

test('a request that is being answered is answered, and its connection closed then', async () => {
  const { app, open, waiting } = await world();
  const client = await open('GET /later HTTP/1.1\r\nHost: x\r\n\r\n');
  await until(
    'the request',
    () => waiting.length,
    (count) => count === 1,
  );
  const idle = await open();
  const closing = app.close();
  await idle.ended;
  waiting[0]?.();
  await client.ended;
  expect(client.heard()).toContain('later');
  await closing;
});

// Half a minute is how often Node looks for late requests by itself.
test('a request that does not arrive is cut when it is late, not half a minute after', async () => {
  const { app, open } = await world({ requestTimeoutMs: 1_000 });
  const clients = await Promise.all([open('GET / HT'), open(`${HEAD}Content-Length: 100\r\n\r\nabc`), open()]);
  await Promise.all(clients.map(({ ended }) => ended));
  expect(clients[1]?.heard()).toMatch(/^HTTP\/1\.1 408 /);
  await app.close();
});
