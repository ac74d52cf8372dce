import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { readConsent } from '#pipelines/events/consent.ts';
import type { Event } from '#schemas/event.ts';
import { ask, type Reply } from '#test/harness/ask_host.ts';
import { put } from '#test/unit/settings/filled_table.ts';
import { account, destination, domainProof, site } from '#test/unit/settings/samples.ts';
import { startEdge, type TestEdge } from '../edge.ts';

const HOST = 't.shop.example';
const PIXEL = '123456789012345';
const CODE = 'CSHOP1234567890ABCDE';
const VISITOR = '0198b2f0-7c11-7abc-8def-0123456789ab';
const EVENT_ID = '0198b2f0-7c11-7abc-8def-00000000e1d0';
const BROWSER = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0 Safari/537.36';
const META = `/s/p?id=${PIXEL}&ev=PageView&dl=https%3A%2F%2Fwww.shop.example%2F&eid=${EVENT_ID}`;
const TIKTOK = {
  event: 'AddToCart',
  event_id: EVENT_ID,
  context: { pixel: { code: CODE }, page: { url: 'https://www.shop.example/p' }, user: { anonymous_id: 'tt-1' } },
  properties: { value: 5, currency: 'EUR', contents: [{ content_id: 'sku-1', price: 5, quantity: 1 }] },
};

let edge: TestEdge;
beforeEach(async () => {
  edge = await startEdge({
    site: { domains: [HOST], loader_prefix: 'k3m9x2p7qa' },
    browserOrigins: ['https://www.shop.example'],
    trustedProxies: ['127.0.0.1'],
  });
  const routes = JSON.stringify([{ pixel_id: '223456789012345', url_pattern: '/sale/*' }]);
  put(edge.table, { destination: destination({ name: 'ga4', settings: { measurement_id: 'G-SHOP123' } }) });
  put(edge.table, { destination: destination({ name: 'meta', settings: { pixel_id: PIXEL, route_pixels: routes } }) });
  put(edge.table, { destination: destination({ name: 'tiktok', settings: { pixel_code: CODE } }) });
});
afterEach(() => edge.close());

const BROWSER_HEADERS = {
  host: HOST,
  origin: 'https://www.shop.example',
  'user-agent': BROWSER,
  'x-forwarded-for': '203.0.113.9',
};
const get = (path: string, headers: Record<string, string> = {}): Promise<Reply> =>
  ask(`${edge.url}${path}`, { ...BROWSER_HEADERS, ...headers });
const post = (path: string, body: string | Buffer, headers: Record<string, string> = {}): Promise<Reply> =>
  ask(`${edge.url}${path}`, { ...BROWSER_HEADERS, ...headers }, { method: 'POST', body });

function onlyEvent(): Event & { parsed: Record<string, unknown> } {
  const [event, ...more] = edge.records.flat();
  if (event === undefined || more.length > 0) throw new Error(`${edge.records.flat().length} events`);
  return { ...event, parsed: JSON.parse(event.properties) as Record<string, unknown> };
}

const code = ({ text }: Reply): string => JSON.parse(text).error.code;

test.each([
  ['GA4', () => get('/a/c?v=2&tid=G-SHOP123&cid=1.2&en=add_to_cart', { 'sec-gpc': '1' })],
  ['Meta', () => get(META, { 'sec-gpc': '1' })],
  ['TikTok', () => post('/t/e', JSON.stringify(TIKTOK), { 'content-type': 'application/json', 'sec-gpc': '1' })],
])('a hit of %s with Global Privacy Control says so', async (_, send) => {
  expect((await send()).status).toBe(204);
  expect(onlyEvent().parsed).toMatchObject({ $gpc: true });
});

describe("a hit of GA4's tag", () => {
  const HIT = '/a/c?v=2&tid=G-SHOP123&cid=1.2&en=add_to_cart';

  test.each([HIT, HIT.replace('/a/c', '/a/c/g/collect')])('%s becomes an event of ours', async (path) => {
    const reply = await get(`${path}&ep.event_id=${EVENT_ID}`);
    expect(reply).toMatchObject({ status: 204, text: '' });
    expect(onlyEvent()).toMatchObject({
      site_id: 'shop',
      event: 'add_to_cart',
      event_id: EVENT_ID,
      distinct_id: '1.2',
      client_ip: '203.0.113.9',
      client_user_agent: BROWSER,
    });
  });

  test('comes by POST with many lines too', async () => {
    const reply = await post('/a/c?v=2&tid=G-SHOP123&cid=1.2', 'en=a&_p=1&_s=1\r\nen=b&_p=1&_s=2');
    expect(reply.status).toBe(204);
    expect(edge.records.flat().map(({ event }) => event)).toEqual(['a', 'b']);
  });
});

