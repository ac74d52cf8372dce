import { afterEach, expect, test } from 'vitest';
import type { Limited, RateState } from '#pipelines/quota/limits.ts';
import type { Admitted, RateLimiter } from '#services/edge/admission.ts';
import { newEvent, postBody, postEvents, readAnswer } from '#test/harness/ingest.ts';
import { startEdge, type TestEdge } from './edge.ts';
import { post, posthogBatch, segmentBatch } from './foreign.ts';

const RATE: RateState = { limit: 200, remaining: 7, resetMs: 1_200 };
const LIMITED: Limited = { ok: false, kind: 'ip', waitMs: 3_200, rate: { limit: 200, remaining: 0, resetMs: 3_200 } };

interface World extends TestEdge {
  asked: number[];
  released: number[];
  /** Requests beyond those that were admitted. */
  charged: number[];
  /** ReservationLeases in doubt. */
  doubted: string[];
}

let edge: World | undefined;
afterEach(() => edge?.close());

/** An edge that is granted at most so many events a request. */
async function start(answers: { granted?: number; limited?: Limited; early?: Limited }): Promise<World> {
  const world = { asked: [] as number[], released: [] as number[], charged: [] as number[], doubted: [] as string[] };
  const rateLimiter: RateLimiter = {
    limited: () => answers.early ?? null,
    async admit(_requester, _arrivedMs, wanted): Promise<Admitted> {
      world.asked.push(wanted);
      if (answers.limited !== undefined) return answers.limited;
      const granted = Math.min(wanted, answers.granted ?? wanted);
      return { ok: true, rate: RATE, reservation: { accountId: 'a', month: '2026-10', granted, lease: 'h' } };
    },
    release: (_reservation, events) => void world.released.push(events),
    markUncertain: ({ lease }) => void world.doubted.push(lease),
    charge: async (_requester, _arrivedMs, requests) => void world.charged.push(requests),
    isShared: () => true,
    stop: () => undefined,
  };
  edge = Object.assign(await startEdge({ rateLimiter }), world);
  return edge;
}

const events = (count: number) => Array.from({ length: count }, (_, index) => newEvent({ event: `event ${index}` }));

test('the events that are granted no place are dropped, the last ones first', async () => {
  const { url, serverKey, records, asked } = await start({ granted: 2 });
  const answer = await postEvents(url, serverKey, [...events(3), { event: '' }]);
  expect(answer).toMatchObject({ status: 200, body: { accepted: 2, dropped: 1, rejected: [{ index: 3 }] } });
  expect(records.map((record) => record.map(({ event }) => event))).toEqual([['event 0', 'event 1']]);
  expect(asked).toEqual([4]);
  expect(answer.headers.get('ratelimit-limit')).toBe('200');
  expect(answer.headers.get('ratelimit-remaining')).toBe('7');
  expect(answer.headers.get('ratelimit-reset')).toBe('2');
});

test('what is asked for is asked before the events are looked at, and what is not taken is given back', async () => {
  const { url, serverKey, asked, released } = await start({});
  const sent = [...events(2), { event: '' }, newEvent({ properties: { webdriver: true } })];
  expect(await postEvents(url, serverKey, sent)).toMatchObject({ status: 200, body: { accepted: 2 } });
  expect([asked, released]).toEqual([[4], [2]]);
  expect(await postEvents(url, serverKey, [{ event: '' }])).toMatchObject({ status: 400 });
  expect([asked, released]).toEqual([
    [4, 1],
    [2, 1],
  ]);
});

test('a request that costs as much as several is charged for these at once, and one of usual events for none', async () => {
  const { url, serverKey, asked, charged } = await start({});
  const costly = Array.from({ length: 10 }, (_, at) => newEvent({ properties: { a: `${at}%E2=1&b@c `.repeat(900) } }));
  expect(await postEvents(url, serverKey, costly)).toMatchObject({ status: 200, body: { accepted: 10 } });
  expect(asked).toEqual([10]);
  expect(charged).toEqual([expect.toSatisfy((requests: number) => requests > 3)]);
  const usual = {
    $current_url: 'https://www.shop.example/a?utm_campaign=spring%20sale&gclid=Cj0KCQjw1234567BhCPARIs',
    id: 'SKU_12345',
  };
  await postEvents(
    url,
    serverKey,
    Array.from({ length: 50 }, () => newEvent({ properties: usual })),
  );
  expect(asked).toEqual([10, 50]);
  expect(charged).toHaveLength(1);
});

