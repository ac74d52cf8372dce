import type { BrowserContext, Page, Route } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { until } from '#test/harness/until.ts';
import { openTagWorld, type TagWorld } from './harness/tag_world.ts';

let world: TagWorld;
beforeAll(async () => {
  world = await openTagWorld();
});
afterAll(() => world.close());
const own = (): string => world.edgeProxy.origin('t.shop.example');
beforeEach(async () => {
  await world.reset();
  world.configure({ tag: { inventory: false, loader: { base: own(), prefix: '' } } });
});

const idOf = async (context: BrowserContext): Promise<string | undefined> =>
  (await context.cookies(world.shop)).find(({ name }) => name === 'svc_did')?.value;
const asked = (): string[] =>
  world.edge.requests.filter(({ url }) => url === '/v1/visitor').map(({ headers }) => headers['cookie'] ?? '');

/** Answers as the edge does, when it is told to. */
async function holdAnswer(
  page: Page,
): Promise<{ waiting: Promise<Route>; answer(route: Route, id: string): Promise<void> }> {
  const { promise: waiting, resolve } = Promise.withResolvers<Route>();
  await page.route('**/v1/visitor', resolve);
  return {
    waiting,
    async answer(route, id) {
      await route.fulfill({ status: 204, headers: { 'set-cookie': `svc_did=${id}; Path=/; Domain=shop.example` } });
      await page.waitForTimeout(300);
    },
  };
}

test.each([
  ['no pixel', {}],
  ['a pixel of Meta, for whose ids the first event waits', { facebook: { pixel_id: '1', route_pixels: [] } }],
])('on a domain of the site the tag has the visitor’s cookie set again, once a page: with %s', async (_with, more) => {
  world.configure({ tag: { inventory: false, loader: { base: own(), prefix: '' } }, ...more });
  const context = await world.visitor();
  await world.visit(context);
  await until('the request', asked, ({ length }) => length > 0, { timeoutMs: 10_000 });
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(asked()).toEqual([expect.stringContaining(`svc_did=${await idOf(context)}`)]);
  await context.close();
});

test('of a visitor who refuses, and where a site has no domain, nothing is renewed', async () => {
  const context = await world.visitor();
  world.pages['/'] = { head: '<script>window.svc={q:[["consent",{analytics:false}]]}</script>' };
  await (await world.visit(context)).waitForTimeout(800);
  world.configure({ tag: { inventory: false, loader: null } });
  await (await world.visit(context, '/next')).waitForTimeout(800);
  expect(asked()).toEqual([]);
  await context.close();
});

test('a cookie that comes back when the visitor has refused meanwhile is removed again', async () => {
  const context = await world.visitor();
  const page = await context.newPage();
  const { waiting, answer } = await holdAnswer(page);
  await page.goto(world.shop);
  const route = await waiting;
  const id = await idOf(context);
  await page.evaluate(() => window.svc.consent({ analytics: false }));
  expect([id, await idOf(context)]).toEqual([expect.any(String), undefined]);
  await answer(route, String(id));
  expect(await idOf(context)).toBeUndefined();
  await context.close();
});

test('after a reset the cookie that comes back is not the old visitor’s', async () => {
  const context = await world.visitor();
  const page = await context.newPage();
  const { waiting, answer } = await holdAnswer(page);
  await page.goto(world.shop);
  const route = await waiting;
  const id = await idOf(context);
  await page.evaluate(() => {
    window.svc.reset();
    window.svc.track('other');
  });
  await world.taken('other');
  await answer(route, String(id));
  expect([undefined, id]).not.toContain(await idOf(context));
  await context.close();
});

test('a session that begins before the answer leaves the visitor and what waits for the edge as they were', async () => {
  const context = await world.visitor();
  world.pages['/'] = { attributes: 'data-pages="manual"' };
  const id = '0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b';
  await context.addCookies([{ name: 'svc_did', value: id, domain: '.shop.example', path: '/' }]);
  const page = await context.newPage();
  const { waiting, answer } = await holdAnswer(page);
  await page.goto(world.shop);
  const route = await waiting;
  const lead = JSON.stringify({ visitor: id, waiting: [] });
  await page.evaluate((kept) => {
    localStorage.setItem('svc_e', kept);
    window.svc.track('other');
  }, lead);
  await world.taken('other');
  await answer(route, id);
  expect(await idOf(context)).toBe(id);
  expect(await page.evaluate(() => localStorage.getItem('svc_e'))).toBe(lead);
  await context.close();
});

test('a cookie that comes back after a refusal is not there when the visitor agrees again', async () => {
  const context = await world.visitor();
  const page = await context.newPage();
  const { waiting, answer } = await holdAnswer(page);
  await page.goto(world.shop);
  const route = await waiting;
  const id = await idOf(context);
  await page.evaluate(() => {
    window.svc.consent({ analytics: false });
    window.svc.consent({ analytics: true });
  });
  await answer(route, String(id));
  expect(id).toEqual(expect.any(String));
  expect(await idOf(context)).not.toBe(id);
  await context.close();
});
