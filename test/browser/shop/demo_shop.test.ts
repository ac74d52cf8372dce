import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { type ShopServer, startShop } from '#services/local/shop/shop_server.ts';
import { openBrowser, type TestBrowser } from '../harness/chromium.ts';

const AXE = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8');
const RULES = ['wcag2a', 'wcag2aa', 'wcag21aa', 'wcag22aa'];
/** Nothing answers there: the shop has to work without the tag. */
const NO_EDGE = 'http://127.0.0.1:9';

let shop: ShopServer;
let browser: TestBrowser;
let context: BrowserContext;
let page: Page;
beforeAll(async () => {
  shop = await startShop(0, { edge: NO_EDGE, key: 'svc_pk_x' });
  browser = await openBrowser('shell');
});
afterAll(async () => {
  await browser.close();
  await shop.stop();
});
beforeEach(async () => {
  context = await browser.newContext({ bypassCSP: true });
  page = await context.newPage();
});
afterEach(() => context.close());

const PATHS = [
  '/',
  '/category/lamps',
  '/product/floor-lamp',
  '/cart',
  '/checkout',
  '/thank-you',
  '/contact',
  '/quote',
  '/lookbook',
];

/** What axe-core finds on the page that is open, as `rule: element`. */
async function violations(): Promise<string[]> {
  await page.evaluate(AXE);
  return page.evaluate(async (values) => {
    const axe = (globalThis as unknown as { axe: { run(options: object): Promise<AxeResults> } }).axe;
    const { violations: found } = await axe.run({ runOnly: { type: 'tag', values } });
    return found.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
  }, RULES);
}
interface AxeResults {
  violations: { id: string; nodes: { html: string }[] }[];
}

test.each(['light', 'dark'] as const)('every page of the shop is accessible in %s', async (colorScheme) => {
  await page.emulateMedia({ colorScheme });
  for (const path of PATHS) {
    await page.goto(`${shop.url}${path}`);
    expect(await violations(), path).toEqual([]);
  }
});

test('a visitor buys with the keyboard alone', async () => {
  await page.goto(`${shop.url}/product/desk-lamp`);
  await page.getByRole('button', { name: 'Add to cart' }).focus();
  await page.keyboard.press('Enter');
  await page.getByRole('link', { name: /^Cart 1$/ }).focus();
  await page.keyboard.press('Enter');
  await page.getByRole('link', { name: 'Go to checkout' }).focus();
  await page.keyboard.press('Enter');
  for (const [label, text] of [
    ['Name', 'Ada'],
    ['E-mail', 'ada@example.com'],
    ['City', 'Ghent'],
  ] as const) {
    await page.getByLabel(label).focus();
    await page.keyboard.type(text);
  }
  await page.keyboard.press('Enter');
  await page.getByText(/Your order \w+ over € 79\.00/).waitFor();
  expect(new URL(page.url()).search).toBe('');
});

test('without the tag there is no error on the pages, and no request but to the shop and its edge', async () => {
  const errors: string[] = [];
  const origins = new Set<string>();
  page.on('pageerror', ({ message }) => errors.push(message));
  page.on('request', (request) => origins.add(new URL(request.url()).origin));
  for (const path of PATHS) await page.goto(`${shop.url}${path}`);
  expect(errors).toEqual([]);
  expect([...origins].sort()).toEqual([shop.url, NO_EDGE].sort());
});

test('the lookbook changes the address without loading a page', async () => {
  await page.goto(`${shop.url}/lookbook`);
  await page.evaluate(() => Object.assign(globalThis, { isSame: true }));
  await page.getByRole('link', { name: 'Evening' }).click();
  await page.waitForURL('**/lookbook/evening');
  await page.getByText('One lamp is enough.').waitFor();
  await page.goBack();
  expect(await page.evaluate(() => 'isSame' in globalThis)).toBe(true);
});
