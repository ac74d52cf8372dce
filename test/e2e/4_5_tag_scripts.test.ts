import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { TagHealthItem } from '#services/control_api/operations.ts';
import { newEvent, postEvents } from '#test/harness/ingest.ts';
import { sharedService } from '#test/harness/shared_service.ts';
import { makeSite, type TestSite } from '#test/harness/test_site.ts';
import { until } from '#test/harness/until.ts';
import { verifiedDomain } from '#test/harness/verified_domain.ts';

const service = sharedService();
const { edge } = service.ready;
const VISITOR = '0198b2f0-7c11-7abc-8def-0123456789ab';

let site: TestSite;
let domain: string;
beforeAll(async () => {
  site = await makeSite(service);
  domain = `t.${site.site}.example`;
  await verifiedDomain(service, site, domain);
});
afterAll(() => site.close());

interface Reply {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: Buffer;
}

/** A request with exactly these headers; fetch would add its own and decode what comes. */
const ask = (path: string, headers: Record<string, string> = {}): Promise<Reply> =>
  new Promise((resolve, reject) => {
    const sent = request(`${edge}${path}`, { headers }, (response) => {
      const parts: Buffer[] = [];
      response.on('data', (part: Buffer) => parts.push(part));
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(parts) }),
      );
    });
    sent.on('error', reject).end();
  });

const ROUTES = ['svc.min.js', 'svc.mjs', 'svc-engage.min.js'].flatMap((name) => [`/${name}`, `/v1/${name}`]);

test.for(ROUTES)('%s is a script without a key, cached for 5 minutes under an ETag', async (path) => {
  const { status, headers, body } = await ask(path);
  expect(status).toBe(200);
  expect(headers).toMatchObject({
    'content-type': 'text/javascript; charset=utf-8',
    'cache-control': expect.stringMatching(/^public, max-age=300\b/),
    'access-control-allow-origin': '*',
  });
  expect(body.length).toBeGreaterThan(100);
  const etag = String(headers['etag']);
  expect(await ask(path, { 'if-none-match': etag })).toMatchObject({ status: 304, body: Buffer.alloc(0) });
});

test('the tag comes in Brotli and in gzip as well', async () => {
  const plain = await ask('/svc.min.js');
  const br = await ask('/svc.min.js', { 'accept-encoding': 'gzip, deflate, br, zstd' });
  const gzip = await ask('/svc.min.js', { 'accept-encoding': 'gzip' });
  expect([br, gzip].map(({ headers }) => headers['content-encoding'])).toEqual(['br', 'gzip']);
  expect([brotliDecompressSync(br.body), gunzipSync(gzip.body)]).toEqual([plain.body, plain.body]);
});

test('script-status says that every script is built, how large each is, and where it never changes', async () => {
  const status = JSON.parse((await ask('/v1/script-status')).body.toString());
  expect(status).toMatchObject({ built: true, version: expect.stringMatching(/^[\w-]{16}$/) });
  const { size, gzip, brotli, etag, path, integrity } = status.scripts['svc.min.js'];
  expect({ size, gzip, brotli, etag }).toEqual({
    size: status.size,
    gzip: status.gzip,
    brotli: status.brotli,
    etag: status.etag,
  });
  expect(integrity).toMatch(/^sha384-/);
  const kept = await ask(path);
  expect(kept.headers['cache-control']).toContain('immutable');
  expect(kept.body).toEqual((await ask('/svc.min.js')).body);
  expect(kept.body.length).toBe(size);
  expect((await ask('/v1/svc/another/svc.min.js')).status).toBe(404);
});

test('the cookie of a visitor is renewed on a verified domain, by no script, and nowhere else', async () => {
  const cookie = `svc_did=${VISITOR}`;
  const claimed = await ask('/v1/visitor', { host: domain, cookie });
  expect(claimed.headers['set-cookie']).toEqual([
    `svc_did=${VISITOR}; Max-Age=34128000; Path=/; SameSite=Lax; Secure; Domain=${site.site}.example`,
  ]);
  expect(claimed.headers['cache-control']).toBe('no-store');
  expect((await ask('/v1/visitor', { host: 'other.example', cookie })).headers['set-cookie']).toBeUndefined();
  expect((await ask('/svc.min.js', { host: domain, cookie })).headers['set-cookie']).toBeUndefined();
});

test('the health of the tag tells what browsers sent, from which page and by which definition', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'tag-health-'));
  const file = join(folder.path, 'definitions.json');
  const definitions = ['buy', 'never'].map((id) => ({ id, name: `${id}_clicked`, trigger: 'click' }));
  await writeFile(file, JSON.stringify(definitions));
  await site.settings.run('site', 'set', site.site, '--definitions-file', file);
  await until(
    'the edge knows the definitions',
    async () => (await (await fetch(`${edge}/v1/config?key=${site.browserKey}`)).json()) as { events: unknown[] },
    ({ events }) => events.length === 2,
  );
  const properties = { $current_url: 'https://shop.example/cart?step=2', $definition_id: 'buy' };
  await postEvents(edge, site.browserKey, [newEvent({ event: 'buy_clicked', properties })]);
  await postEvents(edge, site.serverKey, [newEvent({ properties: { $current_url: 'https://shop.example/server' } })]);
  const health = await until(
    'the health of the tag',
    () => site.settings.run<TagHealthItem>('tag', 'health', '--site', site.site),
    ({ last_event_at }) => last_event_at !== null,
  );
  expect(health).toMatchObject({
    site_id: site.site,
    state: 'new',
    last_day: { now: 1, usual: null },
    pages: [{ page: 'shop.example/cart' }],
    definitions: [
      { id: 'buy', state: 'firing', fired: 1 },
      { id: 'never', state: 'never_fired', fired: 0, last_fired_at: null },
    ],
    reported: { retried: 0, dropped: 0, rejected: 0, blocked: 0 },
  });
});
