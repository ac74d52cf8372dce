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
  expect(called).toMatchObject({ status: 404, body: expect.stringContaining('domain_unverified') });
});

const SECOND_MS = 1_000;
const STRANGERS = 1_000;
/** Three times as fast as they would come in a minute. */
const STRANGERS_PER_S = 50;

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** The median time of requests on connections of their own, one after the other until `isOver`; in milliseconds. */
async function medianUntil(isOver: () => boolean): Promise<number> {
  const tookMs: number[] = [];
  while (!isOver()) {
    const asked = performance.now();
    expect((await ask('second.shop.example', '/v1/health')).status).toBe(200);
    tookMs.push(performance.now() - asked);
    await pause(20);
  }
  tookMs.sort((a, b) => a - b);
  return tookMs[Math.floor(tookMs.length / 2)] ?? Number.NaN;
}

function quietMedian(): Promise<number> {
  const untilMs = performance.now() + 5 * SECOND_MS;
  return medianUntil(() => performance.now() >= untilMs);
}

function isRefused(name: string): Promise<boolean> {
  return caddy.open(name).then(
    (socket) => {
      socket.destroy();
      return false;
    },
    () => true,
  );
}

/** Strangers' names, evenly in time whatever becomes of those before; resolves to how many were refused. */
async function sendStrangers(): Promise<number> {
  const begunMs = performance.now();
  const opened: Promise<boolean>[] = [];
  for (let at = 0; at < STRANGERS; at += 1) {
    await pause(Math.max(0, begunMs + (at * SECOND_MS) / STRANGERS_PER_S - performance.now()));
    opened.push(isRefused(`stranger-${at}.example`));
  }
  return (await Promise.all(opened)).filter((refused) => refused).length;
}

test("1,000 strangers' names slow neither a verified domain nor the first request to another", async () => {
  const newcomer = 'newcomer.shop.example';
  put(edge.table, { site: site({ domains: [...SERVED, newcomer] }) });
  put(edge.table, { domain_proof: domainProof(newcomer) });
  await ask('second.shop.example', '/v1/health');
  const before = await quietMedian();

  let isOver = false;
  const anonymousLimiter = sendStrangers().finally(() => {
    isOver = true;
  });
  const busy = medianUntil(() => isOver);
  await pause(5 * SECOND_MS);
  const asked = performance.now();
  expect((await ask(newcomer, '/v1/health')).status).toBe(200);
  expect(performance.now() - asked).toBeLessThan(3 * SECOND_MS);
  expect(await anonymousLimiter).toBe(STRANGERS);

  const quiet = Math.max(before, await quietMedian());
  // A handshake of a stranger's may stand before each request, so that one may take as long as two, and a little.
  expect(await busy).toBeLessThan(2 * quiet + 25);
}, 120_000);
