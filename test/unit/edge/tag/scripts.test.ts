import { createHash } from 'node:crypto';
import { request } from 'node:http';
import { join } from 'node:path';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { createLogger } from '#infra/log/logger.ts';
import { buildScripts, type ScriptSource, type TagScripts } from '#services/edge/tag_files/routes.ts';
import { readAnswer } from '#test/harness/ingest.ts';
import { startEdge, type TestEdge } from '../edge.ts';

const FIXTURE = join(import.meta.dirname, '../../bundler/fixtures/entry.ts');
const SOURCES: ScriptSource[] = [
  { name: 'svc.min.js', entry: FIXTURE, format: 'iife' },
  { name: 'svc.mjs', entry: FIXTURE, format: 'esm' },
];
const BROKEN: ScriptSource = { name: 'svc-engage.min.js', entry: `${FIXTURE}.not`, format: 'iife' };
const ID = '0198b2f0-7c11-7abc-8def-0123456789ab';

const logger = createLogger('test', 'silent');
let edge: TestEdge;
beforeAll(async () => {
  const sources = [...SOURCES, BROKEN];
  const tag: TagScripts = { sources, scripts: await buildScripts(sources, logger) };
  edge = await startEdge({ tag, trustedProxies: ['127.0.0.1'], site: { domains: ['t.shop.example'] } });
});
afterAll(() => edge.close());

interface Reply {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: Buffer;
}

/** A request with exactly these headers; fetch would add its own and decode what comes. */
const ask = (path: string, headers: Record<string, string> = {}, method = 'GET', at = edge.url): Promise<Reply> =>
  new Promise((resolve, reject) => {
    const sent = request(`${at}${path}`, { method, headers }, (response) => {
      const parts: Buffer[] = [];
      response.on('data', (part: Buffer) => parts.push(part));
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(parts) }),
      );
    });
    sent.on('error', reject).end();
  });

describe('a script of the tag', () => {
  it.each(['/svc.min.js', '/v1/svc.min.js', '/svc.mjs', '/v1/svc.mjs'])('is served at %s', async (path) => {
    const { status, headers, body } = await ask(path);
    expect(status).toBe(200);
    expect(headers).toMatchObject({
      'content-type': 'text/javascript; charset=utf-8',
      'cache-control': 'public, max-age=300, stale-while-revalidate=86400',
      vary: 'Accept-Encoding',
      'x-content-type-options': 'nosniff',
      'cross-origin-resource-policy': 'cross-origin',
      'access-control-allow-origin': '*',
      etag: expect.stringMatching(/^"[\w-]{27}"$/),
    });
    expect(body.toString()).toContain('hello');
  });

  it('is compressed as the client asks, under entity tags that differ', async () => {
    const plain = await ask('/svc.min.js');
    const gzip = await ask('/svc.min.js', { 'accept-encoding': 'gzip' });
    const br = await ask('/svc.min.js', { 'accept-encoding': 'gzip, br' });
    expect([plain, gzip, br].map(({ headers }) => headers['content-encoding'])).toEqual([undefined, 'gzip', 'br']);
    expect(gunzipSync(gzip.body)).toEqual(plain.body);
    expect(brotliDecompressSync(br.body)).toEqual(plain.body);
    expect(new Set([plain, gzip, br].map(({ headers }) => headers['etag'])).size).toBe(3);
  });

  it('is not sent again to who has it', async () => {
    const { headers } = await ask('/svc.min.js', { 'accept-encoding': 'br' });
    const known = { 'if-none-match': String(headers['etag']) };
    expect(await ask('/svc.min.js', { ...known, 'accept-encoding': 'br' })).toMatchObject({
      status: 304,
      headers: { etag: headers['etag'], 'cache-control': headers['cache-control'], vary: 'Accept-Encoding' },
      body: Buffer.alloc(0),
    });
    expect((await ask('/svc.min.js', { ...known, 'accept-encoding': 'gzip' })).status).toBe(200);
  });

  it('has its length told by HEAD', async () => {
    const { body } = await ask('/svc.min.js');
    const head = await ask('/svc.min.js', {}, 'HEAD');
    expect(head).toMatchObject({
      status: 200,
      headers: { 'content-length': String(body.length) },
      body: Buffer.alloc(0),
    });
  });

  it.each(['/svc.min.js', '/v1/config'])('%s is said by HEAD to be known, and not to be empty', async (path) => {
    const at = `${path}?key=${edge.browserKey}`;
    const { headers } = await ask(at);
    const known = { 'if-none-match': String(headers['etag']) };
    const [head, get] = [await ask(at, known, 'HEAD'), await ask(at, known)];
    expect([head.status, get.status]).toEqual([304, 304]);
    expect([head.headers['content-length'], get.headers['content-length']]).toEqual([undefined, undefined]);
    expect(head.headers['transfer-encoding']).toBeUndefined();
    expect(head.headers).toMatchObject({ etag: headers['etag'], 'cache-control': headers['cache-control'] });
  });

  it('does not take POST', async () => {
    expect(await ask('/svc.min.js', {}, 'POST')).toMatchObject({
      status: 405,
      headers: { allow: 'GET, HEAD, OPTIONS' },
    });
  });

  it('needs no key and takes no permit', async () => {
    const permits = Array.from({ length: 1_000 }, () => edge.limiter.acquire());
    expect((await ask('/svc.min.js')).status).toBe(200);
    for (const permit of permits) permit?.release();
  });

  it('that could not be built is answered with 503, and not cached', async () => {
    const { status, headers, body } = await ask('/svc-engage.min.js');
    expect(status).toBe(503);
    expect(headers).toMatchObject({ 'cache-control': 'no-store', 'retry-after': '2' });
    expect(JSON.parse(body.toString())).toMatchObject({ error: { code: 'script_not_built' } });
  });
});

