import { hash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { compileFunction, Script } from 'node:vm';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { bundle } from '#infra/bundler/bundle.ts';
import { eventsOfHits } from '#pipelines/intake/ga4/hit_event.ts';
import { readHits } from '#pipelines/intake/ga4/hits.ts';
import { blocks, INSTALL_PAGES, installFile, scriptsOf } from './install_page.ts';

const ROOT = new URL('../../', import.meta.url);
const textOf = (path: string): string => readFileSync(new URL(path, ROOT), 'utf8');
/** What the module exports is what the tag's global object has as well. */
const CALLS = /export const \{ ([\w, ]+) \} = api;/.exec(textOf('services/tag/src/module.ts'))?.[1]?.split(', ') ?? [];
const FIELDS_OF_TAG_MANAGER = /\{\{[^}]+\}\}/g;

let folder = '';
let stub = '';
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'install-pages-'));
  const entry = fileURLToPath(new URL('services/tag/stub.js', ROOT));
  stub = Buffer.from(await bundle({ entry, format: 'iife' }))
    .toString()
    .trim();
});
afterAll(() => rmSync(folder, { recursive: true }));

test('every inline script of the pages parses', () => {
  const scripts = INSTALL_PAGES.flatMap((name) =>
    blocks(name, 'html')
      .flatMap(scriptsOf)
      .map(({ code }) => ({ name, code: code.replaceAll(FIELDS_OF_TAG_MANAGER, '0') })),
  );
  const broken = scripts.flatMap(({ name, code }) => {
    try {
      new Script(code);
      return [];
    } catch (error) {
      return [`${name}: ${String(error)} in ${code}`];
    }
  });
  expect(scripts.length).toBeGreaterThan(INSTALL_PAGES.length);
  expect(broken).toEqual([]);
});

test('every block of script in the pages parses', async () => {
  const written = INSTALL_PAGES.flatMap((name) =>
    ['js', 'jsx'].flatMap((language) => blocks(name, language)).map((code) => ({ name, code })),
  );
  const broken = await Promise.all(
    written.map(({ name, code }, at) => {
      const entry = join(folder, `${name}.${at}.jsx`);
      // In Tag Manager `require` is a function that it gives, and not the bundler's.
      writeFileSync(entry, `const require = undefined;\n${code}`);
      return bundle({ entry, format: 'esm' }).then(
        () => [],
        (error: unknown) => [`${name}: ${String(error)} in ${code}`],
      );
    }),
  );
  expect(written.length).toBeGreaterThan(0);
  expect(broken.flat()).toEqual([]);
});

test('the stub in the pages is the one of the tag, byte for byte', () => {
  const shown = INSTALL_PAGES.flatMap((name) =>
    (installFile(name).match(/^.*window\.svc\|\|.*$/gm) ?? []).map((line) => ({ name, line })),
  );
  expect(shown.filter(({ line }) => !line.includes(stub))).toEqual([]);
});

test('sites, applications, Shopify and WordPress get the stub, which has at most 400 bytes', () => {
  const withStub = INSTALL_PAGES.filter((name) => installFile(name).includes(stub));
  expect(withStub).toEqual(['plain-site.md', 'shopify.md', 'single-page-apps.md', 'wordpress.md']);
  expect(Buffer.byteLength(stub)).toBeLessThanOrEqual(400);
});

test('the policy for pages without nonces names the digest of the stub', () => {
  expect(installFile('plain-site.md')).toContain(`'sha256-${hash('sha256', stub, 'base64')}'`);
});

test('every call in the pages is one that the tag has', () => {
  expect(CALLS).toContain('track');
  const known = new Set(['q', 'min', 'mjs', ...CALLS]);
  const unknown = ['README.md', ...INSTALL_PAGES].flatMap((name) => {
    const text = installFile(name).replaceAll(stub, '');
    const calls = [...text.matchAll(/\bsvc\??\.(\w+)/g), ...text.matchAll(/\bq\.push\(\['(\w+)'/g)];
    return calls.filter(([, call = '']) => !known.has(call)).map(([call]) => `${name}: ${call}`);
  });
  expect(unknown).toEqual([]);
});

test('every element of the tag in the pages has a key, and attributes that the tag reads', () => {
  const elements = INSTALL_PAGES.flatMap((name) =>
    [...blocks(name, 'html'), ...blocks(name, 'jsx')]
      .flatMap(scriptsOf)
      .filter(({ attributes }) => attributes.includes('svc.min.js'))
      .map(({ attributes }) => ({ name, attributes })),
  );
  const hasKey = (attributes: string): boolean => / async .*(data-key=|[?]key=)"?svc_pk_/.test(attributes);
  const isRead = (attribute: string): boolean => /^data-(key|pages|consent)$/.test(attribute);
  expect(elements.length).toBeGreaterThan(0);
  expect(
    elements.filter(({ attributes }) => !hasKey(attributes) || !(attributes.match(/data-\w+/g) ?? []).every(isRead)),
  ).toEqual([]);
});

test("the server container's tag passes hits on with the shopper's address and user agent", async () => {
  const code = blocks('server-side-gtm.md', 'js').find((block) => block.includes('sendHttpRequest')) ?? '';
  const sent: { url: string; body: string; key: string }[] = [];
  const apis: Record<string, unknown> = {
    encodeUriComponent: encodeURIComponent,
    getRemoteAddress: () => '203.0.113.50',
    getRequestBody: () => 'en=page_view\r\nen=purchase&ep.transaction_id=T-1',
    getRequestHeader: () => 'Mozilla/5.0 (X11; Linux x86_64)',
    getRequestQueryString: () => 'v=2&tid=G-ABC1234567&cid=1.2&_p=3&_s=1',
    sendHttpRequest: (url: string, { headers }: { headers: Record<string, string> }, body: string) => {
      sent.push({ url, body, key: headers['X-Svc-Key'] ?? '' });
      return Promise.resolve({ statusCode: 204 });
    },
  };
  const isDone = await new Promise((resolve) => {
    const data = { serverKey: 'svc_sk_a', gtmOnSuccess: () => resolve(true), gtmOnFailure: () => resolve(false) };
    compileFunction(code, ['require', 'data'])((name: string) => apis[name], data);
  });
  const [{ url, body, key } = { url: '', body: '', key: '' }] = sent;
  const read = readHits(url.split('?')[1] ?? '', body);
  const events = read.ok ? eventsOfHits(read.hits, { caller: 'server', secret: Buffer.alloc(32) }) : [];
  expect([isDone, key]).toEqual([true, 'svc_sk_a']);
  expect(events.map(({ event }) => event)).toEqual(['page_view', 'purchase']);
  for (const { properties } of events) {
    expect(properties).toMatchObject({
      client_ip_address: '203.0.113.50',
      client_user_agent: 'Mozilla/5.0 (X11; Linux x86_64)',
    });
  }
});
