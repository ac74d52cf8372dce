import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { bundle } from '#infra/bundler/bundle.ts';
import { tagSources } from '#services/edge/tag_files/routes.ts';
import { until } from '#test/harness/until.ts';
import { axeViolations } from '../harness/axe.ts';
import { html, type PageServer, startPageServer } from '../harness/page_server.ts';
import { startStubApi } from './harness/stub_api.ts';
import { openStubDashboard, type StubDashboard } from './harness/stub_dashboard.ts';

let dashboard: StubDashboard;
let shop: PageServer;
/** Of no site. */
let other: PageServer;
const files = new Map<string, Buffer>();

const TAG = '<script async src="/svc.min.js" data-key="svc_pk_test"></script>';
const BODY = '<button data-testid="buy">Buy &lt;i&gt;now</button>';
/** Says what a test has it say to the page that opened it. */
const HOSTILE = html({ body: '<iframe src="/inner"></iframe><p>Ready</p>' });
const JS = { 'content-type': 'text/javascript' };

beforeAll(async () => {
  dashboard = await openStubDashboard();
  shop = await startPageServer(({ url = '/' }) => {
    const path = new URL(url, 'http://shop').pathname;
    const script = files.get(path);
    if (script !== undefined) return { body: script, headers: JS };
    if (path === '/hostile' || path === '/inner') return { body: path === '/inner' ? html({}) : HOSTILE };
    const coop = path === '/cut' ? { 'cross-origin-opener-policy': 'same-origin' } : {};
    return { body: html({ head: TAG, body: BODY, title: 'Shop' }), headers: coop as Record<string, string> };
  });
  other = await startPageServer({ '/hostile': { body: HOSTILE }, '/inner': { body: html({}) } });
  for (const { name, ...options } of tagSources(dashboard.url)) {
    if (/^svc(-pick)?\.min\.js$/.test(name)) files.set(`/${name}`, Buffer.from(await bundle(options)));
  }
});
afterAll(async () => {
  await dashboard.close();
  await Promise.all([shop.close(), other.close()]);
});

interface Visited {
  page: Page;
  faults: string[];
  sent: object[];
}

async function visited(): Promise<Visited> {
  const sent: object[] = [];
  const key = { key_hash: 'h', shown_prefix: 'svc_pk_ab', label: 'web', caller: 'browser', state: 'active' };
  const api = startStubApi()
    .on('GET', /\/event-definitions$/, { items: [] })
    .on('GET', /\/tag-health$/, { definitions: [] })
    .on('GET', '/v1/admin/destinations', { items: [], next: null })
    .on('GET', '/v1/admin/domains', { items: [], next: null })
    .on('GET', '/v1/admin/keys', { items: [{ ...key, allowed_origins: [shop.url] }], next: null })
    .on('POST', /\/event-definitions$/, (body) => {
      sent.push(body ?? {});
      return { status: 201, body: body ?? {} };
    });
  const { page, faults } = await dashboard.visit('/sites/shop/definitions', api);
  await page.getByRole('button', { name: 'Choose on your page' }).click();
  return { page, faults, sent };
}

/** The tab that opens where somebody wants to choose on a page at an address. */
async function openedAt(page: Page, address: string): Promise<Page> {
  await page.getByLabel('Page URL').fill(address);
  const next = page.context().waitForEvent('page');
  await page.getByRole('button', { name: 'Open the page' }).click();
  return next;
}

const formOf = (page: Page) => page.getByRole('dialog', { name: 'New event definition' });

test('an element chosen on the page fills the form, which is saved by hand alone', async () => {
  const { page, faults, sent } = await visited();
  expect(await axeViolations(page)).toEqual([]);
  const tab = await openedAt(page, `${shop.url}/product/1?utm_source=x`);
  await tab.getByRole('heading', { name: 'Choose an element' }).waitFor();
  await page.getByText('Choose an element in the other tab.').waitFor();
  expect(await axeViolations(page)).toEqual([]);
  const isClosed = tab.waitForEvent('close');
  await tab.click('svc-pick .glass', { position: { x: 20, y: 20 } });
  await tab.getByRole('button', { name: 'Use this element' }).click();
  await formOf(page).waitFor();
  await isClosed;
  expect(sent).toEqual([]);
  expect(await page.getByLabel('Element selector').inputValue()).toBe('[data-testid="buy"]');
  expect(await page.getByLabel('Pages (optional)').inputValue()).toBe('/product/1');
  // A text of the page's is a text here.
  await page.getByText('Chosen: button “Buy <i>now” on /product/1; the selector finds 1 there.').waitFor();
  expect(await page.getByLabel('Id', { exact: true }).inputValue()).toBe('buy-i-now');
  expect(await axeViolations(page)).toEqual([]);
  await page.getByRole('button', { name: 'Save' }).click();
  await until(
    'it is saved',
    async () => sent,
    ({ length }) => length > 0,
  );
  expect(sent[0]).toMatchObject({ trigger: 'click', selector: '[data-testid="buy"]', url_pattern: '/product/1' });
  expect(faults).toEqual([]);
  await page.context().close();
});