describe("a hit of Meta's pixel", () => {
  test('becomes an event of ours, under the id that the page gave', async () => {
    const custom = new URLSearchParams({
      'cd[value]': '25.50',
      'cd[currency]': 'EUR',
      'cd[content_ids]': '["sku-1"]',
      'cd[contents]': '[{"id":"sku-1","quantity":2,"item_price":12.75}]',
      'ud[em]': 'a'.repeat(64),
      fbp: 'fb.1.1732000000000.1234567890',
      fbc: 'fb.1.1732000000000.AbC',
      rl: 'https://www.search.example/',
    });
    expect(await get(`${META.replace('PageView', 'Purchase')}&${custom.toString()}`)).toMatchObject({
      status: 204,
      text: '',
    });
    const event = onlyEvent();
    expect(event).toMatchObject({
      event: 'Purchase',
      event_id: EVENT_ID,
      distinct_id: 'fb.1.1732000000000.1234567890',
      client_ip: '203.0.113.9',
      value: 25.5,
      currency: 'EUR',
      identifiers: { email: 'a'.repeat(64) },
    });
    expect(event.parsed).toMatchObject({
      page_location: 'https://www.shop.example/',
      page_referrer: 'https://www.search.example/',
      fbp: 'fb.1.1732000000000.1234567890',
      fbc: 'fb.1.1732000000000.AbC',
      content_ids: ['sku-1'],
      contents: [{ id: 'sku-1', quantity: 2, item_price: 12.75 }],
      $lib: 'meta_pixel',
    });
    expect(event.properties).not.toContain('a'.repeat(64));
  });

  test.each([
    ['a form', 'application/x-www-form-urlencoded', META.split('?')[1] ?? ''],
    [
      "a beacon's form",
      'multipart/form-data; boundary=----b',
      `------b\r\nContent-Disposition: form-data; name="id"\r\n\r\n${PIXEL}\r\n------b\r\nContent-Disposition: form-data; name="ev"\r\n\r\nPageView\r\n------b\r\nContent-Disposition: form-data; name="eid"\r\n\r\n${EVENT_ID}\r\n------b--\r\n`,
    ],
  ])('comes as %s too', async (_, type, body) => {
    expect(await post('/s/p', body, { 'content-type': type })).toMatchObject({ status: 204 });
    expect(onlyEvent()).toMatchObject({ event: 'PageView', event_id: EVENT_ID });
  });

  test('that comes twice has one id, though the page gave none', async () => {
    const hit = `/s/p?id=${PIXEL}&ev=PageView&it=1732000000000&ec=0&fbp=fb.1.2.3`;
    for (const path of [hit, hit, hit.replace('ec=0', 'ec=1')]) await get(path);
    const ids = edge.records.flat().map(({ event_id }) => event_id);
    expect([ids[0] === ids[1], ids[0] === ids[2]]).toEqual([true, false]);
  });

  test('is one by its id and its name, where the id is no UUID', async () => {
    const hit = META.replace(EVENT_ID, 'page-7');
    for (const path of [hit, hit.replace('PageView', 'Purchase'), hit]) await get(path);
    await post('/t/e', JSON.stringify({ ...TIKTOK, event: 'CompletePayment', event_id: 'page-7' }));
    const [view, purchase, again, ofTiktok] = edge.records.flat().map(({ event_id }) => event_id);
    expect([again, ofTiktok]).toEqual([view, purchase]);
    expect(purchase).not.toBe(view);
    const sent = edge.records.flat().map(({ properties }) => JSON.parse(properties).$event_id);
    expect(sent).toEqual(['page-7', 'page-7', 'page-7', 'page-7']);
  });

  test('may be of a pixel that only some pages have', async () => {
    expect((await get(META.replace(PIXEL, '223456789012345'))).status).toBe(204);
  });

  test('that limits the use of its data says so where it is delivered', async () => {
    await get(`${META}&dpo=LDU&dpoco=1&dpost=1000`);
    const { parsed } = onlyEvent();
    expect(readConsent(parsed).limited_data_use).toBe(true);
    expect(parsed).toMatchObject({ data_processing_options_country: '1', data_processing_options_state: '1000' });
  });

  test('with a raw address of a person is stored without it', async () => {
    await get(`${META}&ud[em]=Jane.Doe%40example.com&cd[note]=jane.doe%40example.com`);
    const [event] = edge.records.flat();
    expect(JSON.stringify(event)).not.toMatch(/jane\.doe/i);
    expect(event?.identifiers?.email).toMatch(/^[0-9a-f]{64}$/);
  });

  test('whose lists are none keeps them as they are', async () => {
    await get(`${META}&cd[contents]=%5Bx&cd[content_ids]=sku-1`);
    expect(onlyEvent().parsed).toMatchObject({ contents: '[x', content_ids: 'sku-1' });
  });
});