it('says in the log why a script could not be built', async () => {
  const told = createLogger('test', 'silent');
  const logged = vi.spyOn(told, 'error');
  await buildScripts([BROKEN], told);
  expect(logged.mock.calls).toMatchObject([
    [{ script: 'svc-engage.min.js', err: { code: 'bundle_failed' } }, expect.any(String)],
  ]);
});

describe('the status of the scripts', () => {
  it('tells sizes, entity tags and paths of what was built', async () => {
    const answer = await readAnswer(await fetch(`${edge.url}/v1/script-status`));
    const plain = await ask('/svc.min.js');
    const gzip = await ask('/svc.min.js', { 'accept-encoding': 'gzip' });
    const br = await ask('/svc.min.js', { 'accept-encoding': 'br' });
    const sizes = { size: plain.body.length, gzip: gzip.body.length, brotli: br.body.length };
    expect(answer).toMatchObject({
      status: 200,
      body: {
        built: false,
        ...sizes,
        etag: plain.headers['etag'],
        version: expect.stringMatching(/^[\w-]{16}$/),
        scripts: {
          'svc.min.js': {
            ...sizes,
            etag: plain.headers['etag'],
            integrity: `sha384-${createHash('sha384').update(plain.body).digest('base64')}`,
          },
        },
      },
    });
    expect(Object.keys((answer.body as { scripts: object }).scripts)).toEqual(['svc.min.js', 'svc.mjs']);
  });

  it('says nothing of sizes where nothing was built', async () => {
    const bare = await startEdge({ tag: { sources: [BROKEN], scripts: new Map() } });
    const { status, body } = await readAnswer(await fetch(`${bare.url}/v1/script-status`));
    await bare.close();
    expect({ status, body }).toEqual({
      status: 200,
      body: { built: false, size: null, gzip: null, brotli: null, etag: null, version: null, scripts: {} },
    });
  });
});

describe('the path of a content', () => {
  const pathOf = async (name: string): Promise<string> => {
    const { body } = await ask('/v1/script-status');
    return JSON.parse(body.toString()).scripts[name].path;
  };

  it('gives the same bytes, to be kept for ever', async () => {
    const { status, headers, body } = await ask(await pathOf('svc.min.js'));
    expect(status).toBe(200);
    expect(headers['cache-control']).toBe('public, max-age=31536000, immutable');
    expect(body).toEqual((await ask('/svc.min.js')).body);
  });

  it.each(['/v1/svc/nothing/svc.min.js', '/v1/svc/nothing/other.js'])('%s is not there', async (path) => {
    expect(await ask(path)).toMatchObject({ status: 404, headers: { 'cache-control': 'no-store' } });
  });

  it('of one script is not that of another', async () => {
    const path = (await pathOf('svc.min.js')).replace('svc.min.js', 'svc.mjs');
    expect((await ask(path)).status).toBe(404);
  });
});

describe("the visitor's cookie", () => {
  const cookie = `theirs=1; svc_did=${ID}`;

  it('is set again on a claimed host, in an answer that nobody keeps', async () => {
    const { status, headers } = await ask('/v1/visitor', { host: 't.shop.example:443', cookie });
    expect(status).toBe(204);
    expect(headers).toMatchObject({
      'set-cookie': [`svc_did=${ID}; Max-Age=34128000; Path=/; SameSite=Lax; Secure; Domain=shop.example`],
      'cache-control': 'no-store',
      'cross-origin-resource-policy': 'same-site',
    });
  });

  it('is set again where the trusted proxy names the host', async () => {
    const { headers } = await ask('/v1/visitor', { 'x-forwarded-host': 'T.Shop.example', cookie });
    expect(headers['set-cookie']).toHaveLength(1);
  });

  it('comes with no script, which a browser fetches also when the visitor has refused', async () => {
    const { headers } = await ask('/svc.min.js', { host: 't.shop.example', cookie });
    expect(headers['set-cookie']).toBeUndefined();
    expect(headers['cache-control']).toMatch(/^public, /);
  });

  it('is no matter of a host nobody claimed', async () => {
    const { status, headers, body } = await ask('/v1/visitor', { host: 'www.shop.example', cookie });
    expect([status, headers['set-cookie'], headers['cache-control']]).toEqual([404, undefined, 'no-store']);
    expect(JSON.parse(body.toString())).toMatchObject({ error: { code: 'domain_unverified' } });
  });

  it.each([
    ['a visitor without one', { host: 't.shop.example' }],
    ['a value of another form', { host: 't.shop.example', cookie: 'svc_did=jane@example.com' }],
  ])('is not set for %s', async (_what, headers) => {
    const answer = await ask('/v1/visitor', headers as Record<string, string>);
    expect([answer.status, answer.headers['set-cookie']]).toEqual([204, undefined]);
  });

  it.each([
    [
      'in offline mode',
      { site: { domains: ['t.shop.example'], mode: 'offline' as const } },
      { host: 't.shop.example' },
    ],
    [
      'by a host that a client forwards itself',
      { site: { domains: ['t.shop.example'] } },
      { host: 'edge.example', 'x-forwarded-host': 't.shop.example' },
    ],
  ])('is not set %s', async (_what, options, headers) => {
    const tag: TagScripts = { sources: SOURCES, scripts: await buildScripts(SOURCES, logger) };
    const other = await startEdge({ ...options, tag });
    const answer = await ask('/v1/visitor', { ...headers, cookie }, 'GET', other.url);
    await other.close();
    expect(answer.headers['set-cookie']).toBeUndefined();
  });
});
