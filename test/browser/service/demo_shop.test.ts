import { setTimeout as sleep } from 'node:timers/promises';
import type { BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { select } from '#test/harness/clickhouse.ts';
import { sharedService } from '#test/harness/shared_service.ts';
import { until } from '#test/harness/until.ts';
import { openBrowser, type TestBrowser } from '../harness/chromium.ts';
import { knowsSite } from './harness/service_world.ts';

const { pages, metaStandin } = sharedService().ready.demo;
const { clickhouse } = sharedService().ready;
const EMAIL = 'ada.lovelace@example.com';
const PRICE = 79;
const EXPECTED = ['view_item', 'add_to_cart', 'begin_checkout', '$identify', 'purchase'];

/** Takes over what the tag left on the page, as Meta's script does, and reports by images. */
const PIXEL = `
  const { fbq } = window;
  fbq.callMethod = (command, pixel, name, data, { eventID } = {}) => {
    if (!command.startsWith('trackSingle')) return;
    new Image().src = 'https://www.facebook.com/tr/?' + new URLSearchParams({ id: pixel, ev: name, eid: eventID });
  };
  for (const call of fbq.queue.splice(0)) fbq.callMethod(...call);`;

interface Row {
  event: string;
  event_id: string;
  value: number | null;
  person: string;
  properties: string;
}

let browser: TestBrowser;
let context: BrowserContext;
let rows: Row[];
beforeAll(async () => {
  browser = await openBrowser('whole');
  context = await openVisitor();
  await buy(await context.newPage());
  const visitor = (await context.cookies()).find(({ name }) => name === 'svc_did')?.value ?? '';
  const all = (seen: Row[]): boolean => EXPECTED.every((event) => seen.some((row) => row.event === event));
  await until('the visit', () => rowsOf(visitor), all, { timeoutMs: 60_000 });
  // A repetition would be behind the event that it repeats by no more.
  await sleep(1_500);
  rows = await rowsOf(visitor);
});
afterAll(() => browser.close());

/** A visitor for whom Meta's pixel is what the stand-in's is; the shop's policy would not let it load. */
async function openVisitor(): Promise<BrowserContext> {
  const opened = await browser.newContext({ bypassCSP: true });
  await opened.route('https://connect.facebook.net/**', (route) =>
    route.fulfill({ contentType: 'text/javascript', body: PIXEL }),
  );
  await opened.route('https://www.facebook.com/tr/**', async (route) => {
    const { pathname, search } = new URL(route.request().url());
    const answer = await fetch(`${metaStandin}${pathname}${search}`);
    await route.fulfill({ status: answer.status, contentType: 'image/gif', body: '' });
  });
  return opened;
}

async function buy(page: Page): Promise<void> {
  await page.goto(`${pages}/`);
  await knowsSite(page);
  await page.getByRole('link', { name: 'Lamps' }).click();
  // The page is left as soon as the tag runs, which on a busy machine comes after the link is there.
  await page.waitForFunction(() => location.pathname.endsWith('/lamps') && 'status' in (window.svc ?? {}));
  await page.getByRole('link', { name: 'Desk lamp' }).click();
  await knowsSite(page);
  await page.getByRole('button', { name: 'Add to cart' }).click();
  await page.getByRole('link', { name: /^Cart/ }).click();
  await knowsSite(page);
  await page.getByRole('link', { name: 'Go to checkout' }).click();
  await page.getByLabel('Name').fill('Ada');
  await page.getByLabel('E-mail').fill(EMAIL);
  await page.getByLabel('City').fill('London');
  await page.getByRole('button', { name: 'Place the order' }).click();
  await page.getByText(/^Your order/).waitFor();
  await knowsSite(page);
  await page.waitForFunction(() => window.svc.status()['waiting'] === 0);
}

/** The rows of whoever the visitor is, of which those of a page that was left may be among the last. */
function rowsOf(visitor: string): Promise<Row[]> {
  return select<Row>(
    clickhouse,
    `SELECT event, sent_id AS event_id, value, arrived_person_id AS person, properties FROM event_rows
     WHERE site_id = 'shop' AND distinct_id = {visitor:String} ORDER BY timestamp`,
    { visitor },
  );
}

const named = (event: string): Row[] => rows.filter((row) => row.event === event);
const pathOf = ({ properties }: Row): string =>
  new URL(String((JSON.parse(properties) as { $current_url: string }).$current_url)).pathname;

test('a visit with navigation, cart, identification and purchase arrives complete, and each of it once', () => {
  expect(named('$pageview').map(pathOf)).toEqual([
    '/',
    '/category/lamps',
    '/product/desk-lamp',
    '/cart',
    '/checkout',
    '/thank-you',
  ]);
  const counts = EXPECTED.map((name) => named(name).length);
  expect(counts).toEqual([1, 1, 1, 1, 1]);
  expect(new Set(rows.map(({ event_id }) => event_id)).size).toBe(rows.length);
});

test('all of it is one person, of whom no e-mail address is stored', () => {
  expect(new Set(rows.map(({ person }) => person)).size).toBe(1);
  expect(JSON.stringify(rows)).not.toContain(EMAIL);
});

test('a definition with a value selector brings the value that stands on the page', () => {
  expect(named('view_item').map(({ value }) => value)).toEqual([PRICE]);
  expect(named('add_to_cart').map(({ value }) => value)).toEqual([PRICE]);
});

/** What the stand-in accepted under one name and id, how often it came, and how often it counted. */
interface Accepted {
  event_id: string;
  event_name: string;
  times: number;
  effects: number;
}

test('Meta gets the purchase from the pixel and from the service under one event id', async () => {
  const id = named('purchase')[0]?.event_id ?? '';
  const accepted = async (): Promise<Accepted[]> => {
    const answer = (await (await fetch(`${metaStandin}/_standin/ledger`)).json()) as { events: Accepted[] };
    return answer.events.filter(({ event_id }) => event_id === id);
  };
  const found = await until('both', accepted, ([one]) => (one?.times ?? 0) >= 2, { timeoutMs: 30_000 });
  expect(found).toMatchObject([{ event_name: 'Purchase', times: 2, effects: 1 }]);
});

test('the shop’s pages load nothing from outside this machine, whatever pixels the site has', async () => {
  const visitor = await browser.newContext();
  const page = await visitor.newPage();
  const outside: (string | undefined)[] = [];
  const isOutside = (url: string): boolean => url.startsWith('http') && new URL(url).hostname !== '127.0.0.1';
  page.on('requestfinished', (request) => isOutside(request.url()) && outside.push(request.url()));
  page.on('requestfailed', (request) => isOutside(request.url()) && outside.push(request.failure()?.errorText));
  await page.goto(`${pages}/`);
  await knowsSite(page);
  await until(
    'Meta’s pixel is refused',
    async () => outside.length,
    (count) => count > 0,
    { timeoutMs: 20_000 },
  );
  expect(new Set(outside)).toEqual(new Set(['csp']));
  await visitor.close();
});