describe("a hit of TikTok's pixel", () => {
  test('becomes an event of ours, under the id that the page gave', async () => {
    expect(await post('/t/e', JSON.stringify(TIKTOK))).toMatchObject({ status: 204, text: '' });
    const event = onlyEvent();
    expect(event).toMatchObject({
      event: 'AddToCart',
      event_id: EVENT_ID,
      distinct_id: 'tt-1',
      client_ip: '203.0.113.9',
      value: 5,
      currency: 'EUR',
    });
    expect(event.parsed).toMatchObject({
      page_location: 'https://www.shop.example/p',
      contents: [{ content_id: 'sku-1', price: 5, quantity: 1 }],
      $lib: 'tiktok_pixel',
    });
  });

  test('without an id of its event has that of its message', async () => {
    const { event_id: _, ...rest } = TIKTOK;
    for (const _time of [1, 2]) await post('/t/e', JSON.stringify({ ...rest, message_id: 'messageId-1' }));
    expect(edge.records.flat().map(({ event_id }) => event_id)).toEqual(['messageId-1', 'messageId-1']);
  });

  test.each([
    ['no JSON', 'event=1', 400, 'body_not_json'],
    ['no object', '[]', 403, 'pixel_unknown'],
    ['of nobody', '{"event":"x"}', 403, 'pixel_unknown'],
    ['with a pixel that is no object', '{"event":"x","context":{"pixel":"x"}}', 403, 'pixel_unknown'],
  ])('that is %s is refused', async (_, body, status, expected) => {
    const reply = await post('/t/e', body);
    expect([reply.status, code(reply)]).toEqual([status, expected]);
  });

  test('does not come by GET', async () => {
    expect(await get('/t/e')).toMatchObject({ status: 405 });
  });
});

describe('the visitor', () => {
  const cookie = `svc_did=${VISITOR}`;

  test.each([
    ['Meta', () => get(META, { cookie })],
    ['TikTok', () => post('/t/e', JSON.stringify(TIKTOK), { cookie })],
  ])('of a hit of %s is the one of our cookie', async (_, send) => {
    await send();
    expect(onlyEvent().distinct_id).toBe(VISITOR);
  });

  test('stays anonymous on a site in offline mode', async () => {
    put(edge.table, { site: site({ domains: [HOST], mode: 'offline' }) });
    await get(META, { cookie });
    expect(onlyEvent().distinct_id).toMatch(/^anon_/);
    expect(onlyEvent().client_ip).toBeNull();
  });

  test('gets no cookie', async () => {
    const replies = [await get(META, { cookie }), await post('/t/e', JSON.stringify(TIKTOK), { cookie })];
    expect(replies.map(({ headers }) => headers['set-cookie'])).toEqual([undefined, undefined]);
  });
});

