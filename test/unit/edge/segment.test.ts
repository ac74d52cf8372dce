import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { startEdge, type TestEdge } from './edge.ts';
import { post, segmentBatch, segmentCall } from './foreign.ts';

let edge: TestEdge;
beforeAll(async () => {
  // A call is mapped and taken at one time, so that what lies between its times is exact.
  vi.useFakeTimers({ toFake: ['Date'] });
  edge = await startEdge({ browserOrigins: ['https://shop.example'] });
});
beforeEach(() => {
  edge.records.length = 0;
});
afterAll(async () => {
  vi.useRealTimers();
  await edge.close();
  expect(edge.unknown).toEqual([]);
});

const call = (index: number, extra: object = {}) => ({
  type: 'track',
  event: 'Seen',
  userId: `u${index}`,
  messageId: `m${index}`,
  timestamp: new Date().toISOString(),
  ...extra,
});
const calls = (count: number) => Array.from({ length: count }, (_, index) => call(index));
const SUCCESS = { status: 200, body: { success: true } };

test('a batch is stored as it says', async () => {
  expect(await segmentBatch(edge, [call(1), call(2, { type: 'identify', traits: {} })])).toMatchObject(SUCCESS);
  expect(edge.records.flat()).toMatchObject([
    { event: 'Seen', event_id: 'm1', distinct_id: 'u1', caller: 'server' },
    { event: '$identify', event_id: 'm2', identify: true },
  ]);
});

test('where the calls of a batch may go is said by the batch, and by each call', async () => {
  const batch = [call(1), call(2, { integrations: { 'Facebook Pixel': true } })];
  expect(await segmentCall(edge, '/v1/batch', { batch, integrations: { All: false } })).toMatchObject(SUCCESS);
  const said = edge.records
    .flat()
    .map(({ properties }) => (JSON.parse(properties) as object)['$destinations' as never]);
  expect(said).toEqual([{ all: false }, { all: false, meta: true }]);
});

test('the context of a batch is that of each of its calls, whose own members hold, object by object', async () => {
  const userAgent = 'Mozilla/5.0 (X11; Linux x86_64; rv:150.0) Gecko/20100101 Firefox/150.0';
  const context = {
    consent: { categoryPreferences: { marketing: false, analytics: true } },
    ip: '203.0.113.50',
    userAgent,
    page: { url: 'https://shop.example/a', title: 'A' },
    campaign: { source: 'mail' },
    traits: { email: 'jane@example.com' },
    gpc: true,
  };
  const own = {
    ip: '203.0.113.51',
    page: { title: 'B' },
    gpc: null,
    consent: { categoryPreferences: { analytics: false } },
  };
  const batch = [
    call(1),
    call(2, { context: own }),
    call(3, { context: 'none' }),
    call(4, { properties: { context: { x: 1 } } }),
  ];
  expect(await segmentCall(edge, '/v1/batch', { batch, context: { consent: 0 } })).toMatchObject(SUCCESS);
  expect(await segmentCall(edge, '/v1/batch', { batch, context })).toMatchObject(SUCCESS);
  const [refused, ...events] = edge.records.flat().filter((_, at) => at === 0 || at > 3);
  const said = { context: { consent: context.consent, gpc: true } };
  expect(JSON.parse(refused?.properties ?? '')).toMatchObject({ context: { consent: 0 } });
  expect(events.map(({ client_ip }) => client_ip)).toEqual([
    '203.0.113.50',
    '203.0.113.51',
    '203.0.113.50',
    '203.0.113.50',
  ]);
  expect(events.every(({ identifiers }) => identifiers?.email !== null)).toBe(true);
  expect(events.map(({ client_user_agent }) => client_user_agent)).toEqual(Array(4).fill(userAgent));
  expect(events.map(({ properties }) => JSON.parse(properties) as object)).toMatchObject([
    { ...said, url: 'https://shop.example/a', title: 'A', utm_source: 'mail' },
    {
      context: { consent: { categoryPreferences: { marketing: false, analytics: false } }, gpc: true },
      ...{ url: 'https://shop.example/a', title: 'B', utm_source: 'mail' },
    },
    { ...said, title: 'A' },
    { context: { ...said.context, x: 1 }, title: 'A' },
  ]);
});

