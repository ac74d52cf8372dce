import { gunzipSync, gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createScriptFetcher, type ScriptFetcher } from '#infra/egress/send.ts';
import { ask, type Reply } from '#test/harness/ask_host.ts';
import { startVendor, type VendorServer } from '#test/harness/vendor_server.ts';
import { put } from '#test/unit/settings/filled_table.ts';
import { account, destination, domainProof, site } from '#test/unit/settings/samples.ts';
import { startEdge, type TestEdge } from '../edge.ts';

const HOST = 't.shop.example';
/** No answer takes as long, on whatever machine. */
const TIMEOUT_MS = 15_000;
const SOON_MS = 100;
const BYTES_MAX = 200_000;
const MINUTE_MS = 60_000;

let vendor: VendorServer;
let fetcher: ScriptFetcher;
let edge: TestEdge;
let nowMs: number;

const shop = { domains: [HOST, 'other.shop.example'], gtm_container_id: 'GTM-SHOP123' };

beforeEach(async () => {
  nowMs = Date.UTC(2026, 10, 24);
  vendor = await startVendor();
  const vendors = { google: `${vendor.url}/google`, meta: `${vendor.url}/meta`, tiktok: `${vendor.url}/tiktok` };
  fetcher = createScriptFetcher({ vendors, timeoutMs: TIMEOUT_MS, bytesMax: BYTES_MAX });
  edge = await startEdge({ site: shop, fetchScript: fetcher.fetch, nowMs: () => nowMs });
  const routes = JSON.stringify([{ pixel_id: '223456789012345', url_pattern: '/sale/*' }]);
  for (const [name, settings] of Object.entries({
    ga4: { measurement_id: 'G-SHOP123', route: 'browser' },
    meta: { pixel_id: '123456789012345', route_pixels: routes },
    tiktok: { pixel_code: 'CSHOP1234567890ABCDE' },
  })) {
    put(edge.table, { destination: destination({ name, settings: settings as Record<string, string> }) });
  }
});
afterEach(async () => {
  await edge.close();
  await fetcher.close();
  await vendor.close();
});

