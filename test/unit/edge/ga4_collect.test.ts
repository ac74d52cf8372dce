import { request } from 'node:http';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { issueSecret } from '#pipelines/settings/admin_tokens.ts';
import { readAnswer } from '#test/harness/ingest.ts';
import { CHROME } from '#test/unit/intake/context.ts';
import { put } from '#test/unit/settings/filled_table.ts';
import { account, apiKey, destination, site } from '#test/unit/settings/samples.ts';
import { startEdge, type TestEdge } from './edge.ts';

const ORIGIN = 'https://shop.example';
const OTHER_ORIGIN = 'https://elsewhere.example';
const GOOD = '/g/collect?v=2&tid=G-SHOP1&cid=1.2&_p=1&_s=1&en=page_view';

let edge: TestEdge;
beforeAll(async () => {
  edge = await startEdge({ browserOrigins: [ORIGIN], strangersMax: 1_000 });
  const ga4 = (site_id: string, measurement_id: string) =>
    put(edge.table, { destination: destination({ site_id, name: 'ga4', settings: { measurement_id } }) });
  const other = issueSecret('browser', (bytes) => Buffer.alloc(bytes, 5));
  put(edge.table, { account: account({ account_id: 'other' }) });
  put(edge.table, { site: site({ site_id: 'other', account_id: 'other' }) });
  put(edge.table, { key: apiKey({ site_id: 'other', key_hash: other.hash }) });
  put(edge.table, { site: site({ site_id: 'keyless' }) });
  ga4('shop', 'G-SHOP1');
  ga4('other', 'G-OTHER');
  ga4('keyless', 'G-KEYLESS');
  put(edge.table, { site: site({ site_id: 'twin' }) });
  ga4('twin', 'G-TWIN');
  put(edge.table, { site: site({ site_id: 'twin2' }) });
  ga4('twin2', 'G-TWIN');
});
beforeEach(() => {
  edge.records.length = 0;
  edge.usedKeys.length = 0;
});
afterAll(async () => {
  await edge.close();
  expect(edge.unknown).toEqual([]);
});

type Sent = { method?: string; body?: string; headers?: Record<string, string> };

const send = (path: string, { method = 'GET', body, headers = {} }: Sent = {}) =>
  fetch(`${edge.url}${path}`, {
    method,
    headers: { 'user-agent': CHROME, origin: ORIGIN, ...headers },
    ...(body === undefined ? {} : { body }),
  });
const sendAs = async (path: string, sent?: Sent) => readAnswer(await send(path, sent));
const stored = () => edge.records.flat();

test.each(['/g/collect', '/j/collect'])('GET %s: 204 with nothing in it, and an event of the site', async (path) => {
  const answer = await send(GOOD.replace('/g/collect', path));
  expect([answer.status, await answer.text()]).toEqual([204, '']);
  expect(stored()).toMatchObject([{ site_id: 'shop', event: 'page_view', distinct_id: '1.2', caller: 'browser' }]);
  expect(edge.usedKeys).toHaveLength(1);
});

test.each(['text/plain;charset=UTF-8', 'application/x-www-form-urlencoded', 'application/octet-stream', 'image/gif'])(
  'POST of %s: each line is an event',
  async (type) => {
    const body = 'en=a&ep.x=1\r\nen=b';
    const answer = await sendAs('/g/collect?tid=G-SHOP1&cid=1.2&_p=1&_s=2', {
      method: 'POST',
      body,
      headers: { 'content-type': type },
    });
    expect(answer.status).toBe(204);
    expect(stored().map(({ event }) => event)).toEqual(['a', 'b']);
  },
);

test('a beacon without a body', async () => {
  expect((await sendAs(GOOD, { method: 'POST' })).status).toBe(204);
  expect(stored()).toHaveLength(1);
});

test('a measurement id that stands in the body alone', async () => {
  const sent = { method: 'POST', body: 'v=2&tid=G-SHOP1&cid=1.2&_p=1&en=a' };
  expect((await sendAs('/g/collect', sent)).status).toBe(204);
  expect(stored()).toMatchObject([{ site_id: 'shop', event: 'a' }]);
});

test('CORS: the origin is echoed, with credentials and never a star', async () => {
  const { headers } = await send(GOOD);
  expect(headers.get('access-control-allow-origin')).toBe(ORIGIN);
  expect(headers.get('access-control-allow-credentials')).toBe('true');
  expect(headers.get('vary')).toBe('Origin');
});

