import { randomUUID } from 'node:crypto';
import { runInNewContext } from 'node:vm';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { readAnswer } from '#test/harness/ingest.ts';
import { startEdge, type TestEdge } from './edge.ts';
import { post, posthogBatch } from './foreign.ts';

let edge: TestEdge;
beforeAll(async () => {
  // A call is mapped and taken at one time, so that what lies between its times is exact.
  vi.useFakeTimers({ toFake: ['Date'] });
  edge = await startEdge();
});
beforeEach(() => {
  edge.records.length = 0;
});
afterAll(async () => {
  vi.useRealTimers();
  await edge.close();
  expect(edge.unknown).toEqual([]);
});

const BROWSER = {
  'user-agent': 'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/130.0.0.0 Safari',
};
const event = (index: number, extra: object = {}) => ({
  event: 'Seen',
  uuid: randomUUID(),
  distinct_id: `p${index}`,
  timestamp: new Date().toISOString(),
  properties: { $lib: 'posthog-node' },
  ...extra,
});
const SUCCESS = { status: 200, body: { status: 1 } };

test('a batch is stored as it says, in records of at most 50', async () => {
  const batch = Array.from({ length: 100 }, (_, index) => event(index));
  expect(await posthogBatch(edge, batch)).toMatchObject(SUCCESS);
  expect(edge.records.map((events) => events.length)).toEqual([50, 50]);
  expect(edge.records.flat().map(({ event_id }) => event_id)).toEqual(batch.map(({ uuid }) => uuid));
});

const browserEvent = () => ({
  ...event(1),
  distinct_id: undefined,
  properties: { token: edge.browserKey, distinct_id: 'p1', $current_url: 'https://shop.example/' },
});

test.each([
  { name: 'one event', path: '/e/', body: () => JSON.stringify(browserEvent()) },
  { name: 'a list', path: '/i/v0/e/', body: () => JSON.stringify([browserEvent()]) },
  { name: 'gzip that does not say so', path: '/e/?compression=gzip-js', body: () => gzipped(browserEvent()) },
  {
    name: 'base64 in a form field',
    path: '/capture/?compression=base64',
    body: () => `data=${encodeURIComponent(Buffer.from(JSON.stringify(browserEvent())).toString('base64'))}`,
  },
  {
    name: 'base64 whose plus signs were not escaped',
    path: '/e',
    body: () => `data=${Buffer.from(JSON.stringify({ ...browserEvent(), x: '>>>???~~~' })).toString('base64')}&v=1`,
  },
  {
    name: 'JSON in a form field',
    path: '/e/',
    body: () => `data=${encodeURIComponent(JSON.stringify(browserEvent()))}`,
  },
])('the browser library’s $name', async ({ path, body }) => {
  expect(await post(edge, path, body(), { ...BROWSER, 'content-type': 'text/plain' })).toMatchObject(SUCCESS);
  expect(edge.records.flat()).toMatchObject([{ event: 'Seen', distinct_id: 'p1', caller: 'browser' }]);
});

function gzipped(value: unknown): Uint8Array<ArrayBuffer> {
  return new Uint8Array(gzipSync(JSON.stringify(value)));
}

test.each([
  { name: 'no key', body: '{"batch":[{"event":"x"}]}', status: 401, code: 'key_missing' },
  { name: 'an unknown key', body: '{"api_key":"guess","batch":[]}', status: 403, code: 'key_invalid' },
])('$name: $status in PostHog’s shape', async ({ body, status, code }) => {
  expect(await post(edge, '/batch/', body)).toMatchObject({
    status,
    body: { type: 'authentication_error', code, detail: expect.any(String), attr: null },
  });
});

test('a batch in which nothing is an event: 400', async () => {
  const answer = await posthogBatch(edge, [{ properties: {} }]);
  expect(answer).toMatchObject({
    status: 400,
    body: { type: 'validation_error', code: 'events_rejected', rejected: [{ index: 0, code: 'event_name_missing' }] },
  });
});

test('a body beyond 5 MiB: 413, at which the library halves its batch', async () => {
  const large = event(1, { properties: { text: 'x'.repeat(5 * 1024 * 1024) } });
  expect(await posthogBatch(edge, [large])).toMatchObject({ status: 413, body: { code: 'body_too_large' } });
});

test('what is not acknowledged: 503', async () => {
  edge.answers.push(Promise.resolve({ ok: false, code: 'queue_full' }));
  expect(await posthogBatch(edge, [event(1)])).toMatchObject({ status: 503, body: { code: 'overloaded' } });
});

test.each(['/flags/?v=2', '/decide/?v=3'])('%s: there are no feature flags', async (path) => {
  const body = JSON.stringify({ token: edge.serverKey, distinct_id: 'p1' });
  expect(await post(edge, path, body)).toMatchObject({ status: 200, body: { flags: {}, featureFlags: {} } });
  expect(await post(edge, path, '{"token":"guess"}')).toMatchObject({ status: 403, body: { code: 'key_invalid' } });
});

