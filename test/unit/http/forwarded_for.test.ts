import { afterAll, beforeAll, expect, test } from 'vitest';
import { clientAddress, createHttpServer, type HttpServer, listen } from '#infra/http/http_server.ts';

async function serverBehind(trustedProxies: string[]): Promise<{ app: HttpServer; url: string }> {
  const app = createHttpServer({ trustedProxies, bodyBytesMax: 1_000, requestTimeoutMs: 30_000 });
  app.get('/', (request, reply) => reply.send(clientAddress(request)));
  return { app, url: `http://127.0.0.1:${await listen(app, '127.0.0.1', 0)}/` };
}

let trusting: { app: HttpServer; url: string };
beforeAll(async () => {
  trusting = await serverBehind(['127.0.0.1', '10.0.0.0/8', '2001:db8:1::/48']);
});
afterAll(() => trusting.app.close());

/** Asked twice, as what was read once is remembered. */
const addressOf = async (url: string, forwarded: string) => {
  const ask = async () => (await fetch(url, { headers: { 'x-forwarded-for': forwarded } })).text();
  const first = await ask();
  expect(await ask()).toBe(first);
  return first;
};

test.each([
  ['203.0.113.9', '203.0.113.9'],
  ['203.0.113.9:4711', '203.0.113.9'],
  ['2001:db8::1', '2001:db8::1'],
  ['[2001:db8::1]', '2001:db8::1'],
  ['[2001:db8::1]:443', '2001:db8::1'],
  ['198.51.100.1, 203.0.113.9:4711', '203.0.113.9'],
  ['203.0.113.9:4711,10.0.0.7:80', '203.0.113.9'],
  ['[2001:db8::1]:443 , [2001:db8:1::5]:80, 10.1.2.3', '2001:db8::1'],
  ['::ffff:203.0.113.9', '203.0.113.9'],
  ['::FFFF:CB00:7109', '203.0.113.9'],
  ['203.000.113.009', '203.0.113.9'],
  ['2001:0DB8:0:0::0001', '2001:db8::1'],
  ['2001:db8::1%eth0', '2001:db8::1'],
])('behind trusted proxies %j comes from %s', async (forwarded, address) => {
  expect(await addressOf(trusting.url, forwarded)).toBe(address);
});

test.each([
  '',
  ' ',
  ',',
  '-',
  'unknown',
  '203.0.113.999',
  '203.0.113.999:4711',
  '[shop.example]:443',
  '1.2.3',
  '_hidden',
])('where a trusted proxy says %j, the request is the proxy’s own', async (forwarded) => {
  expect(await addressOf(trusting.url, forwarded)).toBe('127.0.0.1');
});

test.each(['unknown, 10.0.0.7', '6.6.6.6, unknown, 10.0.0.7', '6.6.6.6,, 10.0.0.7'])(
  'where a proxy before the trusted ones says none in %j, the request is that of the farthest trusted one',
  async (forwarded) => {
    expect(await addressOf(trusting.url, forwarded)).toBe('10.0.0.7');
  },
);

test('what stands before a text that is no address is not believed', async () => {
  expect(await addressOf(trusting.url, '6.6.6.6, unknown, 203.0.113.9, 10.0.0.7')).toBe('203.0.113.9');
  expect(await addressOf(trusting.url, '6.6.6.6, unknown')).toBe('127.0.0.1');
});

test('from nobody trusted the header says nothing', async () => {
  const { app, url } = await serverBehind([]);
  expect(await addressOf(url, '203.0.113.9:4711')).toBe('127.0.0.1');
  await app.close();
});
