import { hash } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { select } from '#test/harness/clickhouse.ts';
import { newEvent, postBody } from '#test/harness/ingest.ts';
import { sharedService } from '#test/harness/shared_service.ts';
import { makeSite, type TestSite } from '#test/harness/test_site.ts';
import { until } from '#test/harness/until.ts';

const service = sharedService();
const { edge, clickhouse } = service.ready;
const sha256 = (text: string): string => hash('sha256', text);
const PEER = '198.51.100.20';
const SHOPPER = { client_ip_address: '203.0.113.77', client_user_agent: 'Mozilla/5.0 (Shopper)' };
const BROWSER =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36';

let site: TestSite;
beforeAll(async () => {
  site = await makeSite(service, { siteWords: ['--country', 'US'] });
});
afterAll(() => site.close());

/** Sends one event from an address that the local proxy vouches for, and returns its row. */
async function rowOf(
  properties: Record<string, unknown>,
  { key = site.serverKey, headers = {}, event = 'purchase' }: SendOptions = {},
): Promise<Record<string, unknown>> {
  const sent = newEvent({ event, properties });
  const answer = await postBody(edge, key, JSON.stringify({ events: [sent] }), { 'x-forwarded-for': PEER, ...headers });
  expect(answer).toMatchObject({ status: 200, body: { accepted: 1 } });
  const query = 'SELECT * FROM events WHERE site_id = {site:String} AND event_id = {id:String}';
  const rows = await until(
    'the row',
    () => select<Record<string, unknown>>(clickhouse, query, { site: site.site, id: sent.uuid }),
    ({ length }) => length === 1,
  );
  return rows[0] ?? {};
}

interface SendOptions {
  key?: string;
  headers?: Record<string, string>;
  event?: string;
}

test('e-mail and phone are hashed, normalised, and stored in no other way', async () => {
  const row = await rowOf({ email: ' Jane.Doe@Example.com ', phone: '(650) 555-0144' });
  expect(row).toMatchObject({
    email_sha256: sha256('jane.doe@example.com'),
    phone_hmac: expect.stringMatching(/^[\w-]{32}$/),
    properties: '{}',
  });
});

test('value, currency and order_id have columns', async () => {
  const row = await rowOf({ value: 12.34, currency: 'eur', order_id: 'A-17', colour: 'green' });
  expect(row).toMatchObject({ value: 12.34, currency: 'EUR', order_id: 'A-17' });
  expect(JSON.parse(String(row['properties']))).toMatchObject({ colour: 'green' });
});

test('the other attributes that match customers: names and external id hashed, places as they are', async () => {
  const row = await rowOf({
    first_name: 'Zoë',
    last_name: 'de Vries',
    city: 'Ghent',
    zip: '9000',
    country: 'be',
    external_id: 'crm-17',
  });
  expect(row).toMatchObject({
    first_name_sha256: sha256('zoë'),
    last_name_sha256: sha256('devries'),
    city: 'Ghent',
    zip: '9000',
    country: 'BE',
    external_id_sha256: sha256('crm-17'),
    properties: '{"external_id":"crm-17"}',
  });
});

test('a server says whose address and user agent it reports for', async () => {
  expect(await rowOf(SHOPPER)).toMatchObject({
    client_ip: SHOPPER.client_ip_address,
    client_user_agent: SHOPPER.client_user_agent,
    properties: '{}',
  });
});

test('without them a server’s events carry the server’s own', async () => {
  const row = await rowOf({}, { headers: { 'user-agent': 'shop-backend/2.1' } });
  expect(row).toMatchObject({ client_ip: PEER, client_user_agent: 'shop-backend/2.1' });
});

test('of a browser they are not believed, and not kept', async () => {
  const row = await rowOf(SHOPPER, { key: site.browserKey, headers: { 'user-agent': BROWSER } });
  expect(row).toMatchObject({ client_ip: PEER, client_user_agent: BROWSER, properties: '{}' });
});

test.for([
  ['identify', true],
  ['Sign-Up', true],
  ['page_view', false],
] as const)('an event %s identifies: %s', async ([event, identifies]) => {
  expect(await rowOf({ email: 'jane.doe@example.com' }, { event })).toMatchObject({ identify: identifies });
});