test('a page that is not the site’s is not opened', async () => {
  const { page } = await visited();
  for (const address of [`${other.url}/hostile`, 'javascript:alert(1)']) {
    await page.getByLabel('Page URL').fill(address);
    await page.getByRole('button', { name: 'Open the page' }).click();
    await page.getByRole('alert').waitFor();
  }
  expect(page.context().pages()).toHaveLength(1);
  await page.context().close();
});

const CHOICE = { selector: '.evil', trigger: 'click', tag: 'a', label: '', count: 1 };

test('no message counts but that of the opened page, of its origin, with its nonce', async () => {
  const { page, faults } = await visited();
  const tab = await openedAt(page, `${shop.url}/hostile`);
  await tab.getByText('Ready').waitFor();
  const nonce = new URL(tab.url()).hash.replace('#svc-pick=', '');
  const say = (from: Page, message: object): Promise<void> =>
    from.evaluate((data) => (window.opener as Window).postMessage(data, '*'), message);
  const choice = { ...CHOICE, url: `${shop.url}/` };
  await say(tab, { svc_pick: 'guessed', choice });
  await say(tab, { choice });
  // A frame in the page, and a page that opened itself beside it.
  await tab
    .frames()[1]
    ?.evaluate((data) => (window.top as Window).opener.postMessage(data, '*'), { svc_pick: nonce, choice });
  await page.evaluate((data) => window.postMessage(data, '*'), { svc_pick: nonce, choice });
  // The same tab, led to another origin.
  await tab.evaluate((to) => location.assign(to), `${other.url}/hostile`);
  await tab.waitForURL(`${other.url}/hostile`);
  await say(tab, { svc_pick: nonce, choice: { ...CHOICE, url: `${other.url}/` } });
  await page.waitForTimeout(500);
  expect(await formOf(page).count()).toBe(0);
  expect(await page.getByRole('alert').count()).toBe(0);
  expect(faults).toEqual([]);
  await page.context().close();
});

test('of a page that makes up its choice nothing is taken that is not one, and no HTML comes in', async () => {
  const { page, faults } = await visited();
  const tab = await openedAt(page, `${shop.url}/hostile`);
  await tab.getByText('Ready').waitFor();
  const nonce = new URL(tab.url()).hash.replace('#svc-pick=', '');
  const say = (more: object): Promise<void> =>
    tab.evaluate((data) => (window.opener as Window).postMessage(data, '*'), {
      svc_pick: nonce,
      choice: { ...CHOICE, url: `${shop.url}/`, ...more },
    });
  await say({ selector: '<img src=x onerror=alert(1)>' });
  await page.getByText('The page sent a choice that cannot be used.').waitFor();
  expect(await formOf(page).count()).toBe(0);
  await say({ label: '<img src=x onerror=alert(1)>' });
  await formOf(page).waitFor();
  await page.getByText('a “<img src=x onerror=alert(1)>” on /').waitFor();
  expect(await page.locator('img').count()).toBe(0);
  expect(faults).toEqual([]);
  await page.context().close();
});

test('where the page cuts the way back, what was copied there is pasted', async () => {
  const { page, faults } = await visited();
  const tab = await openedAt(page, `${shop.url}/cut`);
  await tab.getByRole('heading', { name: 'Choose an element' }).waitFor();
  await page.getByText('Cross-Origin-Opener-Policy').waitFor();
  await tab.click('svc-pick .glass', { position: { x: 20, y: 20 } });
  await tab.getByRole('button', { name: 'Use this element' }).click();
  const copied = await tab.getByLabel('What was chosen').inputValue();
  const pasted = page.getByLabel('Choice copied from the page');
  await pasted.fill('<img src=x>');
  await page.getByRole('button', { name: 'Use it' }).click();
  await page.getByRole('alert').waitFor();
  await pasted.fill(copied);
  await page.getByRole('button', { name: 'Use it' }).click();
  await formOf(page).waitFor();
  expect(await page.getByLabel('Element selector').inputValue()).toBe('[data-testid="buy"]');
  expect(faults).toEqual([]);
  await page.context().close();
});
