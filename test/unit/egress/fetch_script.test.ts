import { brotliCompressSync, gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { createScriptFetcher, type ScriptFetcher } from '#infra/egress/send.ts';
import { startVendor, type VendorServer } from '#test/harness/vendor_server.ts';

const BYTES_MAX = 100_000;
/** No answer takes as long, on whatever machine. */
const TIMEOUT_MS = 15_000;
const SOON_MS = 100;
const WANTED = { vendor: 'google', path: '/gtag/js?id=G-ABC1234' } as const;

let vendor: VendorServer;
let fetcher: ScriptFetcher;
beforeAll(async () => {
  vendor = await startVendor();
  const vendors = { google: vendor.url, meta: `${vendor.url}/meta/`, tiktok: vendor.url };
  fetcher = createScriptFetcher({ vendors, timeoutMs: TIMEOUT_MS, bytesMax: BYTES_MAX });
});
afterEach(() => {
  vendor.seen.length = 0;
});
afterAll(async () => {
  await fetcher.close();
  await vendor.close();
});

const answers = (headers: Record<string, string>, body: Buffer | string, status = 200): void =>
  vendor.answer((_request, response) =>
    response.writeHead(status, { 'content-type': 'text/javascript', ...headers }).end(body),
  );

test.each([
  ['plain', {}, Buffer.from('let a = 1;')],
  ['gzip', { 'content-encoding': 'gzip' }, gzipSync('let a = 1;')],
  ['Brotli', { 'content-encoding': 'br' }, brotliCompressSync('let a = 1;')],
])('a script comes decoded from %s', async (_, headers, body) => {
  answers({ 'content-type': 'application/javascript; charset=UTF-8', ...headers }, body);
  const got = await fetcher.fetch(WANTED);
  expect(got.ok && got.bytes.toString()).toBe('let a = 1;');
});

test('the vendor is told the path alone, below its base', async () => {
  answers({}, '1');
  await fetcher.fetch({ vendor: 'meta', path: '/en_US/fbevents.js' });
  const [{ url, headers } = { url: '', headers: {} }] = vendor.seen;
  expect(url).toBe('/meta/en_US/fbevents.js');
  expect(Object.keys(headers).sort()).toEqual(['accept', 'accept-encoding', 'connection', 'host', 'user-agent']);
});

const BOMB = Buffer.alloc(50 * BYTES_MAX, ' ');

test.each([
  ['a redirect', { location: 'https://evil.example/x.js' }, '', 302, 'redirect'],
  ['an error', {}, 'gone', 404, 'status'],
  ['an empty success', {}, '', 204, 'status'],
  ['a page', { 'content-type': 'text/html' }, '<html></html>', 200, 'content_type'],
  ['a type that only begins like one', { 'content-type': 'text/javascripty' }, 'x', 200, 'content_type'],
  ['too much', {}, 'x'.repeat(BYTES_MAX + 1), 200, 'too_large'],
  ['a little that grows in gzip', { 'content-encoding': 'gzip' }, gzipSync(BOMB), 200, 'too_large'],
  ['a little that grows in Brotli', { 'content-encoding': 'br' }, brotliCompressSync(BOMB), 200, 'too_large'],
  ['a coding that was not asked for', { 'content-encoding': 'compress' }, 'x', 200, 'content_encoding'],
  ['what is no gzip', { 'content-encoding': 'gzip' }, 'let a = 1;', 200, 'content_encoding'],
  ['what is no Brotli', { 'content-encoding': 'br' }, 'let a = 1;', 200, 'content_encoding'],
  ['half a gzip', { 'content-encoding': 'gzip' }, gzipSync('let a = 1;').subarray(0, 15), 200, 'content_encoding'],
])('%s is refused', async (_, headers, body, status, reason) => {
  answers(headers, body, status);
  expect(await fetcher.fetch(WANTED)).toEqual({ ok: false, reason });
});

test('a redirect is not followed', async () => {
  answers({ location: `${vendor.url}/elsewhere.js` }, '', 301);
  await fetcher.fetch(WANTED);
  expect(vendor.seen).toHaveLength(1);
});

test('as much as may be is taken', async () => {
  answers({}, 'x'.repeat(BYTES_MAX));
  expect(await fetcher.fetch(WANTED)).toMatchObject({ ok: true });
});

test.each([
  ['a vendor that does not answer', () => vendor.answer(() => undefined)],
  [
    'a script that does not end',
    () =>
      vendor.answer((_request, response) => {
        response.writeHead(200, { 'content-type': 'text/javascript' }).write('let');
      }),
  ],
])('%s in time is not waited for', async (_, prepare) => {
  const vendors = { google: vendor.url, meta: vendor.url, tiktok: vendor.url };
  const impatient = createScriptFetcher({ vendors, timeoutMs: SOON_MS, bytesMax: BYTES_MAX });
  prepare();
  expect(await impatient.fetch(WANTED)).toEqual({ ok: false, reason: 'timeout' });
  await impatient.close();
});

test('a connection that breaks gives no script', async () => {
  vendor.answer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/javascript', 'content-length': '100' }).write('let', () => {
      response.destroy();
    });
  });
  expect(await fetcher.fetch(WANTED)).toEqual({ ok: false, reason: 'unreachable' });
});

test('a vendor that is not there gives no script', async () => {
  const vendors = { google: 'http://127.0.0.1:1', meta: vendor.url, tiktok: vendor.url };
  const other = createScriptFetcher({ vendors, timeoutMs: TIMEOUT_MS, bytesMax: BYTES_MAX });
  expect(await other.fetch(WANTED)).toEqual({ ok: false, reason: 'unreachable' });
  await other.close();
});
