import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openBrowser, type TestBrowser } from '#test/browser/harness/chromium.ts';
import { type DelayProxy, startDelayProxy } from '#test/browser/harness/delay_proxy.ts';
import { html, type PageServer, startPageServer } from '#test/browser/harness/page_server.ts';
import { select } from '#test/harness/clickhouse.ts';
import { sharedService } from '#test/harness/shared_service.ts';
import { makeSite, type TestSite } from '#test/harness/test_site.ts';
import { until } from '#test/harness/until.ts';

const service = sharedService();
const MEASUREMENT_ID = `G-${randomBytes(5).toString('hex').toUpperCase()}`;
const require = createRequire(import.meta.url);
const TAG = readFileSync(require.resolve('@minimal-analytics/ga4'), 'utf8');

let pages: PageServer;
let shop: DelayProxy;
let edge: DelayProxy;
let browser: TestBrowser;
let site: TestSite;
beforeAll(async () => {
  pages = await startPageServer((request) => (request.url === '/tag.js' ? SCRIPT : page(request.url ?? '/')));
  shop = await startDelayProxy(pages.url);
  edge = await startDelayProxy(service.ready.edge);
  browser = await openBrowser('whole');
  site = await makeSite(service, { browserKeyWords: ['--origin', shop.origin('shop.example')] });
  const words = ['--site', site.site, '--set', `measurement_id=${MEASUREMENT_ID}`, '--secret', 'api_secret=x'];
  await site.settings.run('destination', 'create', 'ga4', ...words, '--disabled');
  await until(
    'the edge knows the measurement id',
    async () => (await fetch(`${service.ready.edge}/g/collect?tid=${MEASUREMENT_ID}`, OTHER)).text(),
    (text) => text.includes('origin_not_allowed'),
  );
});
afterAll(async () => {
  await browser.close();
  await Promise.all([shop.close(), edge.close(), pages.close(), site.close()]);
});

const OTHER = { headers: { origin: 'https://elsewhere.example' } };
const SCRIPT = { body: TAG, headers: { 'content-type': 'text/javascript' } };

/** A page with the tag as its README says to put it there, sending to the edge. */
function page(url: string) {
  const settings = { trackingId: MEASUREMENT_ID, analyticsEndpoint: `${edge.origin('events.example')}/g/collect` };
  const head = `<script>window.minimalAnalytics = ${JSON.stringify({ ...settings, autoTrack: true, defineGlobal: true })};</script>
<script async src="/tag.js"></script>`;
  const body = `<a id="out" href="https://partner.example/guide.pdf?v=1" download>Guide</a><div style="height:4000px"></div>`;
  return { body: html({ title: url === '/' ? 'Shop' : 'Cart', head, body }) };
}

interface Row {
  event: string;
  distinct_id: string;
  properties: Record<string, unknown>;
}

async function rows(): Promise<Row[]> {
  const found = await select<{ event: string; distinct_id: string; properties: string }>(
    service.ready.clickhouse,
    `SELECT event, distinct_id, toString(properties) AS properties FROM events WHERE site_id = {site:String} ORDER BY received_at`,
    { site: site.site },
  );
  return found.map((row) => ({ ...row, properties: JSON.parse(row.properties) as Record<string, unknown> }));
}

const untilEvents = (count: number): Promise<Row[]> =>
  until(`${count} events`, rows, (found) => found.length >= count, { timeoutMs: 20_000 });

test('what @minimal-analytics/ga4 sends from a page are rows of its site', async () => {
  const context = await browser.newContext();
  const tab = await context.newPage();
  await tab.goto(`${shop.origin('shop.example')}/`);
  await untilEvents(1);
  await tab.evaluate(() =>
    (globalThis as unknown as { track(what: object): void }).track({
      type: 'purchase',
      event: {
        'ep.transaction_id': 'T-100',
        'epn.value': 19.5,
        'ep.currency': 'EUR',
        pr1: 'id1~nmRed shirt~pr19.5~qt1',
      },
    }),
  );
  await untilEvents(2);
  await tab.evaluate(() => document.querySelector('a')?.addEventListener('click', (event) => event.preventDefault()));
  await tab.click('#out');
  await untilEvents(3);
  await tab.goto(`${shop.origin('shop.example')}/cart`);
  await untilEvents(5);
  await tab.goto(`${shop.origin('shop.example')}/?q=shirts`);
  const found = await untilEvents(7);
  expect(found.map(({ event }) => event).sort()).toEqual([
    'file_download',
    'page_view',
    'page_view',
    'purchase',
    'user_engagement',
    'user_engagement',
    'view_search_results',
  ]);
  expect(new Set(found.map(({ distinct_id }) => distinct_id)).size).toBe(1);
  expect(new Set(found.map(({ properties }) => properties['ga_session_id'])).size).toBe(1);
  const [first] = found;
  expect(first?.properties).toMatchObject({
    first_visit: true,
    session_start: true,
    page_title: 'Shop',
    page_location: `${shop.origin('shop.example')}/`,
  });
  const propertiesOf = (name: string) => found.findLast(({ event }) => event === name)?.properties;
  // The library sends the name of the parameter that was searched with.
  expect(propertiesOf('view_search_results')).toMatchObject({ search_term: 'q' });
  expect(propertiesOf('purchase')).toMatchObject({
    order_id: 'T-100',
    value: 19.5,
    items: [{ item_id: '1', item_name: 'Red shirt', price: 19.5, quantity: 1 }],
  });
  expect(propertiesOf('page_view')).toMatchObject({ page_title: 'Cart' });
  await context.close();
});

test('a page of another origin can send nothing, and is told why', async () => {
  const context = await browser.newContext();
  const tab = await context.newPage();
  await tab.goto(`${shop.origin('elsewhere.example')}/quiet`);
  const before = (await rows()).length;
  const answer = await tab.evaluate(
    async (url) => {
      const response = await fetch(url, { method: 'POST', credentials: 'include', body: 'en=page_view' });
      return { status: response.status, text: await response.text() };
    },
    `${edge.origin('events.example')}/g/collect?tid=${MEASUREMENT_ID}&cid=1.2&_p=1`,
  );
  expect(answer).toMatchObject({ status: 403, text: expect.stringContaining('origin_not_allowed') });
  expect((await rows()).length).toBe(before);
  await context.close();
});

test('a page of its origin is answered with 204, credentials included', async () => {
  const context = await browser.newContext();
  const tab = await context.newPage();
  await tab.goto(`${shop.origin('shop.example')}/`);
  const status = await tab.evaluate(
    (url) => fetch(url, { credentials: 'include', headers: { 'x-asked': '1' } }).then((response) => response.status),
    `${edge.origin('events.example')}/g/collect?tid=${MEASUREMENT_ID}&cid=1.2&_p=9&_s=1&en=with_credentials`,
  );
  expect(status).toBe(204);
  await context.close();
});
