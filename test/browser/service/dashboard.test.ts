import { readFileSync } from 'node:fs';
import type { BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Listing } from '#pipelines/analytics/event_lists.ts';
import type { TrendsAnswer } from '#pipelines/analytics/trends/answer.ts';
import type { VisitsAnswer } from '#pipelines/analytics/visits/question.ts';
import { createControlClient, httpTransport } from '#services/control_api/client.ts';
import { newEvent, postEvents } from '#test/harness/ingest.ts';
import { sharedService } from '#test/harness/shared_service.ts';
import { makeSite, type TestSite } from '#test/harness/test_site.ts';
import { until } from '#test/harness/until.ts';
import { startWebhookReceiver, type WebhookReceiver } from '#test/harness/webhook_receiver.ts';
import { watchFaults } from '../dashboard/harness/page_faults.ts';
import { openBrowser, type TestBrowser } from '../harness/chromium.ts';

const { ready } = sharedService();
const CANARY = '<img src=x onerror="document.title=1">';
const PURCHASE = newEvent({ event: 'purchase', distinct_id: 'ada', properties: { value: 42.5, currency: 'EUR' } });
/** What a server sends is of a visit where it says which browser that was. */
const $raw_user_agent = 'Mozilla/5.0 (X11; Linux x86_64; rv:150.0) Gecko/20100101 Firefox/150.0';
const VIEWS = ['ada', 'bo', 'cy'].map((distinct_id) =>
  newEvent({ distinct_id, properties: { $current_url: `https://shop.example/for?${distinct_id}`, $raw_user_agent } }),
);
const EVENTS = [...VIEWS, PURCHASE, newEvent({ event: CANARY, distinct_id: CANARY, properties: { title: CANARY } })];

let receiver: WebhookReceiver;
let site: TestSite;
let browser: TestBrowser;
let context: BrowserContext;
let page: Page;
let faults: string[];

beforeAll(async () => {
  receiver = await startWebhookReceiver();
  site = await makeSite(sharedService(), { webhookUrl: receiver.url });
  await postEvents(ready.edge, site.serverKey, EVENTS);
  await postEvents(ready.edge, site.serverKey, [PURCHASE]);
  browser = await openBrowser('whole');
  context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  page = await context.newPage();
  faults = await watchFaults(page);
});
afterAll(async () => {
  await browser.close();
  await site.close();
  await receiver.close();
});

const ask = createControlClient(httpTransport(ready.control), readFileSync(ready.adminTokenFile, 'utf8').trim());
const at = (path: string): string => `${ready.control}/dashboard/sites/${site.site}/${path}`;

test('the first user signs in where npm start says, and is where they wanted to go', async () => {
  await page.goto(at('overview'));
  await page.getByLabel('User', { exact: true }).fill(ready.dashboard.user);
  await page.getByLabel('Password').fill(readFileSync(ready.dashboard.passwordFile, 'utf8').trim());
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  const [cookie] = await context.cookies();
  expect(cookie).toMatchObject({ httpOnly: true, sameSite: 'Strict' });
});

test('the overview has the numbers of the API', async () => {
  const day = 86_400_000;
  const now = Date.now();
  const counted = await until(
    'every event is a row',
    () => {
      const series = [{}, { events: ['purchase'], measure: { of: 'sum', field: { column: 'value' } } }];
      return ask.query<TrendsAnswer>(site.site, 'trends', {
        from: now - day,
        to: now + day,
        interval: 'day',
        series,
        fresh: true,
      });
    },
    ({ series }) => series[0]?.events === EVENTS.length,
    { timeoutMs: 60_000 },
  );
  await page.goto(at('overview?period=24h'));
  const figure = (name: string): Promise<string | null> =>
    page.locator('.figure', { hasText: name }).locator('.figure-total').textContent();
  await page.locator('.figure', { hasText: 'Revenue EUR' }).waitFor();
  await until(
    'the events',
    () => figure('Events'),
    (text) => text === String(EVENTS.length),
  );
  expect(await figure('Visitors')).toBe(String(counted.series[0]?.persons));
  expect(await figure('Conversions')).toBe('1');
  expect(await figure('Revenue EUR')).toBe(`€${counted.series[1]?.measured?.toFixed(2)}`);
  const times = { from: now - day, to: now + day };
  const { visits, bounces } = await ask.query<VisitsAnswer>(site.site, 'visits', { ...times, fresh: true });
  expect(visits).toBe(VIEWS.length);
  expect(await figure('Visits')).toBe(String(visits));
  expect(await figure('Bounce rate')).toBe(`${((bounces / visits) * 100).toFixed(1)}%`);
  await page.getByText('shop.example/for').waitFor();
});

test('Live has every event that the API lists, and a row opens to its whole way', async () => {
  await page.getByRole('link', { name: 'Live', exact: true }).click();
  const { events } = await ask.query<Listing>(site.site, 'live', { limit: 100 });
  await page.getByText(`${EVENTS.length} received`).waitFor();
  // A long id is shown cut, and whole where it is pointed at.
  const rows = await page
    .locator('tbody tr')
    .evaluateAll((all) =>
      all.map((row) =>
        [row.textContent, ...Array.from(row.querySelectorAll('[title]'), (one) => one.getAttribute('title'))].join(' '),
      ),
    );
  expect(rows).toHaveLength(events.length);
  for (const { event_id, event } of events) {
    expect(rows.some((row) => row.includes(event_id) && row.includes(event))).toBe(true);
  }
  await page.getByRole('button', { name: 'purchase' }).click();
  const way = page.getByRole('dialog');
  for (const text of ['One duplicate was dropped.', 'HTTP 200', 'Delivered', 'with the server key']) {
    await way.getByText(text).first().waitFor({ timeout: 60_000 });
  }
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: CANARY }).click();
  await way.getByText('Accepted').waitFor();
  await way.getByText('Properties').click();
  await way.getByText(`"title": ${JSON.stringify(CANARY)}`).waitFor();
  await page.keyboard.press('Escape');
  expect(await page.locator('#app img').count()).toBe(0);
});

test('whoever signed out sees nothing any more', async () => {
  await page.getByRole('button', { name: /^Account of/ }).click();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  await page.goto(at('live'));
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  expect(faults).toEqual([]);
});
