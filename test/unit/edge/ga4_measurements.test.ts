import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { startEdge, type TestEdge } from './edge.ts';
import { post } from './foreign.ts';

let edge: TestEdge;
beforeAll(async () => {
  edge = await startEdge();
});
beforeEach(() => {
  edge.records.length = 0;
});
afterAll(async () => {
  await edge.close();
  expect(edge.unknown).toEqual([]);
});

const body = (changes: object = {}): string =>
  JSON.stringify({ client_id: '1.2', events: [{ name: 'purchase', params: { transaction_id: 'T1' } }], ...changes });
const send = (path: string, text: string, secret = edge.serverKey) =>
  post(edge, `${path}?measurement_id=G-SHOP1&api_secret=${secret}`, text, { 'content-type': 'text/plain' });

test('events that a server sends are stored, with its word for the visitor’s device', async () => {
  const answer = await send(
    '/mp/collect',
    body({ ip_override: '203.0.113.77', user_agent: 'Mozilla/5.0 (X11) Firefox/130.0' }),
  );
  expect([answer.status, answer.body]).toEqual([204, '']);
  expect(edge.records.flat()).toMatchObject([
    {
      event: 'purchase',
      event_id: 'T1',
      order_id: 'T1',
      distinct_id: '1.2',
      caller: 'server',
      client_ip: '203.0.113.77',
    },
  ]);
});

test.each([
  ['no secret', '', body(), 401, 'key_missing'],
  ['an unknown secret', 'svc_sk_x', body(), 403, 'key_invalid'],
  ['no JSON', null, '{', 400, 'body_not_json'],
  ['no body', null, '', 400, 'body_not_json'],
  ['a list', null, '[]', 400, 'body_not_object'],
  ['no client', null, '{"events":[{"name":"a"}]}', 400, 'client_id_missing'],
  ['no events', null, body({ events: [] }), 400, 'events_missing'],
  [
    'too many events',
    null,
    body({ events: Array.from({ length: 26 }, () => ({ name: 'a' })) }),
    413,
    'events_too_many',
  ],
  [
    'too many parameters',
    null,
    body({
      events: [{ name: 'a', params: Object.fromEntries(Array.from({ length: 201 }, (_, at) => [`p${at}`, 1])) }],
    }),
    413,
    'parameters_too_many',
  ],
  [
    'a list that all events would get',
    null,
    body({ user_properties: { a: { value: Array(1_000).fill(0) } }, events: Array(25).fill({ name: 'a' }) }),
    413,
    'parameters_too_many',
  ],
  ['events that cannot be', null, body({ events: [{ name: '' }] }), 400, 'events_rejected'],
])('%s is refused', async (_, secret, text, status, code) => {
  const answer = await send('/mp/collect', text, secret ?? edge.serverKey);
  expect(answer).toMatchObject({ status, body: { error: { code } } });
  expect(edge.records).toEqual([]);
});

test('of two secrets none is taken', async () => {
  const answer = await send('/mp/collect', body(), `${edge.serverKey}&api_secret=${edge.serverKey}`);
  expect(answer).toMatchObject({ status: 400, body: { error: { code: 'key_repeated' } } });
});

test.each(['/mp/collect', '/debug/mp/collect'])('%s says that a browser key is no secret', async (path) => {
  expect(await send(path, body(), edge.browserKey)).toMatchObject({
    status: 403,
    body: { error: { code: 'server_key_required' } },
  });
});

test('the debugging route says what Google would object to, and keeps nothing', async () => {
  expect(await send('/debug/mp/collect', body())).toMatchObject({ status: 200, body: { validationMessages: [] } });
  expect(await send('/debug/mp/collect', body({ events: [{ name: 'session_start' }] }))).toMatchObject({
    status: 200,
    body: { validationMessages: [{ fieldPath: 'events[0].name', validationCode: 'NAME_RESERVED' }] },
  });
  expect(edge.records).toEqual([]);
});

test('a measurement whose time cannot be read happened when it came', async () => {
  expect(await send('/mp/collect', body({ timestamp_micros: 'soon' }))).toMatchObject({ status: 204 });
  const [taken] = edge.records.flat();
  expect(taken?.timestamp).toBe(taken?.received_at);
});

test('a time is in the unit that its size tells', async () => {
  const happenedMs = Date.now() - 3_600_000;
  const sent = [happenedMs * 1000, happenedMs, Math.trunc(happenedMs / 1000), `${happenedMs}`, happenedMs * 1e6];
  for (const timestamp_micros of sent) {
    expect(await send('/mp/collect', body({ timestamp_micros }))).toMatchObject({ status: 204 });
  }
  const apart = edge.records.flat().map(({ timestamp }) => Math.abs(timestamp - happenedMs) < 1000);
  expect(apart).toEqual(sent.map(() => true));
});

test('consent that cannot be read goes with the event, and no consent breaks it', async () => {
  const gcs = { toString: 'x' };
  const text = body({ consent: 'granted', events: [{ name: 'purchase', params: { gcs, consent: 'denied' } }] });
  for (const sent of [text, body({ consent: 'denied' })]) {
    expect(await send('/mp/collect', sent)).toMatchObject({ status: 204 });
  }
  expect(edge.records.flat().map(({ properties }) => JSON.parse(properties) as object)).toMatchObject([
    { consent: 'granted', $consent: 'denied', gcs },
    { consent: 'denied' },
  ]);
});