test('a context that would make too much of a batch is refused, and so is one too deep to be read', async () => {
  const context = { note: 'x'.repeat(30_000) };
  expect(await segmentCall(edge, '/v1/batch', { batch: calls(30), context })).toMatchObject(SUCCESS);
  const large = await segmentCall(edge, '/v1/batch', { batch: calls(40), context });
  expect(large).toMatchObject({ status: 400, body: { code: 'body_too_large' } });
  const values = Object.fromEntries(Array.from({ length: 200 }, (_, at) => [at.toString(36), 0]));
  expect(await segmentCall(edge, '/v1/batch', { batch: calls(90), context: values })).toMatchObject(SUCCESS);
  for (const many of [values, JSON.stringify(values)]) {
    const complex = await segmentCall(edge, '/v1/batch', { batch: calls(110), context: many });
    expect(complex).toMatchObject({ status: 400, body: { code: 'body_too_complex' } });
  }
  const whole = await segmentCall(edge, '/v1/batch', { batch: calls(1), context: { note: 'x'.repeat(40_000) } });
  expect(whole).toMatchObject({ status: 400, body: { rejected: [{ code: 'call_too_large' }] } });
  const deep = JSON.stringify({ batch: calls(1) }).replace(
    '{',
    `{"context":${'{"a":'.repeat(8_000)}1${'}'.repeat(8_000)},`,
  );
  const headers = { authorization: `Basic ${Buffer.from(`${edge.serverKey}:`).toString('base64')}` };
  expect((await post(edge, '/v1/batch', deep, headers)).status).toBe(400);
});

test('a large batch is several records of at most 50 events', async () => {
  expect(await segmentBatch(edge, calls(120))).toMatchObject(SUCCESS);
  expect(edge.records.map((events) => events.length)).toEqual([50, 50, 20]);
  expect(edge.records.flat().map(({ event_id }) => event_id)).toEqual(calls(120).map(({ messageId }) => messageId));
});

test('one record that is not acknowledged makes the client send all again', async () => {
  edge.answers.push(Promise.resolve({ ok: true }), Promise.resolve({ ok: false, code: 'not_acknowledged' }));
  const answer = await segmentBatch(edge, calls(120));
  expect(answer).toMatchObject({ status: 503, body: { success: false, code: 'not_acknowledged' } });
  expect(answer.headers.get('retry-after')).toMatch(/^\d+$/);
});

test.each(['track', 'identify', 'page', 'screen', 'group', 'alias'])('POST /v1/%s takes one call', async (type) => {
  const body = { ...call(1), type: undefined, groupId: 'g', previousId: 'u1' };
  expect(await segmentCall(edge, `/v1/${type}`, body)).toMatchObject(SUCCESS);
  expect(edge.records).toHaveLength(1);
});

test('no call is lost for what PHP makes of nothing, or for an id that is none', async () => {
  const batch = [
    call(1, { properties: [], context: [] }),
    call(2, { userId: false }),
    call(3, { userId: 'x'.repeat(250) }),
  ];
  expect(await segmentBatch(edge, batch)).toEqual({ ...SUCCESS, headers: expect.anything() as unknown });
  expect(edge.records.flat()).toHaveLength(3);
});

test('RudderStack’s form: gzip, called form data', async () => {
  const body = new Uint8Array(gzipSync(JSON.stringify({ batch: calls(1) })));
  const headers = {
    'content-type': 'application/x-www-form-urlencoded',
    'content-encoding': 'gzip',
    authorization: `Basic ${Buffer.from(`${edge.serverKey}:`).toString('base64')}`,
    'user-agent': 'analytics-node/3.0.13',
  };
  expect(await post(edge, '/v1/batch', body, headers)).toMatchObject(SUCCESS);
});

test('the key may be in the body, and a server library may use a browser key', async () => {
  const body = JSON.stringify({ batch: calls(1), writeKey: edge.browserKey });
  const headers = { 'user-agent': 'node', 'sec-fetch-mode': 'cors' };
  expect(await post(edge, '/v1/batch', body, headers)).toMatchObject(SUCCESS);
  expect(edge.records.flat()).toMatchObject([{ caller: 'browser' }]);
});