test('CORS: a preflight gets the headers it asks for, for a day', async () => {
  const asked = { 'access-control-request-method': 'POST', 'access-control-request-headers': 'content-type, x-a' };
  const answer = await send('/g/collect', { method: 'OPTIONS', headers: asked });
  expect([answer.status, await answer.text()]).toEqual([204, '']);
  expect(Object.fromEntries(answer.headers)).toMatchObject({
    'access-control-allow-origin': ORIGIN,
    'access-control-allow-credentials': 'true',
    'access-control-allow-headers': 'content-type, x-a',
    'access-control-max-age': '86400',
    vary: 'Origin, Access-Control-Request-Headers',
  });
});

test.each([
  ['no measurement id', '/g/collect?v=2&en=a', {}, 401, 'measurement_id_missing'],
  ['an unknown one', '/g/collect?tid=G-NOBODY&en=a', {}, 403, 'measurement_id_unknown'],
  ['one that two sites have', '/g/collect?tid=G-TWIN&en=a', {}, 403, 'measurement_id_contested'],
  ['a site without a browser key', '/g/collect?tid=G-KEYLESS&en=a', {}, 403, 'browser_key_missing'],
  ['an origin that no key allows', GOOD, { origin: OTHER_ORIGIN }, 403, 'origin_not_allowed'],
  ['a key that is unknown', `${GOOD}&key=svc_pk_x`, {}, 403, 'key_invalid'],
  ['two keys', '/g/collect?key=svc_pk_x&key=svc_pk_x&cid=1&en=a', {}, 400, 'key_repeated'],
  ['a hit that is malformed', '/g/collect?tid=G-SHOP1&cid=1&en=%07', {}, 400, 'events_rejected'],
])('%s is refused', async (_, path, headers, status, code) => {
  expect(await sendAs(path, { headers })).toMatchObject({ status, body: { error: { code } } });
  expect(stored()).toEqual([]);
});

test('a hit without a name is no event and no fault, and is counted', async () => {
  expect((await sendAs('/g/collect?tid=G-SHOP1&cid=1')).status).toBe(204);
  const body = 'cid=1&_s=1\r\nen=a&cid=1';
  expect((await sendAs('/g/collect?tid=G-SHOP1', { method: 'POST', body })).status).toBe(204);
  expect(stored()).toMatchObject([{ event: 'a' }]);
  const { counts = new Map<string, number>() } = (await edge.refused()).get('shop') ?? {};
  const named = [...counts].map(([field, count]) => [field.replace(/^\d+:/, ''), count]);
  expect(named).toContainEqual(['rejected:event_name_missing', 2]);
});

test('an empty key is none: the measurement id names the site', async () => {
  expect((await sendAs(GOOD, { headers: { 'x-svc-key': '' } })).status).toBe(204);
  expect((await sendAs(`${GOOD}&key=`, { headers: { 'x-svc-key': ' ' } })).status).toBe(204);
  expect(stored()).toHaveLength(2);
});

test('a body may begin with a byte order mark', async () => {
  const body = '\ufeffen=a\r\nen=b';
  expect((await sendAs('/g/collect?tid=G-SHOP1&cid=1.2', { method: 'POST', body })).status).toBe(204);
  expect(stored().map(({ event }) => event)).toEqual(['a', 'b']);
});

const image = (fetchSite: string, referer?: string) => ({
  'user-agent': CHROME,
  'sec-fetch-site': fetchSite,
  'sec-fetch-mode': 'no-cors',
  'sec-fetch-dest': 'image',
  ...(referer === undefined ? {} : { referer }),
});
const load = async (path: string, headers: Record<string, string>) =>
  readAnswer(await fetch(`${edge.url}${path}`, { headers }));
const keyed = () => `/g/collect?key=${edge.browserKey}&cid=1.2&en=page_view`;

test.each([
  ['of an allowed page', image('cross-site', `${ORIGIN}/cart?id=1`), 204],
  ['of an allowed page next to the edge', image('same-site', `${ORIGIN}/`), 204],
  ['of the edge’s own host', image('same-origin'), 204],
  ['of another page', image('cross-site', `${OTHER_ORIGIN}/`), 403],
  ['of another page next to the edge', image('same-site', `${OTHER_ORIGIN}/`), 403],
  ['of a page that keeps its address back', image('cross-site'), 403],
  ['of a page of no address', image('cross-site', 'about:client'), 403],
  ['without any sign of a browser', { 'user-agent': CHROME }, 204],
])('an image %s: by its measurement id and by its key', async (_, headers, status) => {
  expect([(await load(GOOD, headers)).status, (await load(keyed(), headers)).status]).toEqual([status, status]);
  expect(stored()).toHaveLength(status === 204 ? 2 : 0);
});