test('with no place left nothing is produced', async () => {
  const { url, serverKey, records } = await start({ granted: 0 });
  expect(await postEvents(url, serverKey, events(3))).toMatchObject({ status: 200, body: { accepted: 0, dropped: 3 } });
  expect(records).toEqual([]);
});

test.for(['queue_full', 'queue_old'] as const)('%s: what was reserved is released', async (code) => {
  const world = await start({ granted: 2 });
  world.answers.push(Promise.resolve({ ok: false, code }));
  expect(await postEvents(world.url, world.serverKey, events(3))).toMatchObject({ status: 503 });
  expect(world.released).toEqual([2]);
  expect(world.doubted).toEqual([]);
});

test('not acknowledged: what was reserved may have been produced', async () => {
  const world = await start({});
  world.answers.push(Promise.resolve({ ok: false, code: 'not_acknowledged' }));
  expect(await postEvents(world.url, world.serverKey, events(3))).toMatchObject({ status: 503 });
  expect(world.released).toEqual([]);
  expect(world.doubted).toEqual(['h']);
});

const SEGMENT = JSON.stringify({ batch: [{ type: 'track', event: 'x', userId: 'u' }] });

test.for([
  ['/v1/ingest', JSON.stringify({ events: [newEvent()] })],
  ['/v1/ingest', 'no JSON'],
  ['/v1/ingest', JSON.stringify({ events: Array.from({ length: 51 }, () => newEvent()) })],
  ['/v1/ingest', ' '.repeat(256 * 1024 + 1)],
  ['/v1/batch', SEGMENT],
  ['/v1/batch', 'no JSON'],
] as const)('%s: the rate is said before anything of the content', async ([path, body]) => {
  const { url, serverKey, records } = await start({ limited: LIMITED });
  const headers = { 'x-svc-key': serverKey, 'content-type': 'application/json' };
  const answer = await readAnswer(await fetch(`${url}${path}`, { method: 'POST', headers, body }));
  expect(answer.status).toBe(429);
  expect(JSON.stringify(answer.body)).toContain('rate_limited');
  expect(answer.headers.get('retry-after')).toBe('4');
  expect(answer.headers.get('ratelimit-remaining')).toBe('0');
  expect(records).toEqual([]);
});

test('who is known to be limited is refused without being asked for', async () => {
  const { url, serverKey, asked } = await start({ early: LIMITED });
  expect(await postEvents(url, serverKey, events(1))).toMatchObject({ status: 429 });
  expect(asked).toEqual([]);
  // A stranger is told so first.
  expect(await postEvents(url, null, events(1))).toMatchObject({ status: 401 });
});

test('a request that is refused for its content counts, and reserves nothing', async () => {
  const { url, serverKey, asked } = await start({});
  expect(await postBody(url, serverKey, 'no JSON')).toMatchObject({ status: 400 });
  expect(await postBody(url, serverKey, '{}', { 'content-type': 'text/html' })).toMatchObject({ status: 415 });
  expect(await postBody(url, serverKey, '{}', { 'content-encoding': 'constructor' })).toMatchObject({ status: 415 });
  expect(await postBody(url, serverKey, ' '.repeat(256 * 1024 + 1))).toMatchObject({ status: 413 });
  expect(asked).toEqual([0, 0, 0, 0]);
});

test('PostHog’s libraries read that events were over the allowance', async () => {
  const world = await start({ granted: 1 });
  const batch = ['a', 'b'].map((distinct_id) => ({ event: 'Seen', distinct_id, properties: {} }));
  expect(await posthogBatch(world, batch)).toMatchObject({
    status: 200,
    body: { status: 1, quota_limited: ['events'] },
  });
  const { status, body } = await posthogBatch(world, batch.slice(1));
  expect({ status, body }).toEqual({ status: 200, body: { status: 1 } });
});

test('a batch of Segment’s fails where nothing of it had a place, and says how much had none', async () => {
  const batch = ['a', 'b'].map((userId) => ({ type: 'track', event: 'Seen', userId }));
  const some = await start({ granted: 1 });
  expect(await segmentBatch(some, batch)).toMatchObject({ status: 200, body: { success: true, dropped: 1 } });
  await some.close();
  const none = await start({ granted: 0 });
  expect(await segmentBatch(none, batch)).toMatchObject({
    status: 402,
    body: { success: false, code: 'allowance_exhausted' },
  });
  expect(await segmentBatch(none, [])).toMatchObject({ status: 400 });
  const throwing = { 'user-agent': 'analytics-node/3.0.13' };
  const body = JSON.stringify({ batch, writeKey: none.serverKey });
  expect(await post(none, '/v1/batch', body, throwing)).toMatchObject({
    status: 200,
    body: { success: true, dropped: 2 },
  });
});
