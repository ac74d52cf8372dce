import type { BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { bundle } from '#infra/bundler/bundle.ts';
import { tagSources } from '#services/edge/tag_files/routes.ts';
import { until } from '#test/harness/until.ts';
import { axeViolations } from '../harness/axe.ts';
import { html, type PageServer, startPageServer } from '../harness/page_server.ts';
import { openTagWorld, type TagWorld } from './harness/tag_world.ts';

/** A page that opens another, notes what it is told, and answers as the dashboard does. */
const OPENER = html({
  title: 'Opener',
  body: `<script>
    window.told = [];
    addEventListener('message', ({ source, origin, data }) => {
      told.push({ origin, data });
      if (data.choice) source.postMessage({ svc_heard: data.svc_pick }, origin);
    });
  </script>`,
});

interface Told {
  origin: string;
  data: { svc_pick: string; choice?: Record<string, unknown> };
}
type OpenerWindow = Window & { told: Told[] };

let world: TagWorld;
let dashboard: PageServer;
let stranger: PageServer;
let context: BrowserContext;
beforeAll(async () => {
  world = await openTagWorld();
  dashboard = await startPageServer({ '/': { body: OPENER } });
  stranger = await startPageServer({ '/': { body: OPENER } });
  const pick = tagSources(dashboard.url).find(({ name }) => name === 'svc-pick.min.js');
  if (pick === undefined) throw new Error('no script to choose by');
  world.edge.files['/svc-pick.min.js'] = { type: 'text/javascript', body: Buffer.from(await bundle(pick)) };
});
afterAll(async () => {
  await Promise.all([dashboard.close(), stranger.close()]);
  await world.close();
});
beforeEach(async () => {
  await context?.close();
  await world.reset();
  context = await world.visitor();
});

/** The shop's page with a body, opened by a page at an origin, once it lets somebody choose. */
async function opened(body: string, by = dashboard, more: object = {}): Promise<{ shop: Page; opener: Page }> {
  world.pages['/'] = { body, title: 'Shop', ...more };
  const opener = await context.newPage();
  await opener.goto(by.url);
  const next = context.waitForEvent('page');
  await opener.evaluate((url) => void window.open(url), `${world.shop}/?q=secret#svc-pick=n1`);
  const shop = await next;
  await shop.getByRole('heading', { name: 'Choose an element' }).waitFor();
  return { shop, opener };
}

const told = (opener: Page): Promise<Told[]> => opener.evaluate(() => (window as unknown as OpenerWindow).told);
const choiceAt = async (opener: Page): Promise<Record<string, unknown> | undefined> =>
  (
    await until(
      'a choice comes',
      () => told(opener),
      (all) => all.some(({ data }) => data.choice),
    )
  ).at(-1)?.data.choice;
const selectorShown = (shop: Page): Promise<string | null> => shop.locator('svc-pick code').textContent();
const use = (shop: Page): Promise<void> => shop.getByRole('button', { name: 'Use this element' }).click();

const BUY = '<main><h1>Shop</h1><form action="/next"><button data-testid="buy">Buy <b>now</b></button></form></main>';

test('a click chooses the whole button, hands it to the dashboard, and does nothing on the page', async () => {
  const { shop, opener } = await opened(`${BUY}<script>
    window.heard = [];
    for (const type of ['pointerdown', 'mousedown', 'click', 'submit', 'keydown'])
      document.addEventListener(type, ({ target }) => target.localName !== 'svc-pick' && heard.push(type), true);
  </script>`);
  const at = await shop.locator('b').boundingBox();
  await shop.mouse.click((at?.x ?? 0) + 3, (at?.y ?? 0) + 3);
  expect(await shop.getByRole('status').textContent()).toBe('button “Buy now”: matches 1 element');
  await use(shop);
  expect(await choiceAt(opener)).toEqual({
    selector: '[data-testid="buy"]',
    trigger: 'click',
    url: `${world.shop}/`,
    tag: 'button',
    label: 'Buy now',
    count: 1,
  });
  expect((await told(opener))[0]).toEqual({ origin: world.shop, data: { svc_pick: 'n1' } });
  await shop.getByRole('heading', { name: 'The dashboard has it' }).waitFor();
  expect(await shop.evaluate(() => (window as unknown as { heard: string[] }).heard)).toEqual([]);
  expect(new URL(shop.url()).pathname).toBe('/');
});

test('the visit is not counted: the edge is asked for nothing but the two scripts, also of what the page tracks', async () => {
  const { shop } = await opened(BUY);
  await shop.evaluate(() => {
    window.svc.track('purchase', { value: 1 });
    window.svc.page();
  });
  // Longer than the tag waits for the site's configuration.
  await shop.waitForTimeout(2500);
  await shop.close();
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(world.edge.requests.map(({ url }) => url)).toEqual(['/svc.min.js', '/svc-pick.min.js']);
});

test('all of it by keyboard: Tab and arrows move, Enter chooses, tighter and wider are offered', async () => {
  const item = '<li><button class="add css-1a2b3c mt-4">Add</button></li>';
  const { shop, opener } = await opened(`<a href="/next">Next</a><ul id="sale">${item}${item}</ul>${item}`);
  await shop.keyboard.press('Tab');
  await shop.keyboard.press('Tab');
  expect(await selectorShown(shop)).toBe('#sale button.add');
  await shop.keyboard.press('ArrowUp');
  expect(await shop.getByRole('status').textContent()).toContain('li');
  await shop.keyboard.press('ArrowDown');
  await shop.keyboard.press('Enter');
  await shop.keyboard.press('Tab');
  await shop.keyboard.press('Enter');
  expect(await selectorShown(shop)).toMatch(/#sale>li:nth-of-type\(1\)>button:nth-of-type\(1\)$/);
  expect(await shop.getByRole('button', { name: 'Tighter' }).isDisabled()).toBe(true);
  for (const _ of [1, 2]) await shop.getByRole('button', { name: 'Wider' }).click();
  expect(await selectorShown(shop)).toBe('button.add');
  expect(await shop.getByRole('status').textContent()).toContain('matches 3 elements');
  await shop.keyboard.press('Escape');
  await shop.getByRole('button', { name: 'Pause' }).waitFor();
  await shop.keyboard.press('Enter');
  await shop.keyboard.press('Enter');
  expect(await choiceAt(opener)).toMatchObject({ selector: 'button.add', count: 3 });
});

test('fields and forms are chosen without anything that stands in them', async () => {
  const { shop, opener } = await opened(
    '<form id="join"><label>Mail <input name="mail" value="jane@shop.example"></label></form><p>Order of Jane</p>',
  );
  await shop.keyboard.press('Tab');
  await shop.keyboard.press('Tab');
  await shop.keyboard.press('Tab');
  expect(await selectorShown(shop)).toBe('[name="mail"]');
  await shop.keyboard.press('Enter');
  await use(shop);
  const choice = await choiceAt(opener);
  expect(choice).toMatchObject({ selector: '[name="mail"]', trigger: 'change', tag: 'input', label: 'Mail' });
  expect(JSON.stringify(await told(opener))).not.toMatch(/jane|Order|secret/i);
});

test('an element in an open shadow root is found as definitions find it', async () => {
  const { shop, opener } = await opened(
    '<x-card></x-card><script>customElements.define("x-card", class extends HTMLElement { constructor() { super(); this.attachShadow({ mode: "open" }).innerHTML = "<button class=buy>Buy</button>"; } });</script>',
  );
  const at = await shop.locator('.buy').boundingBox();
  await shop.mouse.click((at?.x ?? 0) + 3, (at?.y ?? 0) + 3);
  await use(shop);
  expect(await choiceAt(opener)).toMatchObject({ selector: 'button.buy', count: 1 });
});

test('a stranger who opens the page is told nothing', async () => {
  const { shop, opener } = await opened(BUY, stranger);
  await shop.keyboard.press('Tab');
  await shop.keyboard.press('Enter');
  await use(shop);
  await shop.getByRole('heading', { name: 'Copy it to the dashboard' }).waitFor();
  expect(await told(opener)).toEqual([]);
});

test('a stranger who frames the page gets no overlay in it', async () => {
  const page = await context.newPage();
  await page.goto(stranger.url);
  await page.evaluate((url) => {
    document.body.append(Object.assign(document.createElement('iframe'), { src: url }));
  }, `${world.shop}/#svc-pick=n1`);
  await until(
    'the script is loaded',
    async () => world.edge.requests,
    (all) => all.some(({ url }) => url === '/svc-pick.min.js'),
  );
  await page.waitForTimeout(500);
  expect(await page.frames()[1]?.locator('svc-pick').count()).toBe(0);
});

test('where the page cuts its opener off, what was chosen can be copied', async () => {
  const { shop } = await opened(BUY, dashboard, { headers: { 'cross-origin-opener-policy': 'same-origin' } });
  await shop.keyboard.press('Tab');
  await shop.keyboard.press('Tab');
  await shop.keyboard.press('Enter');
  await use(shop);
  const copied = await shop.getByLabel('What was chosen').inputValue();
  expect(JSON.parse(copied)).toMatchObject({ selector: '[data-testid="buy"]', url: `${world.shop}/` });
  expect(await axeViolations(shop)).toEqual([]);
});

test('a strict policy of the page is kept, and the overlay looks as it should', async () => {
  const policy = `default-src 'none'; script-src 'nonce-abc'; style-src 'self'; connect-src ${world.collector}; require-trusted-types-for 'script'; trusted-types svc`;
  const broken =
    '<script nonce="abc">window.broken = []; addEventListener("securitypolicyviolation", (event) => broken.push(event.violatedDirective));</script>';
  const { shop } = await opened(BUY, dashboard, {
    head: broken,
    attributes: 'nonce="abc"',
    headers: { 'content-security-policy': policy },
  });
  await shop.keyboard.press('Tab');
  await shop.keyboard.press('Tab');
  const box = await shop.locator('svc-pick .chosen').boundingBox();
  const button = await shop.locator('[data-testid=buy]').boundingBox();
  expect(Math.abs((box?.width ?? 0) - (button?.width ?? 0))).toBeLessThan(1);
  expect(await axeViolations(shop)).toEqual([]);
  await shop.keyboard.press('Enter');
  expect(await axeViolations(shop)).toEqual([]);
  expect(await shop.evaluate(() => (window as unknown as { broken: string[] }).broken)).toEqual([]);
});

test('paused, the page is used as ever, and what it opened is chosen then', async () => {
  const { shop } = await opened(
    "<button id=\"menu\" onclick=\"this.after(Object.assign(document.createElement('button'), { id: 'late', textContent: 'Late' }))\">Menu</button>",
  );
  await shop.keyboard.press(' ');
  await shop.click('#menu');
  await shop.getByRole('button', { name: 'Go on' }).click();
  await shop.keyboard.press('Tab');
  await shop.keyboard.press('Tab');
  expect(await selectorShown(shop)).toBe('#late');
});

test('who leaves a tab that the browser does not close is an ordinary visitor', async () => {
  const shop = await context.newPage();
  await shop.goto(`${world.shop}/next`);
  await shop.goto(`${world.shop}/#svc-pick=n1`);
  await shop.getByRole('heading', { name: 'Choose an element' }).waitFor();
  await shop.keyboard.press('Escape');
  const pages = await world.taken('$pageview', 2);
  expect(pages.map(({ properties }) => properties['$current_url'])).toEqual([`${world.shop}/next`, `${world.shop}/`]);
});