const load = (path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Reply> =>
  ask(`${edge.url}${path}`, { host: HOST, ...headers }, { method });

const fails = (status: number, headers: Record<string, string> = {}, body: Buffer | string = 'gone'): void =>
  vendor.answer((_request, response) => response.writeHead(status, headers).end(body));

const EMPTY = /^\/\* [a-z_]+: [^*]+ \*\/\n$/;

function expectEmptyScript(reply: Reply, status: number, code: string): void {
  expect(reply.status).toBe(status);
  expect(reply.headers['content-type']).toBe('text/javascript; charset=utf-8');
  expect(reply.headers['cache-control']).toBe('no-store');
  expect(reply.text).toMatch(EMPTY);
  expect(reply.text).toContain(code);
}

describe('a script', () => {
  test.each([
    ['sg.js', '/google/gtag/js?id=G-SHOP123'],
    ['sx.js', '/google/gtm.js?id=GTM-SHOP123'],
    ['sp.js', '/meta/en_US/fbevents.js'],
    ['tt.js', '/tiktok/i18n/pixel/events.js?sdkid=CSHOP1234567890ABCDE&lib=ttq'],
  ])('%s is as its platform gives it, for the id of the site', async (name, path) => {
    const reply = await load(`/${name}`);
    expect(reply).toMatchObject({ status: 200, text: `/* script of ${path} */` });
    expect(reply.headers).toMatchObject({
      'content-type': 'text/javascript; charset=utf-8',
      'cache-control': 'public, max-age=300, stale-if-error=86400',
      'x-content-type-options': 'nosniff',
      'cross-origin-resource-policy': 'cross-origin',
      vary: 'Accept-Encoding',
    });
  });

  test('has an ETag of its bytes, and is not sent to who has it', async () => {
    const { etag = '' } = (await load('/sg.js')).headers;
    expect(etag).toMatch(/^"[A-Za-z0-9_-]{27}"$/);
    expect(await load('/sg.js', { 'if-none-match': etag })).toMatchObject({ status: 304, text: '' });
  });

  test('is compressed for who takes it so, whatever the platform sent', async () => {
    vendor.answer((_request, response) =>
      response
        .writeHead(200, { 'content-type': 'text/javascript', 'content-encoding': 'gzip' })
        .end(gzipSync('let a = 1;')),
    );
    const zipped = await load('/sg.js', { 'accept-encoding': 'gzip' });
    expect([zipped.headers['content-encoding'], gunzipSync(zipped.body).toString()]).toEqual(['gzip', 'let a = 1;']);
    const plain = await load('/sg.js');
    expect([plain.headers['content-encoding'], plain.text]).toEqual([undefined, 'let a = 1;']);
  });

  test('answers HEAD, and no other method but GET', async () => {
    expect(await load('/sg.js', {}, 'HEAD')).toMatchObject({ status: 200, text: '' });
    expect(await load('/sg.js', {}, 'POST')).toMatchObject({ status: 405 });
  });

  test('takes nothing of the query but a way past caches', async () => {
    await load('/sg.js?v=17&cx=c&l=other');
    expect(vendor.seen.map(({ url }) => url)).toEqual(['/google/gtag/js?id=G-SHOP123']);
  });

  test.each([
    ['sg.js?id=G-SHOP123', 200],
    ['sg.js?id=G-EVIL999', 404],
    ['sg.js?id=G-SHOP123&id=G-EVIL999', 404],
    ['sx.js?id=GTM-SHOP123', 200],
    ['sx.js?id=GTM-EVIL999', 404],
    ['sp.js?id=123456789012345', 200],
    ['sp.js?id=223456789012345', 200],
    ['sp.js?id=666', 404],
    ['tt.js?sdkid=CSHOP1234567890ABCDE', 200],
    ['tt.js?sdkid=CEVIL1234567890ABCDE', 404],
  ])('%s is answered %i', async (path, status) => {
    const reply = await load(`/${path}`);
    expect(reply.status).toBe(status);
    if (status === 404) expectEmptyScript(reply, 404, 'script_not_configured');
    else expect(reply.text).toMatch(/^\/\* script of/);
  });

  test.each([
    ['is not configured', { name: 'tiktok', settings: {} }, '/tt.js'],
    ['is switched off', { name: 'meta', enabled: false, settings: { pixel_id: '123456789012345' } }, '/sp.js'],
    ['is reached from here', { name: 'ga4', settings: { measurement_id: 'G-SHOP123' } }, '/sg.js'],
    ['has no id of its kind', { name: 'tiktok', settings: { pixel_code: '../../evil' } }, '/tt.js'],
  ])('of a platform that %s is empty', async (_, changes, path) => {
    put(edge.table, { destination: destination(changes as Parameters<typeof destination>[0]) });
    expectEmptyScript(await load(path), 404, 'script_not_configured');
    expect(vendor.seen).toEqual([]);
  });
});

describe('cookies', () => {
  test('neither go to the platform nor come from it', async () => {
    vendor.answer((_request, response) =>
      response
        .writeHead(200, {
          'content-type': 'text/javascript',
          'set-cookie': 'vendor=1; Domain=shop.example',
          'x-vendor': '1',
          link: '</x>; rel=preload',
        })
        .end('1'),
    );
    const visit = {
      cookie: 'svc_did=0198b2f0-7c11-7abc-8def-0123456789ab; session=secret',
      authorization: 'Bearer secret',
      referer: 'https://www.shop.example/account',
      'x-forwarded-for': '203.0.113.9',
      origin: 'https://www.shop.example',
    };
    const { headers } = await load('/sg.js', visit);
    expect([headers['set-cookie'], headers['x-vendor'], headers['link']]).toEqual([undefined, undefined, undefined]);
    const sent = vendor.seen.map((request) => Object.keys(request.headers).sort());
    expect(sent).toEqual([['accept', 'accept-encoding', 'connection', 'host', 'user-agent']]);
  });
});

describe('the cache', () => {
  test('asks the platform once for many at a time', async () => {
    const replies = await Promise.all(Array.from({ length: 20 }, () => load('/sg.js')));
    expect(new Set(replies.map(({ text }) => text)).size).toBe(1);
    expect(vendor.seen).toHaveLength(1);
  });

  test('holds for 5 minutes, and asks then', async () => {
    await load('/sg.js');
    nowMs += 5 * MINUTE_MS - 1;
    await load('/sg.js');
    expect(vendor.seen).toHaveLength(1);
    nowMs += 1;
    vendor.answer((_request, response) => response.setHeader('content-type', 'text/javascript').end('newer'));
    await load('/sg.js');
    await expect.poll(async () => (await load('/sg.js')).text).toBe('newer');
    expect(vendor.seen).toHaveLength(2);
  });

  test('shows the stale script while the platform fails, for a day', async () => {
    const { text } = await load('/sg.js');
    fails(500);
    nowMs += 10 * MINUTE_MS;
    const stale = await load('/sg.js');
    expect(stale).toMatchObject({ status: 200, text });
    expect(stale.headers['cache-control']).toBe('public, max-age=30, stale-if-error=86400');
    nowMs += 24 * 60 * MINUTE_MS;
    expectEmptyScript(await load('/sg.js'), 200, 'script_unavailable');
  });

  test('leaves a platform alone after it failed, and then asks again', async () => {
    fails(500);
    await load('/sg.js');
    await load('/sg.js');
    expect(vendor.seen).toHaveLength(1);
    nowMs += 15_000;
    vendor.answer((_request, response) => response.setHeader('content-type', 'text/javascript').end('new'));
    expect((await load('/sg.js')).text).toBe('new');
  });

  test('is shared by the domains of a site, and not by two sites', async () => {
    put(edge.table, { account: account({ account_id: 'two' }) });
    put(edge.table, {
      site: site({ site_id: 'two', account_id: 'two', domains: ['t.two.example'], gtm_container_id: 'GTM-TWO1234' }),
    });
    put(edge.table, { domain_proof: domainProof('t.two.example', { site_id: 'two' }) });
    const [own, sibling, theirs] = [
      await load('/sx.js'),
      await load('/sx.js', { host: 'other.shop.example' }),
      await load('/sx.js', { host: 't.two.example' }),
    ];
    expect(sibling.text).toBe(own.text);
    expect(theirs.text).toBe('/* script of /google/gtm.js?id=GTM-TWO1234 */');
    expect(vendor.seen).toHaveLength(2);
    expectEmptyScript(await load('/sx.js?id=GTM-SHOP123', { host: 't.two.example' }), 404, 'script_not_configured');
    expectEmptyScript(await load('/sg.js', { host: 't.two.example' }), 404, 'script_not_configured');
  });
});

describe('in the place of a script that is not to be had stands an empty one', () => {
  const javascript = { 'content-type': 'text/javascript' };
  test.each([
    ['the platform errs', () => fails(503, { 'content-type': 'text/html' }, '<html>oops</html>')],
    ['it is a page', () => fails(200, { 'content-type': 'text/html' }, '<html>log in</html>')],
    ['it is elsewhere', () => fails(302, { location: `${vendor.url}/login` }, '')],
    ['it is too large', () => fails(200, javascript, 'x'.repeat(BYTES_MAX + 1))],
    [
      'it grows beyond the limit when it is inflated',
      () => fails(200, { ...javascript, 'content-encoding': 'gzip' }, gzipSync(Buffer.alloc(10 * BYTES_MAX))),
    ],
  ])('when %s', async (_, prepare) => {
    prepare();
    expectEmptyScript(await load('/sg.js'), 200, 'script_unavailable');
    expect(vendor.seen).toHaveLength(1);
  });

  test('when it does not come in time', async () => {
    const vendors = { google: vendor.url, meta: vendor.url, tiktok: vendor.url };
    const impatient = createScriptFetcher({ vendors, timeoutMs: SOON_MS, bytesMax: BYTES_MAX });
    const other = await startEdge({ site: shop, fetchScript: impatient.fetch });
    vendor.answer(() => undefined);
    expectEmptyScript(await ask(`${other.url}/sx.js`, { host: HOST }), 200, 'script_unavailable');
    await other.close();
    await impatient.close();
  });
});

describe('a host', () => {
  const refused = (reply: Reply): unknown => [reply.status, JSON.parse(reply.text).error.code];

  test('that nobody claimed has no scripts', async () => {
    expect(refused(await load('/sg.js', { host: 'www.evil.example' }))).toEqual([404, 'domain_unverified']);
    expect(refused(await load('/sg.js', { host: '127.0.0.1' }))).toEqual([404, 'domain_unverified']);
    expect(vendor.seen).toEqual([]);
  });

  test('that is claimed and not verified has none either', async () => {
    put(edge.table, { domain_proof: domainProof(HOST, { verified_at: null }) });
    expect(refused(await load('/sg.js'))).toEqual([404, 'domain_unverified']);
    expect(vendor.seen).toEqual([]);
  });

  test('may be in capitals and have a port', async () => {
    expect((await load('/sg.js', { host: 'T.SHOP.example:8443' })).status).toBe(200);
  });

  test('that a client forwards itself counts for nothing', async () => {
    const forged = { host: 'www.evil.example', 'x-forwarded-host': HOST, forwarded: `host=${HOST}` };
    expect(refused(await load('/sg.js', forged))).toEqual([404, 'domain_unverified']);
    const reply = await load('/sg.js', { 'x-forwarded-host': 'www.evil.example' });
    expect(reply.status).toBe(200);
  });

  test('is what a trusted proxy says, and of two the one that it added', async () => {
    const behind = await startEdge({ site: shop, fetchScript: fetcher.fetch, trustedProxies: ['127.0.0.1'] });
    const at = async (headers: Record<string, string>): Promise<number> =>
      (await ask(`${behind.url}/sx.js`, headers)).status;
    expect(await at({ host: 'edge.internal', 'x-forwarded-host': HOST })).toBe(200);
    expect(await at({ host: HOST, 'x-forwarded-host': 'www.evil.example' })).toBe(404);
    expect(await at({ host: 'edge.internal', 'x-forwarded-host': `${HOST}, www.evil.example` })).toBe(404);
    await behind.close();
  });
});

describe('the prefix of a site', () => {
  beforeEach(() => put(edge.table, { site: site({ ...shop, loader_prefix: 'k3m9x2p7qa' }) }));

  test('is one more folder that the scripts are in', async () => {
    expect((await load('/k3m9x2p7qa/sg.js')).text).toBe('/* script of /google/gtag/js?id=G-SHOP123 */');
    expect((await load('/sg.js')).status).toBe(200);
  });

  test('is the only one', async () => {
    expect(await load('/other/sg.js')).toMatchObject({ status: 404 });
    expect(await load('/v1/sg.js')).toMatchObject({ status: 404 });
    expect(await load('/k3m9x2p7qa/sg.js', { host: 'www.evil.example' })).toMatchObject({ status: 404 });
    expect(vendor.seen).toEqual([]);
  });
});
