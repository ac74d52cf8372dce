import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { until } from '#test/harness/until.ts';
import { definition } from './harness/definition.ts';
import { standInForVendors } from './harness/standin_vendors.ts';
import { openTagWorld, type TagWorld } from './harness/tag_world.ts';

let world: TagWorld;
beforeAll(async () => {
  world = await openTagWorld();
});
afterAll(() => world.close());
beforeEach(() => world.reset());

const FACEBOOK = { pixel_id: '11111', route_pixels: [] };
const scriptsAsked = (): string[] =>
  world.edge.requests.map(({ url }) => url).filter((url) => url.endsWith('.js') && !url.endsWith('/svc.min.js'));

test('a click that a definition describes arrives with its value, and the pixel has it under the same event id', async () => {
  world.configure({
    facebook: FACEBOOK,
    events: [
      definition({ id: 'buy', name: 'order', selector: 'button', conversion_event: 'Purchase', value_selector: 'b' }),
    ],
  });
  world.pages['/'] = { body: '<b>€ 1.234,50</b><button>Buy</button>' };
  const context = await world.visitor();
  await standInForVendors(context, () => undefined);
  const page = await world.visit(context);
  const told = (): Promise<unknown[][]> => page.evaluate(() => (window as { told?: unknown[][] }).told ?? []);
  await until('the pixel has the page', told, (calls) => calls.some((call) => call.includes('PageView')));
  await until(
    'the definitions are there',
    async () => scriptsAsked(),
    (urls) => urls.includes('/svc-definitions.min.js'),
  );
  await page.waitForTimeout(300);
  await page.click('button');
  const [event] = await world.taken('order');
  expect(event?.properties).toMatchObject({ value: 1234.5, $definition_id: 'buy' });
  const calls = await until('the pixel has it', told, (all) => all.some((call) => call.includes('Purchase')));
  expect(calls.find((call) => call.includes('Purchase'))).toEqual([
    'fbq',
    'trackSingle',
    '11111',
    'Purchase',
    { value: 1234.5 },
    { eventID: event?.uuid },
  ]);
  await context.close();
});

test('what the page tracks itself carries what a definition of the trigger custom adds', async () => {
  world.configure({
    events: [
      definition({ trigger: 'custom', name: 'quiz', properties: { plan: 'pro', step: 1 }, value_selector: 'b' }),
    ],
  });
  world.pages['/'] = { body: '<b>12,50</b>' };
  const context = await world.visitor();
  const page = await world.visit(context);
  await until(
    'the definitions are there',
    async () => scriptsAsked(),
    (urls) => urls.includes('/svc-definitions.min.js'),
  );
  await page.waitForTimeout(300);
  await page.evaluate(() => window.svc.track('quiz', { step: 2 }));
  const [event] = await world.taken('quiz');
  expect(event?.properties).toMatchObject({ plan: 'pro', step: 2, value: 12.5, $definition_id: 'd' });
  await context.close();
});

test('a site without definitions, pixels and inventory loads no further script', async () => {
  const context = await world.visitor();
  const page = await world.visit(context);
  await page.waitForTimeout(3000);
  expect(scriptsAsked()).toEqual([]);
  await context.close();
});

test('the inventory of a page goes to the edge as text, once', async () => {
  world.configure({ tag: { inventory: true } });
  world.pages['/'] = { body: '<a href="/next?email=jane@shop.example">Next</a>' };
  const context = await world.visitor();
  await world.visit(context);
  const posts = () =>
    world.edge.requests.filter(({ method, url }) => method === 'POST' && url.includes('/v1/inventory'));
  await until('the inventory comes', posts, ({ length }) => length > 0);
  const [post] = posts();
  expect(post?.url).toBe('/v1/inventory?key=svc_pk_test');
  expect(post?.headers['content-type']).toBe('text/plain;charset=UTF-8');
  expect(JSON.parse(post?.body ?? '')).toEqual({
    page: '/',
    url: `${world.shop}/`,
    title: 'Test page',
    elements: [{ type: 'link', selector: '[href^="/next"]', text: 'Next', href: `${world.shop}/next` }],
  });
  await context.close();
});
