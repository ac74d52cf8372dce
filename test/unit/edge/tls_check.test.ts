import { afterAll, beforeAll, expect, test } from 'vitest';
import { ask } from '#test/harness/ask_host.ts';
import { readAnswer } from '#test/harness/ingest.ts';
import { put } from '#test/unit/settings/filled_table.ts';
import { domainProof, site } from '#test/unit/settings/samples.ts';
import { startEdge, type TestEdge } from './edge.ts';

let edge: TestEdge;
beforeAll(async () => {
  edge = await startEdge({ site: { domains: ['shop.example', 'xn--bcher-kva.example'] } });
});
afterAll(() => edge.close());

const check = async (query: string) => readAnswer(await fetch(`${edge.url}/v1/tls-check${query}`));

test.each(['shop.example', 'SHOP.example', 'shop.example.', 'bücher.example', 'xn--bcher-kva.example'])(
  '%s is claimed: 200',
  async (domain) => {
    expect(await check(`?domain=${encodeURIComponent(domain)}`)).toMatchObject({ status: 200 });
    expect(await check(`?token=abc&domain=${encodeURIComponent(domain)}`)).toMatchObject({ status: 200 });
  },
);

test('a certificate is allowed for what is then served: a host with the dot of the root as well', async () => {
  for (const host of ['shop.example.', 'SHOP.example.:443', 'bücher.example.']) {
    const name = host.replace(/:\d+$/, '');
    expect(await check(`?domain=${encodeURIComponent(name)}`)).toMatchObject({ status: 200 });
    const { status, text } = await ask(`${edge.url}/sp.js`, {
      host: encodeURI(host) === host ? host : 'xn--bcher-kva.example.',
    });
    expect([status, text]).toEqual([404, expect.stringContaining('script_not_configured')]);
  }
});

test.each(['other.example', 'www.shop.example', 'example.example', 'shop.example.evil.example'])(
  '%s is not: 404',
  async (domain) => {
    expect(await check(`?domain=${domain}`)).toMatchObject({
      status: 404,
      body: { error: { code: 'domain_unverified' } },
    });
  },
);

test.each([
  '',
  '?domain=',
  '?domain=127.0.0.1',
  '?domain=[::1]',
  '?domain=0x7f.1',
  '?domain=localhost',
  '?domain=a_b.example',
])('%s is malformed: 400', async (query) => {
  expect(await check(query)).toMatchObject({ status: 400, body: { error: { code: 'domain_malformed' } } });
});

test('two domains are none', async () => {
  expect(await check('?domain=shop.example&domain=shop.example')).toMatchObject({ status: 400 });
});

test('a claimed domain is refused until it is verified, and when that has lapsed', async () => {
  put(edge.table, { site: site({ domains: ['shop.example', 'xn--bcher-kva.example', 'late.example'] }) });
  const refused = { status: 404, body: { error: { code: 'domain_unverified' } } };
  expect(await check('?domain=late.example')).toMatchObject(refused);
  put(edge.table, { domain_proof: domainProof('late.example') });
  expect(await check('?domain=late.example')).toMatchObject({ status: 200 });
  put(edge.table, { domain_proof: domainProof('late.example', { failing_since: 1 }) });
  expect(await check('?domain=late.example')).toMatchObject({ status: 200 });
  put(edge.table, { domain_proof: domainProof('late.example', { verified_at: null, failing_since: 1 }) });
  expect(await check('?domain=late.example')).toMatchObject(refused);
});

test("the proof of another site's claim counts for nothing", async () => {
  put(edge.table, { site: site({ domains: ['shop.example', 'xn--bcher-kva.example', 'theirs.example'] }) });
  put(edge.table, { domain_proof: domainProof('theirs.example', { site_id: 'other' }) });
  expect(await check('?domain=theirs.example')).toMatchObject({ status: 404 });
});

test('a domain given up is refused at once', async () => {
  put(edge.table, { domain_proof: domainProof('new.example') });
  put(edge.table, { site: site({ domains: ['new.example'] }) });
  expect(await check('?domain=shop.example')).toMatchObject({ status: 404 });
  expect(await check('?domain=new.example')).toMatchObject({ status: 200 });
});
