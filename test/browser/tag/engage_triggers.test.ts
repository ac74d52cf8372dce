import type { Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { handedOut, showOn, told } from './harness/engage_pages.ts';
import { openTagWorld, type TagWorld } from './harness/tag_world.ts';

let world: TagWorld;
beforeAll(async () => {
  world = await openTagWorld();
});
afterAll(() => world.close());
beforeEach(async () => {
  await world.reset();
  world.configure({ tag: { inventory: false, engage: true } });
  world.pages['/'] = { body: '<main style="height:4000px"><h1>Shop</h1></main>' };
});

const PROMO = { id: 'sale', title: 'Winter sale', body: 'Everything must go.', button: { text: 'Look', url: '/next' } };
const PIXEL = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64');
/** Longer than an item takes to appear once its moment has come. */
const QUIET_MS = 400;

/** A page that has been told of a promo with these rules. */
async function shopWith(more: object): Promise<Page> {
  showOn(world, [handedOut('promo', { ...PROMO, ...more })]);
  const context = await world.visitor();
  const page = await world.visit(context);
  await told(world, 'engage', 1);
  await page.waitForTimeout(QUIET_MS);
  return page;
}
const shown = (page: Page): Promise<number> => page.locator('svc-engage').count();

test('for scroll an item appears when the visitor has come so far down, and not before', async () => {
  const page = await shopWith({ show: { on: 'scroll', scroll_percent: 80 } });
  await page.evaluate(() => scrollTo(0, 1_500));
  await page.waitForTimeout(QUIET_MS);
  expect(await shown(page)).toBe(0);
  await page.evaluate(() => scrollTo(0, 3_500));
  await page.getByRole('heading', { name: 'Winter sale' }).waitFor();
  await page.context().close();
});

test('for scroll a page that is seen so far without scrolling is enough', async () => {
  world.pages['/'] = { body: '<h1>Shop</h1>' };
  const page = await shopWith({ show: { on: 'scroll', scroll_percent: 100 } });
  await page.getByRole('heading', { name: 'Winter sale' }).waitFor();
  await page.context().close();
});

test('for exit an item appears when the pointer leaves the page at its top, not at its side', async () => {
  const page = await shopWith({ show: { on: 'exit' } });
  const leave = (clientY: number): Promise<unknown> =>
    page.evaluate(
      (y) => document.body.dispatchEvent(new MouseEvent('mouseout', { bubbles: true, clientX: 0, clientY: y })),
      clientY,
    );
  await page.mouse.move(200, 200);
  await page.mouse.move(200, 400);
  await leave(300);
  await page.waitForTimeout(QUIET_MS);
  expect(await shown(page)).toBe(0);
  await leave(-1);
  await page.getByRole('heading', { name: 'Winter sale' }).waitFor();
  await page.context().close();
});

test('what waits for its time does not appear on the next page of an application', async () => {
  const page = await shopWith({ show: { on: 'load', after_ms: 2_000 } });
  showOn(world, []);
  await page.evaluate(() => history.pushState({}, '', '/other'));
  await told(world, 'engage', 2);
  await page.waitForTimeout(2_200);
  expect(await shown(page)).toBe(0);
  await page.context().close();
});

test('on the next page of an application what is not for it gives way to what is, and the rest stays', async () => {
  const page = await shopWith({});
  await page.getByRole('heading', { name: 'Winter sale' }).waitFor();
  showOn(world, []);
  await page.evaluate(() => history.pushState({}, '', '/sales'));
  const [, second] = await told(world, 'engage', 2);
  expect(second?.open).toEqual(['promo:sale']);
  await page.waitForTimeout(QUIET_MS);
  expect(await shown(page)).toBe(1);
  showOn(world, [handedOut('promo', { ...PROMO, id: 'boats', title: 'Boats' })], ['promo:sale']);
  await page.evaluate(() => history.pushState({}, '', '/boats'));
  await page.getByRole('heading', { name: 'Boats' }).waitFor();
  expect(await shown(page)).toBe(1);
  const tracked = await told(world, 'promos/track', 2);
  expect(tracked.map(({ action }) => action)).toEqual(['view', 'view']);
  await page.context().close();
});

test('a promo has its picture with its text, and the picture’s server is not told the page', async () => {
  world.edge.files['/lamp.gif'] = { type: 'image/gif', body: PIXEL };
  const picture = { image_url: `${world.collector}/lamp.gif`, image_alt: 'A lamp' };
  const page = await shopWith(picture);
  await page.getByRole('img', { name: 'A lamp' }).waitFor();
  const asked = world.edge.requests.filter(({ url }) => url === '/lamp.gif');
  expect(asked.map(({ headers }) => headers['referer'])).toEqual([undefined]);
  await page.context().close();
});

test('a promo whose picture does not come is shown without it', async () => {
  const page = await shopWith({ image_url: `${world.collector}/none.gif`, image_alt: 'A lamp' });
  await page.getByRole('heading', { name: 'Winter sale' }).waitFor();
  expect(await page.getByRole('img').count()).toBe(0);
  await page.context().close();
});

test('a copied code is told once the clipboard has it', async () => {
  const page = await shopWith({ code: 'WINTER20' });
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.getByRole('button', { name: 'Copy' }).click();
  await page.getByRole('button', { name: 'Copied' }).waitFor();
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe('WINTER20');
  const all = await told(world, 'promos/track', 2);
  expect(all.map(({ action }) => action)).toEqual(['view', 'copy_code']);
  await page.context().close();
});

test('what is said of a high form that was sent is in view', async () => {
  world.pages['/'] = { head: '<style>#here{min-height:2200px}</style>', body: '<div id="here"></div><p>below</p>' };
  const fields = ['name', 'city', 'street', 'message'].map((name) => ({ name, type: 'textarea', label: name }));
  const form = {
    id: 'quote',
    place: 'inline',
    mount: '#here',
    fields,
    message: 'We call you back.',
    spam: { min_ms: 0 },
  };
  showOn(world, [handedOut('form', form)]);
  world.edge.replies['/v1/form'] = { accepted: 1, message: 'We call you back.' };
  const context = await world.visitor({ viewport: { width: 390, height: 400 } });
  const page = await world.visit(context);
  await page.getByRole('button', { name: 'Send' }).click();
  const said = page.getByText('We call you back.');
  await said.waitFor();
  const { y = -1 } = (await said.boundingBox()) ?? {};
  expect(y).toBeGreaterThanOrEqual(0);
  expect(y).toBeLessThan(400);
  await context.close();
});

test('a modal dims the page, and what only stands above it does not', async () => {
  const dims: Record<string, string> = {};
  for (const place of ['popover', 'banner', 'modal']) {
    const page = await shopWith({ place });
    await page.getByRole('heading', { name: 'Winter sale' }).waitFor();
    const panel = page.locator('svc-engage .panel');
    dims[place] = await panel.evaluate((box) => getComputedStyle(box, '::backdrop').backgroundColor);
    await page.context().close();
  }
  expect(dims).toEqual({ popover: 'rgba(0, 0, 0, 0)', banner: 'rgba(0, 0, 0, 0)', modal: 'rgba(0, 0, 0, 0.533)' });
});