test('the browser library gets its remote configuration as a script and as JSON, and asks for nothing else', async () => {
  const path = `/array/${edge.browserKey}/config`;
  const json = await fetch(`${edge.url}${path}`, { headers: { origin: 'https://shop.example' } });
  expect(json.headers.get('access-control-allow-origin')).toBe('*');
  expect(await json.json()).toMatchObject({ token: edge.browserKey, hasFeatureFlags: false, siteApps: [] });
  const script = await fetch(`${edge.url}${path}.js`);
  expect(script.headers.get('content-type')).toBe('text/javascript; charset=utf-8');
  const window: { _POSTHOG_REMOTE_CONFIG?: Record<string, { config: object }> } = {};
  runInNewContext(await script.text(), { window });
  expect(window._POSTHOG_REMOTE_CONFIG?.[edge.browserKey]?.config).toMatchObject({ surveys: false });
});

test.each([
  { key: 'svc_pk_unknown', code: 'key_invalid' },
  { key: '%22%5D%3Balert(1)', code: 'key_invalid' },
  { key: 'server', code: 'key_not_for_browsers' },
])('the remote configuration of $key: $code', async ({ key, code }) => {
  const path = `/array/${key === 'server' ? edge.serverKey : key}/config.js`;
  expect(await readAnswer(await fetch(`${edge.url}${path}`))).toMatchObject({ status: 403, body: { code } });
});

test('no event is lost for its time: numbers are read, and what is none is the arrival', async () => {
  const times = ['2026-11-09 10:00:00', '2026-11-09', 1_794_218_400, '1794218400000', 'garbage', { at: 1 }];
  expect(
    await posthogBatch(
      edge,
      times.map((timestamp, at) => event(at, { timestamp })),
    ),
  ).toMatchObject(SUCCESS);
  const day = Date.UTC(2026, 10, 9);
  const at = day + 10 * 3_600_000;
  const taken = edge.records.flat().map(({ timestamp, received_at }) => (timestamp === received_at ? null : timestamp));
  expect(taken).toEqual([at, day, at, at, null, null]);
  const { counts = new Map<string, number>() } = (await edge.refused()).get('shop') ?? {};
  expect([...counts].map(([field, count]) => [field.replace(/^\d+:/, ''), count])).toContainEqual([
    'warned:timestamp_invalid',
    2,
  ]);
});

test.each([0, 3_600_000])('a page whose clock says 1970 loses nothing (%i ms)', async (clockMs) => {
  const timestamp = new Date(clockMs + 60_000).toISOString();
  const body = JSON.stringify({ ...browserEvent(), timestamp });
  expect(await post(edge, `/e/?_=${clockMs + 65_000}`, body, BROWSER)).toMatchObject(SUCCESS);
  const [taken] = edge.records.flat();
  expect((taken?.received_at ?? 0) - (taken?.timestamp ?? 0)).toBe(5_000);
});

test.each([1e17, 2 ** 53, 1e300, 0, -1, {}, 'soon'])('sent_at %j breaks nothing and moves nothing', async (sent_at) => {
  const timestamp = new Date(Date.now() - 3 * 86_400_000).toISOString();
  const body = JSON.stringify({ api_key: edge.browserKey, batch: [event(1, { timestamp })], sent_at });
  expect(await post(edge, '/batch/', body, BROWSER)).toMatchObject(SUCCESS);
  expect(edge.records.flat()).toMatchObject([{ timestamp: Date.parse(timestamp), original_timestamp: null }]);
});

test.each([
  ['in the query', '/e/?compression=lz64', 'data=NoIgpgZghgLg'],
  ['in the form', '/capture/', 'data=NoIgpgZghgLg&compression=lz64&ver=1'],
])('events that lz-string packed are refused, and it is said why: %s', async (_, path, body) => {
  const answer = await post(edge, path, body, { ...BROWSER, 'content-type': 'application/x-www-form-urlencoded' });
  expect(answer).toMatchObject({ status: 400, body: { code: 'compression_unsupported' } });
  expect(edge.records).toEqual([]);
});

test('a batch of a historical migration is taken at its own times from a server key, and from no other', async () => {
  const old: Record<string, unknown> = event(1, { timestamp: '2019-05-04T03:02:01Z' });
  const send = (key: string, historical_migration: unknown) =>
    post(edge, '/batch/', JSON.stringify({ api_key: key, historical_migration, batch: [old] }), {
      'content-type': 'application/json',
    });
  expect(await send(edge.serverKey, true)).toMatchObject(SUCCESS);
  expect(edge.records.flat()).toMatchObject([{ historical: true, timestamp: Date.UTC(2019, 4, 4, 3, 2, 1) }]);
  expect(await send(edge.serverKey, false)).toMatchObject({ status: 400, body: { code: 'events_rejected' } });
  expect(await send(edge.serverKey, 'true')).toMatchObject({
    status: 400,
    body: { code: 'historical_migration_invalid' },
  });
  expect(await send(edge.browserKey, true)).toMatchObject({ status: 403, body: { code: 'historical_refused' } });
  // When it came says nothing of when it was.
  old['timestamp'] = undefined;
  old['offset'] = 5;
  expect(await send(edge.serverKey, true)).toMatchObject({ status: 400, body: { code: 'events_rejected' } });
  expect(edge.records.flat()).toHaveLength(1);
});