test.each([
  ['lines of several sites', 'en=a\r\nen=b&tid=G-OTHER', 400, 'measurement_ids_mixed'],
  ['lines of an unknown site', 'en=a\r\nen=b&tid=G-NOBODY', 400, 'measurement_ids_mixed'],
  ['more than 50 lines', 'en=a\n'.repeat(51), 413, 'events_too_many'],
  ['a line of too many keys', `en=a${'&ep.a=1'.repeat(1_000)}`, 413, 'hit_too_large'],
  [
    'a line of too many parameters',
    `en=a&${Array.from({ length: 201 }, (_, at) => `ep.a${at}=1`).join('&')}`,
    413,
    'parameters_too_many',
  ],
  ['a body that is too large', 'x'.repeat(256 * 1024 + 1), 413, 'body_too_large'],
])('%s are refused', async (_, body, status, code) => {
  const path = '/g/collect?tid=G-SHOP1&cid=1.2&_p=1';
  expect(await sendAs(path, { method: 'POST', body })).toMatchObject({ status, body: { error: { code } } });
  expect(stored()).toEqual([]);
});

test('a request without an origin is taken, as by a browser key', async () => {
  const answer = await readAnswer(await fetch(`${edge.url}${GOOD}`, { headers: { 'user-agent': CHROME } }));
  expect(answer.status).toBe(204);
  expect(stored()).toMatchObject([{ caller: 'browser' }]);
});

test('a key names the site, whatever the measurement id', async () => {
  const path = `/g/collect?tid=G-OTHER&cid=1.2&_p=1&en=a&_uip=203.0.113.77&key=${edge.serverKey}`;
  const answer = await readAnswer(await fetch(`${edge.url}${path}`, { headers: { 'user-agent': 'sgtm' } }));
  expect(answer.status).toBe(204);
  expect(stored()).toMatchObject([{ site_id: 'shop', caller: 'server', client_ip: '203.0.113.77' }]);
});

test('a claimed host names the site, whatever the measurement id', async () => {
  const { status } = await asHost('shop.example', '/g/collect?tid=G-OTHER&cid=1.2&_p=1&en=a');
  expect(status).toBe(204);
  expect(stored()).toMatchObject([{ site_id: 'shop' }]);
});

test('the address that a page states is not believed', async () => {
  await send(`${GOOD}&_uip=203.0.113.77`);
  expect(stored()[0]?.client_ip).not.toBe('203.0.113.77');
});

test('a robot’s hit is 204 and no event', async () => {
  expect((await sendAs(GOOD, { headers: { 'user-agent': 'Googlebot/2.1' } })).status).toBe(204);
  expect(stored()).toEqual([]);
});

test('what Kafka has not acknowledged is 503, with the time to come again', async () => {
  edge.answers.push(Promise.resolve({ ok: false, code: 'not_acknowledged' }));
  const answer = await sendAs(GOOD);
  expect(answer).toMatchObject({ status: 503, body: { error: { code: 'not_acknowledged' } } });
  expect(answer.headers.get('retry-after')).toMatch(/^\d+$/);
});

test('personal data comes hashed, and no answer repeats it', async () => {
  const path = `${GOOD}&ep.user_data.email=Jane.Doe%40Example.com&ep.user_data.phone_number=%2B16505551212`;
  expect((await sendAs(path)).status).toBe(204);
  const [event] = stored();
  expect(event?.identifiers?.email).toMatch(/^[0-9a-f]{64}$/);
  expect(event?.identifiers?.phone).toMatch(/^[0-9a-f]{64}$/);
  expect(JSON.stringify(event)).not.toMatch(/jane|6505551212/i);
});

async function asHost(host: string, path: string): Promise<{ status: number | undefined }> {
  return new Promise((resolve, reject) => {
    const headers = { host, origin: ORIGIN, 'user-agent': CHROME };
    request(`${edge.url}${path}`, { headers }, (response) => {
      response.resume().on('end', () => resolve({ status: response.statusCode }));
    })
      .on('error', reject)
      .end();
  });
}
