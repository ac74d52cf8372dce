import { afterAll, beforeAll, expect, test } from 'vitest';
import type { BenchChild } from '#test/bench/edge/child.ts';
import { type Answer, newEvent, postBody, readAnswer } from '#test/harness/ingest.ts';
import { startSecondEdge } from '#test/harness/second_edge.ts';
import { sharedService } from '#test/harness/shared_service.ts';
import { makeKey, makeSite, type TestSite } from '#test/harness/test_site.ts';
import { until } from '#test/harness/until.ts';

const service = sharedService();
const PER_IP = 200;
const PER_KEY = 1_000;
const WINDOW_S = 10;
const AT_ONCE = 20;
/** The limits are those of the specification: the defaults. */
const DEFAULTS = { RATE_LIMIT_IP: '', RATE_LIMIT_KEY: '' };

let site: TestSite;
let edges: BenchChild[];
beforeAll(async () => {
  site = await makeSite(service);
  edges = await Promise.all([startSecondEdge(service, DEFAULTS), startSecondEdge(service, DEFAULTS)]);
});
afterAll(async () => {
  await Promise.all(edges.map((edge) => edge.stop()));
  await site.close();
});

interface Sender {
  key: string;
  /** The peer, as a trusted proxy names it; absent: this machine, whose address is exempt. */
  ip?: (index: number) => string;
  body?: string;
}

/** Sends so many requests, to both edges in turn. */
async function send(count: number, { key, ip, body }: Sender): Promise<Answer[]> {
  const answers: Answer[] = [];
  let next = 0;
  const one = async (): Promise<void> => {
    for (let at = next++; at < count; at = next++) {
      const url = edges[at % edges.length]?.url ?? '';
      const headers: Record<string, string> = ip === undefined ? {} : { 'x-forwarded-for': ip(at) };
      answers.push(await postBody(url, key, body ?? JSON.stringify({ events: [newEvent()] }), headers));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, one));
  return answers;
}

const statuses = (answers: readonly Answer[]): Record<string, number> =>
  Object.fromEntries(
    Object.entries(Object.groupBy(answers, ({ status }) => String(status))).map(([status, all]) => [
      status,
      all?.length ?? 0,
    ]),
  );

/** How many pass of a limit in a time: exactly the limit within the window, as many again for each further one. */
function expectPassed(answers: readonly Answer[], limit: number, tookMs: number): void {
  const { 200: passed = 0, 429: refused = 0, ...others } = statuses(answers);
  expect(others).toEqual({});
  expect(refused).toBeGreaterThan(0);
  expect(passed).toBeGreaterThanOrEqual(limit);
  expect(passed).toBeLessThanOrEqual(limit * Math.ceil(tookMs / (WINDOW_S * 1_000)));
}

test('200 requests in 10 s from an address pass at both edges together, the next get 429', async () => {
  const ip = (): string => '203.0.113.7';
  const startedMs = performance.now();
  const answers = await send(PER_IP + 100, { key: site.serverKey, ip });
  expectPassed(answers, PER_IP, performance.now() - startedMs);
  const limited = answers.find(({ status }) => status === 429) as Answer;
  expect(limited.body).toMatchObject({ error: { code: 'rate_limited' } });
  expect(Number(limited.headers.get('retry-after'))).toBeGreaterThan(0);
  expect(Number(limited.headers.get('retry-after'))).toBeLessThanOrEqual(WINDOW_S + 1);
  expect(limited.headers.get('ratelimit-limit')).toBe(String(PER_IP));
  expect(limited.headers.get('ratelimit-remaining')).toBe('0');
  expect(limited.headers.get('access-control-expose-headers')).toContain('RateLimit-Remaining');

  // Another address is another matter, and the limit is said before what else is wrong.
  expect(statuses(await send(1, { key: site.serverKey, ip: () => '203.0.113.8' }))).toEqual({ 200: 1 });
  expect(statuses(await send(2, { key: site.serverKey, ip, body: 'no JSON' }))).toEqual({ 429: 2 });
  const compatible = await fetch(`${edges[0]?.url}/v1/batch`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-forwarded-for': ip() },
    body: JSON.stringify({ writeKey: site.serverKey, batch: [{ type: 'track', event: 'x', userId: 'u' }] }),
  });
  expect(await readAnswer(compatible)).toMatchObject({ status: 429, body: { success: false, code: 'rate_limited' } });
});

test('an IPv6 address counts by its /64, and what cannot be read counts too', async () => {
  const ip = (index: number): string => `2001:db8:1:2::${(index + 1).toString(16)}`;
  const answers = await send(PER_IP + 100, { key: site.serverKey, ip, body: 'no JSON' });
  expect(Object.keys(statuses(answers))).toEqual(['400', '429']);
  expect(statuses(await send(1, { key: site.serverKey, ip }))).toEqual({ 429: 1 });
  expect(statuses(await send(1, { key: site.serverKey, ip: () => '2001:db8:1:3::1' }))).toEqual({ 200: 1 });
});

test('1,000 requests in 10 s pass with a key; after Retry-After it passes again', { timeout: 60_000 }, async () => {
  const key = await makeKey(site.settings, site.site, 'server');
  await until(
    'both edges know the key',
    () => Promise.all(edges.map(({ url }) => fetch(`${url}/v1/config`, { headers: { 'x-svc-key': key } }))),
    (answers) => answers.every(({ status }) => status === 200),
  );
  const startedMs = performance.now();
  const answers = await send(PER_KEY + 300, { key });
  expectPassed(answers, PER_KEY, performance.now() - startedMs);
  const again = await until(
    'it passes again',
    async () => (await send(1, { key }))[0],
    (answer) => answer?.status === 200,
    { timeoutMs: (WINDOW_S + 3) * 1_000, everyMs: 500 },
  );
  expect(again?.headers.get('ratelimit-limit')).toBe(String(PER_KEY));
});

test('health says that the limits are shared; health and tls-check have none', async () => {
  const url = edges[0]?.url ?? '';
  const headers = { 'x-forwarded-for': '203.0.113.9' };
  for (let sent = 0; sent < PER_IP + 5; sent++) {
    const route = sent % 2 === 0 ? '/v1/health' : '/v1/tls-check?domain=nobody.example';
    expect((await fetch(`${url}${route}`, { headers })).status).not.toBe(429);
  }
  expect(await (await fetch(`${url}/v1/health`)).json()).toEqual({ ok: true, ratelimit: 'redis' });
});
