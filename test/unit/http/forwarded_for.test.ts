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

const addressOf = async (url: string, forwarded: string) =>
  (await fetch(url, { headers: { 'x-forwarded-for': forwarded } })).text();

test.each([
  ['203.0.113.9', '203.0.113.9'],
  ['203.0.113.9:4711', '203.0.113.9'],
  ['2001:db8::1', '2001:db8::1'],
  ['[2001:db8::1]', '2001:db8::1'],
  ['[2001:db8::1]:443', '2001:db8::1'],
  ['198.51.100.1, 203.0.113.9:4711', '203.0.113.9'],
  ['203.0.113.9:4711,10.0.0.7:80', '203.0.113.9'],
  ['[2001:db8::1]:443 , [2001:db8:1::5]:80, 10.1.2.3', '2001:db8::1'],
  ['203.0.113.999:4711', '203.0.113.999:4711'],
  ['[shop.example]:443', '[shop.example]:443'],
  ['unknown', 'unknown'],
])('behind trusted proxies %j comes from %s', async (forwarded, address) => {
  expect(await addressOf(trusting.url, forwarded)).toBe(address);
});

test('from nobody trusted the header says nothing', async () => {
  const { app, url } = await serverBehind([]);
  expect(await addressOf(url, '203.0.113.9:4711')).toBe('127.0.0.1');
  await app.close();
});
