import { type AddressInfo, createServer } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { createLogger } from '#infra/log/logger.ts';
import { createRedis } from '#infra/redis/connection.ts';
import { createAdmissionStore } from '#infra/redis/quota/admission.ts';

const INFO = 'redis_version:7.2.0\r\nloading:0\r\n';
const PASSED = [0, 0, 200, 199, 1000, 50, 50];

/** A server that does what it is told and then loses the connection before its answer, once for each script. */
async function losingServer() {
  const done: string[] = [];
  const lost = new Set<string>();
  const server = createServer((socket) => {
    let text = '';
    socket.on('error', () => undefined);
    socket.on('data', (bytes) => {
      text += bytes.toString('latin1');
      for (;;) {
        const read = commandIn(text);
        if (read === null) return;
        text = text.slice(read.length);
        const [name = '', script = ''] = read.words;
        if (!/^eval/i.test(name)) {
          socket.write(/^info$/i.test(name) ? `$${INFO.length}\r\n${INFO}\r\n` : '+OK\r\n');
          continue;
        }
        done.push(script);
        if (!lost.has(script)) {
          lost.add(script);
          socket.destroy();
          return;
        }
        socket.write(`*${PASSED.length}\r\n${PASSED.map((number) => `:${number}\r\n`).join('')}`);
      }
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(() => void server.close());
  return { done, url: `redis://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

/** The first command of what has come, in Redis's own protocol; null while it is not all there. */
function commandIn(text: string): { words: string[]; length: number } | null {
  const head = /^\*(\d+)\r\n/.exec(text);
  if (head === null) return null;
  let at = head[0].length;
  const words: string[] = [];
  for (let word = 0; word < Number(head[1]); word += 1) {
    const size = /^\$(\d+)\r\n/.exec(text.slice(at));
    const from = at + (size?.[0].length ?? 0);
    const end = from + Number(size?.[1]);
    if (size === null || text.length < end + 2) return null;
    words.push(text.slice(from, end));
    at = end + 2;
  }
  return { words, length: at };
}

test.each([
  [false, 1],
  [true, 2],
])('a reservation whose answer was lost is made again by a client that resends: %s', async (resends, times) => {
  const { done, url } = await losingServer();
  const redis = createRedis(url, createLogger('test', 'silent'), false, resends);
  onTestFinished(() => redis.disconnect());
  await new Promise((resolve) => {
    redis.once('ready', resolve);
  });
  const limits = { windowMs: 10_000, perIp: 200, perKey: 1_000 };
  const store = createAdmissionStore(redis, { limits, cluster: false, checkpointsWanted: 1, deadlineMs: 1_000 });
  const request = {
    ...{ address: 'a', key: 'k', keyLimit: null, requests: 1, accountId: 'acme' },
    ...{ month: '2027-01', monthLimit: 1_000, wanted: 50, lease: 'l' },
  };
  const outcome = await store.admit(request).catch((error: unknown) => error);
  if (!resends) expect(outcome).toMatchObject({ code: 'redis_unavailable' });
  await redis.ping();
  expect(done).toHaveLength(times);
});