describe('a hit is refused', () => {
  test.each([
    ['/a/c?v=2&tid=G-EVIL999&cid=1.2&en=a', 'pixel_unknown'],
    ['/a/c?v=2&cid=1.2&en=a', 'pixel_unknown'],
    [META.replace(PIXEL, '666666666666666'), 'pixel_unknown'],
    [META.replace(`id=${PIXEL}&`, ''), 'pixel_unknown'],
  ])('for a pixel that is not the site’s: %s', async (path, expected) => {
    const reply = await get(path);
    expect([reply.status, code(reply)]).toEqual([403, expected]);
    expect(edge.records).toEqual([]);
  });

  test.each(['/a/c?tid=G-SHOP123&en=a', META, '/k3m9x2p7qa/s/p'])(
    'on a host that nobody claimed, or that is not verified: %s',
    async (path) => {
      expect(await get(path, { host: 'www.evil.example' })).toMatchObject({ status: 404 });
      expect(await get(path, { 'x-forwarded-host': 'www.evil.example' })).toMatchObject({ status: 404 });
      put(edge.table, { domain_proof: domainProof(HOST, { verified_at: null }) });
      expect(await get(path)).toMatchObject({ status: 404 });
      expect(edge.records).toEqual([]);
    },
  );

  test('where a client says itself which host it forwards', async () => {
    const direct = await startEdge({ site: { domains: [HOST] } });
    const reply = await ask(`${direct.url}${META}`, { host: 'edge.example', 'x-forwarded-host': HOST });
    expect([reply.status, code(reply)]).toEqual([404, 'domain_unverified']);
    await direct.close();
  });

  test('that an image of another page brings', async () => {
    const { origin: _, ...headers } = BROWSER_HEADERS;
    const load = (referer: string): Promise<Reply> =>
      ask(`${edge.url}${META}`, { ...headers, 'sec-fetch-site': 'cross-site', referer });
    expect((await load('https://www.shop.example/')).status).toBe(204);
    const reply = await load('https://www.evil.example/');
    expect([reply.status, code(reply)]).toEqual([403, 'origin_not_allowed']);
  });

  test('from an origin that no browser key allows', async () => {
    const reply = await get(META, { origin: 'https://www.evil.example' });
    expect([reply.status, code(reply)]).toEqual([403, 'origin_not_allowed']);
  });

  test.each([
    ['too large', 'x'.repeat(256 * 1024 + 1), {}, 413, 'body_too_large'],
    [
      'too large once it is inflated',
      gzipSync('x'.repeat(256 * 1024 + 1)),
      { 'content-encoding': 'gzip' },
      413,
      'body_too_large',
    ],
    ['of too many fields', 'a=1&'.repeat(1_001), {}, 413, 'hit_too_large'],
    [
      'a form of too many parts',
      `${'--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n'.repeat(1_001)}--b--\r\n`,
      { 'content-type': 'multipart/form-data; boundary=b' },
      413,
      'hit_too_large',
    ],
    ['a form that is none', 'x', { 'content-type': 'multipart/form-data; boundary=b' }, 400, 'request_malformed'],
  ])('that is %s', async (_, body, headers, status, expected) => {
    const reply = await post('/s/p', body, headers as Record<string, string>);
    expect([reply.status, code(reply)]).toEqual([status, expected]);
    expect(edge.unknown).toEqual([]);
  });

  test('without a name of its event', async () => {
    const reply = await get(`/s/p?id=${PIXEL}`);
    expect(reply.status).toBe(204);
    expect(edge.records).toEqual([]);
  });
});

test('a hit is acknowledged only when Kafka holds it', async () => {
  edge.answers.push(Promise.resolve({ ok: false, reason: 'not_acknowledged' }) as never);
  const reply = await get(META);
  expect(reply.status).toBe(503);
});

test('two sites on one edge take their own hits alone', async () => {
  put(edge.table, { account: account({ account_id: 'two' }) });
  put(edge.table, { site: site({ site_id: 'two', account_id: 'two', domains: ['t.two.example'] }) });
  put(edge.table, { domain_proof: domainProof('t.two.example', { site_id: 'two' }) });
  expect((await get(META, { host: 't.two.example' })).status).toBe(403);
  expect((await get(META)).status).toBe(204);
  expect(onlyEvent().site_id).toBe('shop');
});

test('the prefix of the site leads to the collectors too, and no other', async () => {
  expect((await get(`/k3m9x2p7qa${META}`)).status).toBe(204);
  expect((await get(`/other${META}`)).status).toBe(404);
  expect(edge.records).toHaveLength(1);
});

test('a page may send with its cookies', async () => {
  const { headers } = await get(META);
  expect(headers).toMatchObject({
    'access-control-allow-origin': 'https://www.shop.example',
    'access-control-allow-credentials': 'true',
  });
});
