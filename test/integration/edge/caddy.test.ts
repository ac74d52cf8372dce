import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import type { TLSSocket } from 'node:tls';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startEdge, type TestEdge } from '#test/unit/edge/edge.ts';
import { put } from '#test/unit/settings/filled_table.ts';
import { domainProof, site } from '#test/unit/settings/samples.ts';
import { type Caddy, startCaddy } from './caddy_process.ts';

const SERVED = ['t.shop.example', 'second.shop.example'] as const;
const START_MS = 300_000;

let edge: TestEdge;
let caddy: Caddy;
beforeAll(async () => {
  edge = await startEdge({ site: { domains: [...SERVED] }, trustedProxies: ['127.0.0.1'] });
  put(edge.table, { site: site({ domains: [...SERVED, 'unset.shop.example'] }) });
  caddy = await startCaddy(new URL(edge.url).host);
}, START_MS);
afterAll(async () => {
  await caddy.close();
  await edge.close();
});

interface Reply {
  status: number;
  body: string;
}

/** One request on a connection of its own. */
async function ask(servername: string, path: string, headers: Record<string, string> = {}): Promise<Reply> {
  const socket = await caddy.open(servername);
  const sent = request({ createConnection: () => socket, path, headers: { host: servername, ...headers } });
  sent.end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  socket.destroy();
  return { status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString('utf8') };
}

const namesOf = (socket: TLSSocket): string | undefined => socket.getPeerCertificate().subjectaltname;

test('the first request to a verified domain is served in under 3 s, with a certificate for it', async () => {
  const begun = performance.now();
  const reply = await ask('t.shop.example', '/v1/health');
  expect(performance.now() - begun).toBeLessThan(3_000);
  expect(reply.status).toBe(200);
  const socket = await caddy.open('t.shop.example');
  expect([socket.authorized, namesOf(socket)]).toEqual([true, 'DNS:t.shop.example']);
  socket.destroy();
});

test.each(['www.evil.example', 'a.t.shop.example', 'shop.example', 'unset.shop.example'])(
  'there is no certificate for %s',
  async (name) => {
    await expect(caddy.open(name)).rejects.toThrow(/alert/i);
  },
);

test('a domain has a certificate as soon as it is verified', async () => {
  put(edge.table, { site: site({ domains: [...SERVED, 'late.shop.example'] }) });
  await expect(caddy.open('late.shop.example')).rejects.toThrow(/alert/i);
  put(edge.table, { domain_proof: domainProof('late.shop.example') });
  expect((await ask('late.shop.example', '/v1/health')).status).toBe(200);
});

test('what a client says of the host it forwards is replaced by the host that it called', async () => {
  const evil = { 'x-forwarded-host': 'www.evil.example', forwarded: 'host=www.evil.example' };
  expect((await ask('t.shop.example', '/sx.js', evil)).body).toContain('script_not_configured');
  const called = await ask('t.shop.example', '/sx.js', { host: 'www.evil.example', 'x-forwarded-host': SERVED[0] });
  expect(called).toMatchObject({ status: 404, body: expect.stringContaining('domain_unclaimed') });
});

test("1,000 strangers' names do not slow a verified domain", async () => {
  await ask('second.shop.example', '/v1/health');
  const names = Array.from({ length: 1_000 }, (_, at) => `stranger-${at}.example`).values();
  let [refused, isOver] = [0, false];
  const stranger = async (): Promise<void> => {
    for (const name of names) {
      await caddy.open(name).then(
        (socket) => socket.destroy(),
        () => refused++,
      );
    }
  };
  const begun = performance.now();
  const strangers = Promise.all(Array.from({ length: 8 }, stranger)).finally(() => {
    isOver = true;
  });
  const tookMs: number[] = [];
  while (!isOver) {
    const asked = performance.now();
    expect((await ask('second.shop.example', '/v1/health')).status).toBe(200);
    tookMs.push(performance.now() - asked);
  }
  await strangers;
  expect(refused).toBe(1_000);
  // All at once what may come in a minute.
  expect(performance.now() - begun).toBeLessThan(60_000);
  tookMs.sort((a, b) => a - b);
  expect(tookMs[Math.floor(tookMs.length * 0.95)]).toBeLessThan(3_000);
}, 90_000);
