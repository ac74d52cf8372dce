import { hash, randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { select } from '#test/harness/clickhouse.ts';
import { type Answer, readAnswer } from '#test/harness/ingest.ts';
import { sharedService } from '#test/harness/shared_service.ts';
import { storedIds } from '#test/harness/stored_rows.ts';
import { makeSite, type TestSite } from '#test/harness/test_site.ts';
import { until } from '#test/harness/until.ts';

const service = sharedService();
const { edge, clickhouse } = service.ready;
const ORIGIN = 'https://shop.example';
const MEASUREMENT_ID = `G-${randomBytes(5).toString('hex').toUpperCase()}`;
const EMAIL = 'zyx.jane@example.com';
const CHROME =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36';

let site: TestSite;
beforeAll(async () => {
  site = await makeSite(service, { browserKeyWords: ['--origin', ORIGIN] });
  const words = ['--site', site.site, '--set', `measurement_id=${MEASUREMENT_ID}`, '--secret', 'api_secret=x'];
  await site.settings.run('destination', 'create', 'ga4', ...words, '--disabled');
  await until(
    'the edge knows the measurement id',
    () => hit('en=', 'https://elsewhere.example'),
    ({ body }) => JSON.stringify(body).includes('origin_not_allowed'),
  );
});
afterAll(() => site.close());

/** A request of a page, as gtag sends it in its mode for a server container. */
async function hit(query: string, origin = ORIGIN, lines?: string): Promise<Answer> {
  const url = `${edge}/g/collect?v=2&tid=${MEASUREMENT_ID}&cid=1.2&sid=1732000000&${query}&richsstsse`;
  const headers = { origin, 'user-agent': CHROME };
  const sent = lines === undefined ? { headers } : { method: 'POST', headers, body: lines };
  return readAnswer(await fetch(url, sent));
}

interface Row {
  event_id: string;
  event: string;
  distinct_id: string;
  value: number | null;
  currency: string | null;
  email_sha256: string;
  properties: string;
}

async function rowsOf(ids: string): Promise<Row[]> {
  const columns = 'event_id, event, distinct_id, value, currency, email_sha256, toString(properties) AS properties';
  return select<Row>(
    clickhouse,
    `SELECT ${columns} FROM events WHERE site_id = {site:String} AND distinct_id = {ids:String} ORDER BY event`,
    { site: site.site, ids },
  );
}

const untilRows = (ids: string, count: number) =>
  until(
    `${count} rows of ${ids}`,
    () => rowsOf(ids),
    (rows) => rows.length >= count,
    { timeoutMs: 15_000 },
  );

test('the hits of a page and their lines are rows, once', async () => {
  const view = () => hit('_p=1&_s=1&en=page_view&dl=https%3A%2F%2Fshop.example%2F&dt=Home');
  const lines = [
    'en=add_to_cart&pr1=id1~nmShirt~pr10~qt2',
    `en=purchase&cu=EUR&epn.value=20&ep.transaction_id=T-1&pr1=id1~nmShirt~pr10~qt2&ep.user_data.email=${EMAIL}`,
  ].join('\r\n');
  const batch = () => hit('_p=1&_s=2', ORIGIN, lines);
  for (const send of [view, batch, view, batch]) expect(await send()).toMatchObject({ status: 204, body: '' });
  await hit('_p=1&_s=3&en=the_last');
  await untilRows('1.2', 4);
  const rows = await rowsOf('1.2');
  expect(rows.map(({ event }) => event)).toEqual(['add_to_cart', 'page_view', 'purchase', 'the_last']);
  expect(rows[2]).toMatchObject({ value: 20, currency: 'EUR', email_sha256: hash('sha256', EMAIL) });
  expect(JSON.parse(rows[2]?.properties ?? '')).toMatchObject({
    ga_session_id: '1732000000',
    items: [{ item_id: '1', item_name: 'Shirt', price: 10, quantity: 2 }],
  });
  expect(new Set(await storedIds(service, site.site)).size).toBe(4);
});

test('a page of another origin is refused', async () => {
  const answer = await hit('_p=2&_s=1&en=page_view', 'https://elsewhere.example');
  expect(answer).toMatchObject({ status: 403, body: { error: { code: 'origin_not_allowed' } } });
  expect(answer.headers.get('access-control-allow-origin')).toBe('https://elsewhere.example');
});

test('the measurements of a server are rows', async () => {
  const body = JSON.stringify({
    client_id: '3.4',
    timestamp_micros: (Date.now() - 60_000) * 1000,
    events: [{ name: 'refund', params: { transaction_id: 'T-1', value: 20, currency: 'EUR' } }],
  });
  const url = `${edge}/mp/collect?measurement_id=${MEASUREMENT_ID}&api_secret=${site.serverKey}`;
  for (let time = 0; time < 2; time++) expect((await fetch(url, { method: 'POST', body })).status).toBe(204);
  await untilRows('3.4', 1);
  expect(await rowsOf('3.4')).toMatchObject([{ event: 'refund', value: 20, currency: 'EUR' }]);
});
