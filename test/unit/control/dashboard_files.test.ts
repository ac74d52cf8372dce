import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createHttpServer, type HttpServer } from '#infra/http/http_server.ts';
import { createLogger } from '#infra/log/logger.ts';
import { createDashboard, mountDashboard } from '#services/control/dashboard_files.ts';

const logger = createLogger('test', 'silent');
const LIMITS = { trustedProxies: [], bodyBytesMax: 1_000, requestTimeoutMs: 1_000, closingMs: 0 };

function appOf(load: ReturnType<typeof createDashboard>): HttpServer {
  const app = createHttpServer(LIMITS);
  mountDashboard(
    app,
    load,
    (reply, code) => reply.code(code === 'not_found' ? 404 : 503).send({ code }),
    (linkId) => (linkId === 'framed' ? ['https://intranet.example', 'https://*.shop.example'] : []),
  );
  return app;
}

let app: HttpServer;
beforeAll(() => {
  app = appOf(createDashboard(logger));
});
afterAll(() => app.close());

const get = (url: string, headers: Record<string, string> = {}) => app.inject({ url, headers });
const namesOf = (html: string): string[] => [...html.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, name = '']) => name);

describe('the page', () => {
  it('is where / leads to, and under every path of the dashboard', async () => {
    const paths = ['/', '/dashboard'];
    const led = await Promise.all(paths.map((path) => get(path)));
    expect(led.map(({ statusCode, headers }) => [statusCode, headers['location']])).toEqual([
      [302, '/dashboard/'],
      [302, '/dashboard/'],
    ]);
    const pages = await Promise.all(['/dashboard/replays', '/dashboard/sites/shop/live'].map((path) => get(path)));
    expect(pages.map(({ statusCode }) => statusCode)).toEqual([200, 200]);
    expect(pages[0]?.body).toBe(pages[1]?.body);
  });

  it('has the code of the overview fetched at once where that will be shown', async () => {
    const overviews = ['/dashboard/', '/dashboard/sites/shop/overview', '/dashboard/sites/shop/overview?period=24h'];
    const others = ['/dashboard/sites/overview/live', '/dashboard/replays?from=/overview'];
    const preloads = async (path: string): Promise<boolean> =>
      /modulepreload" href="[^"]*overview_page/.test((await get(path)).body);
    expect(await Promise.all(overviews.map(preloads))).toEqual([true, true, true]);
    expect(await Promise.all(others.map(preloads))).toEqual([false, false]);
  });

  it('begins with few files, and asks who looks at it beside them', async () => {
    for (const path of ['/dashboard/', '/dashboard/replays']) {
      const { body } = await get(path);
      expect(body.match(/<script|modulepreload/g)?.length).toBeLessThanOrEqual(4);
      expect(body).toContain('<link rel="preload" as="fetch" crossorigin href="/v1/session">');
    }
  });

  it('of a shared link asks nobody who they are, and is framed only where the link says', async () => {
    const [framed, other] = await Promise.all(
      ['/dashboard/shared/framed', '/dashboard/shared/none'].map((url) => get(url)),
    );
    expect(framed?.body).toBe(other?.body);
    expect(framed?.body).not.toContain('/v1/session');
    expect(framed?.body).toContain('<meta name="robots" content="noindex">');
    const policies = [framed, other].map((one) => String(one?.headers['content-security-policy']).split('; '));
    expect(policies[0]).toContain('frame-ancestors https://intranet.example https://*.shop.example');
    expect(policies[1]).toContain("frame-ancestors 'none'");
    expect(framed?.headers).toMatchObject({
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'x-robots-tag': 'noindex, nofollow',
    });
  });

  it('allows no inline code, no other host and no framing', async () => {
    const { headers, body } = await get('/dashboard/');
    const policy = String(headers['content-security-policy']).split('; ');
    expect(policy).toEqual(
      expect.arrayContaining([
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "frame-ancestors 'none'",
        'trusted-types inert-html',
        "require-trusted-types-for 'script'",
      ]),
    );
    expect(headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'same-origin',
      'cross-origin-opener-policy': 'same-origin-allow-popups',
      'cache-control': 'no-cache',
    });
    expect(body).not.toMatch(/<script>|<style|style=|onload/);
    const others = namesOf(body).filter((name) => !name.startsWith('/dashboard/assets/'));
    expect(others).toEqual(['/v1/session']);
  });

  it('is not sent again to whoever has it', async () => {
    const { headers } = await get('/dashboard/replays');
    const again = await get('/dashboard/sites/shop/live', { 'if-none-match': String(headers['etag']) });
    expect([again.statusCode, again.body]).toEqual([304, '']);
  });
});

describe('an asset', () => {
  it('never changes under its name, in the coding that is liked best', async () => {
    const names = namesOf((await get('/dashboard/')).body).filter((name) => name.startsWith('/dashboard/assets/'));
    expect(names.length).toBeGreaterThanOrEqual(4);
    for (const name of names) {
      const [plain, gz, br] = await Promise.all([
        get(name),
        get(name, { 'accept-encoding': 'gzip' }),
        get(name, { 'accept-encoding': 'br, gzip' }),
      ]);
      expect(plain.headers['cache-control']).toBe('public, max-age=31536000, immutable');
      expect([gz.headers['content-encoding'], br.headers['content-encoding']]).toEqual(['gzip', 'br']);
      expect(gunzipSync(gz.rawPayload)).toEqual(plain.rawPayload);
      expect(brotliDecompressSync(br.rawPayload)).toEqual(plain.rawPayload);
    }
  });

  it.for(['/dashboard/assets/main.js', '/dashboard/assets/..%2fmain.tsx', '/dashboard/assets/'])(
    '%s is none',
    async (path) => {
      const { statusCode, headers } = await get(path);
      const isPage = headers['content-type'] === 'text/html; charset=utf-8';
      expect(isPage ? path : statusCode).toBe(isPage ? '/dashboard/assets/' : 404);
    },
  );
});

it('a dashboard that cannot be built is answered with 503, and built no second time', async () => {
  await using directory = await mkdtempDisposable(join(tmpdir(), 'dashboard-'));
  const entry = join(directory.path, 'main.tsx');
  await writeFile(entry, "import './nowhere.ts';\n");
  const load = createDashboard(logger, entry);
  const broken = appOf(load);
  const answers = await Promise.all(['/dashboard/', '/dashboard/assets/main.js'].map((url) => broken.inject({ url })));
  expect(answers.map(({ statusCode }) => statusCode)).toEqual([503, 503]);
  expect(load()).toBe(load());
  await broken.close();
});