test.each([
  { name: 'no key', body: '{"batch":[]}', key: '', status: 401, code: 'key_missing' },
  { name: 'a stranger’s unreadable body', body: 'no JSON', key: '', status: 401, code: 'key_missing' },
  { name: 'an unknown key', body: 'no JSON', key: 'guess', status: 403, code: 'key_invalid' },
])('$name: $status in Segment’s shape', async ({ body, key, status, code }) => {
  const headers = key === '' ? {} : { authorization: `Basic ${Buffer.from(`${key}:`).toString('base64')}` };
  expect(await post(edge, '/v1/batch', body, headers as Record<string, string>)).toMatchObject({
    status,
    body: { success: false, code, message: expect.any(String) },
  });
});

test('origins are checked as everywhere', async () => {
  const body = JSON.stringify({ batch: calls(1), writeKey: edge.browserKey });
  const from = (origin: string) =>
    post(edge, '/v1/batch', body, { origin, 'user-agent': 'Mozilla/5.0 Chrome/130 Safari' });
  expect(await from('https://shop.example')).toMatchObject(SUCCESS);
  expect(await from('https://evil.example')).toMatchObject({ status: 403, body: { code: 'origin_not_allowed' } });
});

test.each([
  { name: 'no calls', body: { batch: [] }, code: 'body_not_calls' },
  { name: 'no batch', body: {}, code: 'body_not_calls' },
  { name: 'none of a known type', body: { batch: [{ type: 'import' }, 7] }, code: 'events_rejected' },
  { name: 'too many calls', body: { batch: Array.from({ length: 2_501 }, () => 1) }, code: 'calls_too_many' },
  { name: 'too large a batch', body: { batch: ['x'.repeat(500 * 1024)] }, code: 'body_too_large' },
])('$name: 400', async ({ body, code }) => {
  expect(await segmentCall(edge, '/v1/batch', body)).toMatchObject({ status: 400, body: { success: false, code } });
});

test('a call beyond 32 KiB is refused alone, and counted', async () => {
  const counted = async () =>
    Number(/svc_edge_rejected_total\{code="call_too_large",.*\} (\d+)/.exec(await edge.metrics.text())?.[1] ?? 0);
  const before = await counted();
  const large = call(1, { properties: { text: 'x'.repeat(32 * 1024) } });
  expect(await segmentCall(edge, '/v1/track', large)).toMatchObject({
    status: 400,
    body: { rejected: [{ index: 0, code: 'call_too_large' }] },
  });
  expect(await segmentBatch(edge, [large, call(2)])).toMatchObject(SUCCESS);
  expect(edge.records.flat()).toMatchObject([{ event_id: 'm2' }]);
  expect(await counted()).toBe(before + 2);
});

test('the shopper’s device is believed of a server key only', async () => {
  const context = { ip: '203.0.113.50', userAgent: 'Mozilla/5.0 Phone' };
  await segmentBatch(edge, [call(1, { context })]);
  await segmentBatch(edge, [call(2, { context })], edge.browserKey);
  expect(edge.records.flat()).toMatchObject([
    { client_ip: '203.0.113.50', client_user_agent: 'Mozilla/5.0 Phone' },
    { client_ip: '127.0.0.1', client_user_agent: 'analytics-node-next/latest' },
  ]);
});

test('no event is lost for its time: numbers are read, and what is none is the arrival', async () => {
  const times = ['2026-11-09 10:00:00', '2026-11-09', 1_794_218_400, '1794218400000', 'garbage', { at: 1 }];
  expect(
    await segmentBatch(
      edge,
      times.map((timestamp, at) => call(at, { timestamp })),
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
  const batch = [call(1, { timestamp, messageId: `clock-${clockMs}` })];
  const body = { batch, writeKey: edge.browserKey, sentAt: new Date(clockMs + 65_000).toISOString() };
  expect(await segmentCall(edge, '/v1/batch', body, edge.browserKey)).toMatchObject(SUCCESS);
  const [taken] = edge.records.flat();
  expect((taken?.received_at ?? 0) - (taken?.timestamp ?? 0)).toBe(5_000);
});
