import { afterAll, beforeAll, expect, test } from 'vitest';
import { select } from '#test/harness/clickhouse.ts';
import { readAnswer } from '#test/harness/ingest.ts';
import { sharedService } from '#test/harness/shared_service.ts';
import { makeSite, type TestSite } from '#test/harness/test_site.ts';
import { until } from '#test/harness/until.ts';

const service = sharedService();
const { edge, clickhouse } = service.ready;

let site: TestSite;
beforeAll(async () => {
  site = await makeSite(service);
});
afterAll(() => site.close());

const ELEMENTS = [
  { type: 'button', selector: '#buy', text: 'Buy now', event_hint: 'add_to_cart' },
  {
    type: 'link',
    selector: 'a.mail',
    text: 'Mail zyx.clerk@zyx-shop.example',
    href: 'mailto:zyx.clerk@zyx-shop.example',
  },
  { type: 'link', selector: 'a.tel', text: 'Call +1 650 555 0143', href: 'tel:+16505550143' },
];

async function postInventory(key: string, fields: object = {}): ReturnType<typeof readAnswer> {
  const body = {
    page: '/product',
    url: 'https://shop.example/product',
    title: 'Product',
    elements: ELEMENTS,
    ...fields,
  };
  const headers = { 'content-type': 'application/json', 'x-svc-key': key };
  return readAnswer(await fetch(`${edge}/v1/inventory`, { method: 'POST', body: JSON.stringify(body), headers }));
}

interface Row {
  page: string;
  position: number;
  text: string;
  href: string;
  event_hint: string;
}

const storedRows = (): Promise<Row[]> =>
  select<Row>(
    clickhouse,
    'SELECT page, position, text, href, event_hint FROM inventory WHERE site_id = {site:String} ORDER BY received_at, position',
    { site: site.site },
  );

test('elements are stored once, without personal data', async () => {
  expect(await postInventory(site.browserKey)).toMatchObject({ status: 200, body: { accepted: 3 } });
  expect(await postInventory(site.browserKey)).toMatchObject({ status: 200, body: { accepted: 0 } });
  expect(await postInventory(site.browserKey, { title: 'Sale' })).toMatchObject({ status: 200, body: { accepted: 3 } });
  await until('the rows in ClickHouse', storedRows, (rows) => rows.length >= 6);
  const rows = await storedRows();
  expect(rows).toHaveLength(6);
  expect(rows[0]).toEqual({ page: '/product', position: 0, text: 'Buy now', href: '', event_hint: 'add_to_cart' });
  expect(JSON.stringify(rows)).not.toMatch(/zyx|555/);
});

test('another key and another page are contents of their own', async () => {
  expect(await postInventory(site.serverKey)).toMatchObject({ body: { accepted: 3 } });
  expect(await postInventory(site.browserKey, { page: '/other' })).toMatchObject({ body: { accepted: 3 } });
});

test('300 elements are taken, 301 get 413', async () => {
  const elements = (count: number) => Array.from({ length: count }, () => ELEMENTS[0]);
  expect(await postInventory(site.browserKey, { elements: elements(300) })).toMatchObject({ body: { accepted: 300 } });
  expect(await postInventory(site.browserKey, { elements: elements(301) })).toMatchObject({
    status: 413,
    body: { error: { code: 'elements_too_many' } },
  });
});

test('a key is needed', async () => {
  expect(await postInventory('')).toMatchObject({ status: 401, body: { error: { code: 'key_missing' } } });
  expect(await postInventory('guess')).toMatchObject({ status: 403, body: { error: { code: 'key_invalid' } } });
});
