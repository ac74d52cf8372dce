import { afterAll, beforeAll, expect, test } from 'vitest';
import { readAnswer } from '#test/harness/ingest.ts';
import { put } from '#test/unit/settings/filled_table.ts';
import { site } from '#test/unit/settings/samples.ts';
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

test.each(['other.example', 'www.shop.example', 'example.example', 'shop.example.evil.example'])(
  '%s is not: 404',
  async (domain) => {
    expect(await check(`?domain=${domain}`)).toMatchObject({
      status: 404,
      body: { error: { code: 'domain_unclaimed' } },
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

test('a domain given up is refused at once', async () => {
  put(edge.table, { site: site({ domains: ['new.example'] }) });
  expect(await check('?domain=shop.example')).toMatchObject({ status: 404 });
  expect(await check('?domain=new.example')).toMatchObject({ status: 200 });
});
