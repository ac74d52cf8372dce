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

const ROOT = new URL('../../../', import.meta.url);
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

test('README and the page of the tag link to the index, which links to every page', () => {
  expect(textOf('README.md')).toContain('(docs/install/README.md)');
  expect(textOf('docs/tag.md')).toContain('(install/README.md)');
  const linked = [...installFile('README.md').matchAll(/^\|.*\]\(([\w-]+\.md)\)/gm)].map(([, name = '']) => name);
  expect(linked.toSorted()).toEqual(INSTALL_PAGES);
});

test.for(INSTALL_PAGES)('%s says what to paste and see, and what of consent, policy and mistakes', (name) => {
  const headings = [...installFile(name).matchAll(/^## (.+)$/gm)].map(([, heading]) => heading);
  const usual = ['Paste', 'See', 'Consent', 'Content security policy', 'Common mistakes'];
  expect(headings.filter((heading) => usual.includes(heading ?? ''))).toEqual(usual);
});

test.for(INSTALL_PAGES)('every inline script of %s parses', (name) => {
  for (const { code } of blocks(name, 'html').flatMap(scriptsOf)) {
    expect(() => new Script(code.replaceAll(FIELDS_OF_TAG_MANAGER, '0')), code).not.toThrow();
  }
});

test.for(INSTALL_PAGES)('every block of script in %s parses', async (name) => {
  const written = ['js', 'jsx'].flatMap((language) => blocks(name, language));
  await Promise.all(
    written.map((code, at) => {
      const entry = join(folder, `${name}.${at}.jsx`);
      // In Tag Manager `require` is a function that it gives, and not the bundler's.
      writeFileSync(entry, `const require = undefined;\n${code}`);
      return bundle({ entry, format: 'esm' });
    }),
  );
});

test.for(INSTALL_PAGES)('the stub in %s is the one of the tag, byte for byte', (name) => {
  const shown = installFile(name).match(/^.*window\.svc\|\|.*$/gm) ?? [];
  expect(shown.filter((line) => !line.includes(stub))).toEqual([]);
});

test('sites, applications, Shopify and WordPress get the stub, which has at most 400 bytes', () => {
  const withStub = INSTALL_PAGES.filter((name) => installFile(name).includes(stub));
  expect(withStub).toEqual(['plain-site.md', 'shopify.md', 'single-page-apps.md', 'wordpress.md']);
  expect(Buffer.byteLength(stub)).toBeLessThanOrEqual(400);
});

test('the policy for pages without nonces names the digest of the stub', () => {
  expect(installFile('plain-site.md')).toContain(`'sha256-${hash('sha256', stub, 'base64')}'`);
});

test.for(['README.md', ...INSTALL_PAGES])('every call in %s is one that the tag has', (name) => {
  const text = installFile(name).replaceAll(stub, '');
  const called = [...text.matchAll(/\bsvc\??\.(\w+)/g)].map(([, call]) => call ?? '');
  const queued = [...text.matchAll(/\bq\.push\(\['(\w+)'/g)].map(([, call]) => call ?? '');
  const others = new Set(['q', 'min', 'mjs']);
  expect(CALLS).toContain('track');
  expect([...called, ...queued].filter((call) => !others.has(call) && !CALLS.includes(call))).toEqual([]);
});

test.for(INSTALL_PAGES)('every element of the tag in %s has a key, and attributes that the tag reads', (name) => {
  const elements = [...blocks(name, 'html').flatMap(scriptsOf), ...blocks(name, 'jsx').flatMap(scriptsOf)].filter(
    ({ attributes }) => attributes.includes('svc.min.js'),
  );
  for (const { attributes } of elements) {
    expect(attributes).toMatch(/ async .*(data-key=|[?]key=)"?svc_pk_/);
    expect((attributes.match(/data-\w+/g) ?? []).filter((one) => !/^data-(key|pages|consent)$/.test(one))).toEqual([]);
  }
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
