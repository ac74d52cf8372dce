import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { openTagWorld, STUB, type TagWorld } from './harness/tag_world.ts';

let world: TagWorld;
beforeAll(async () => {
  world = await openTagWorld();
});
afterAll(() => world.close());
beforeEach(() => world.reset());

const DAY_S = 86_400;
const UUID_7 = /^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/;

test('the visitor has an id in a first-party cookie of 395 days, on the widest domain there is', async () => {
  const context = await world.visitor();
  await world.visit(context);
  const [event] = await world.taken('$pageview');
  const cookie = (await context.cookies()).find(({ name }) => name === 'svc_did');
  expect(cookie).toMatchObject({ domain: '.shop.example', path: '/', secure: true, sameSite: 'Lax', httpOnly: false });
  expect(((cookie?.expires ?? 0) - Date.now() / 1000) / DAY_S).toBeCloseTo(395, 1);
  expect(cookie?.value).toMatch(UUID_7);
  expect(event).toMatchObject({ distinct_id: cookie?.value, uuid: expect.stringMatching(UUID_7) });
  await context.close();
});

test('two tabs are one visitor in one session, and a sign-out makes another of both', async () => {
  const context = await world.visitor();
  const tabs = [await world.visit(context), await world.visit(context, '/next')];
  const [one, other] = await world.taken('$pageview', 2);
  expect(one?.distinct_id).toBe(other?.distinct_id);
  expect(one?.properties['$session_id']).toMatch(UUID_7);
  expect(one?.properties['$session_id']).toBe(other?.properties['$session_id']);
  await tabs[0]?.evaluate(() => window.svc.reset());
  await tabs[1]?.evaluate(() => window.svc.track('after'));
  const [after] = await world.taken('after');
  expect(after?.distinct_id).toMatch(UUID_7);
  expect(after?.distinct_id).not.toBe(one?.distinct_id);
  expect(after?.properties['$session_id']).not.toBe(one?.properties['$session_id']);
  await context.close();
});

test('how the visitor before came goes with no event of the next one, in another tab neither', async () => {
  const context = await world.visitor();
  const page = await world.visit(context, '/?utm_campaign=spring&gclid=G1');
  const other = await world.visit(context, '/next');
  const [first] = await world.taken('$pageview', 2);
  expect(world.events('$pageview')[1]?.properties).toMatchObject({ gclid: 'G1' });
  await page.evaluate(() => window.svc.reset());
  await other.evaluate(() => window.svc.track('after'));
  const [after] = await world.taken('after');
  expect(after?.distinct_id).not.toBe(first?.distinct_id);
  expect(Object.keys(after?.properties ?? {}).filter((name) => /^(utm_|gclid)/.test(name))).toEqual([]);
  await context.close();
});

test('a tab that sees what is kept later than the cookies takes it for the next visitor’s neither', async () => {
  const context = await world.visitor();
  const page = await world.visit(context, '/?utm_campaign=spring&gclid=G1');
  const other = await world.visit(context, '/next');
  await world.taken('$pageview', 2);
  await other.evaluate(() => {
    const before = localStorage.getItem('svc_c');
    const { getItem } = Storage.prototype;
    Storage.prototype.getItem = function (name) {
      return name === 'svc_c' ? before : getItem.call(this, name);
    };
  });
  await page.evaluate(() => window.svc.reset());
  await other.evaluate(() => window.svc.track('after'));
  const [after] = await world.taken('after');
  expect(Object.keys(after?.properties ?? {}).filter((name) => /^(utm_|gclid)/.test(name))).toEqual([]);
  await context.close();
});

test('how a visitor came goes with events on later pages', async () => {
  const context = await world.visitor();
  const page = await world.visit(context, '/?utm_campaign=spring&gclid=G1');
  await page.click('a');
  await page.waitForFunction(() => window.svc?.status?.()['mode']);
  await page.evaluate(() => window.svc.track('purchase'));
  const [purchase] = await world.taken('purchase');
  expect(purchase?.properties).toMatchObject({
    $current_url: `${world.shop}/next`,
    $referrer: `${world.shop}/?utm_campaign=spring&gclid=G1`,
    utm_campaign: 'spring',
    gclid: 'G1',
  });
  await context.close();
});

test('where Meta is configured its ids are there from the first event on, in its own form', async () => {
  world.configure({ facebook: { pixel_id: '1', route_pixels: [] } });
  const context = await world.visitor();
  await context.route('https://connect.facebook.net/**', (route) => route.abort());
  await world.visit(context, '/?fbclid=AbC_1');
  const [event] = await world.taken('$pageview');
  const cookies = Object.fromEntries((await context.cookies()).map(({ name, value }) => [name, value]));
  expect(cookies['_fbc']).toMatch(/^fb\.1\.\d{13}\.AbC_1$/);
  expect(cookies['_fbp']).toMatch(/^fb\.1\.\d{13}\.\d{5,10}$/);
  expect(event?.properties).toMatchObject({ _fbc: cookies['_fbc'], _fbp: cookies['_fbp'], fbclid: 'AbC_1' });
  await context.close();
});

test('identify and alias say who the visitor is, and nothing of that stays in the page', async () => {
  const context = await world.visitor();
  const page = await world.visit(context);
  await page.evaluate(() => {
    window.svc.identify('customer-1', { email: 'eva@mail.example' });
    window.svc.identify({ phone: '+4366012345' });
    window.svc.alias('customer-1');
    window.svc.track('after');
  });
  const [after] = await world.taken('after');
  const [withId, withoutId] = world.events('$identify');
  expect(withId).toMatchObject({
    distinct_id: 'customer-1',
    properties: { email: 'eva@mail.example', $anon_distinct_id: after?.distinct_id },
  });
  expect(withoutId).toMatchObject({ distinct_id: after?.distinct_id, properties: { phone: '+4366012345' } });
  expect(world.events('$create_alias')[0]).toMatchObject({
    distinct_id: after?.distinct_id,
    properties: { alias: 'customer-1' },
  });
  expect(after?.distinct_id).toMatch(UUID_7);
  await context.close();
});

test('an event has the uuid that the page states, or tells the page its own', async () => {
  const context = await world.visitor();
  const page = await world.visit(context);
  const told = await page.evaluate(() => [
    window.svc.track('a', {}, { uuid: 'order-1' }),
    window.svc.track('b', { value: 1 }),
  ]);
  await world.taken('b');
  expect(told).toEqual(['order-1', world.events('b')[0]?.uuid]);
  expect(world.events('a')[0]?.uuid).toBe('order-1');
  await context.close();
});

test('what an online site kept goes when it is offline', async () => {
  const context = await world.visitor();
  const first = await world.visit(context);
  await world.settled(first);
  await first.close();
  world.configure({ mode: 'offline' });
  const page = await world.visit(context);
  await world.settled(page);
  expect(await context.cookies()).toEqual([]);
  await page.waitForFunction(async () => (await indexedDB.databases()).length === 0);
  await context.close();
});

test('the counters of a day are sent on the next', async () => {
  const context = await world.visitor();
  const page = await world.visit(context);
  await world.settled(page);
  await page.evaluate(() => localStorage.setItem('svc_h', '{"day":1,"retried":3}'));
  await page.reload();
  const [health] = await world.taken('$tag_health');
  expect(health?.properties).toMatchObject({ retried: 3 });
  expect(await page.evaluate(() => localStorage.getItem('svc_h'))).toBeNull();
  await context.close();
});

test('a sign-out before the configuration came holds for what is tracked after it', async () => {
  world.pages['/'] = { head: `<script>${STUB}</script>` };
  const context = await world.visitor();
  await context.route('**/v1/config*', async (route) => {
    await new Promise((resolve) => setTimeout(resolve, 500));
    await route.continue();
  });
  const page = await context.newPage();
  await page.goto(world.shop);
  await page.waitForFunction(() => window.svc?.status);
  await page.evaluate(() => {
    window.svc.identify('customer-1');
    window.svc.reset();
    window.svc.track('after');
  });
  const [after] = await world.taken('after');
  const [identified] = world.events('$identify');
  expect(identified?.properties['$anon_distinct_id']).toBe(world.events('$pageview')[0]?.distinct_id);
  expect(after?.distinct_id).toMatch(UUID_7);
  expect(after?.distinct_id).not.toBe(identified?.properties['$anon_distinct_id']);
  await context.close();
});

test('a sign-out leaves nothing of the visitor to the next, who has an id at once', async () => {
  world.configure({ facebook: { pixel_id: '1', route_pixels: [] }, tag: { inventory: false } });
  const context = await world.visitor();
  await context.route('https://connect.facebook.net/**', (route) => route.abort());
  const page = await world.visit(context, '/?fbclid=F1');
  const [before] = await world.taken('$pageview');
  await page.evaluate(() => window.svc.reset());
  const cookies = await context.cookies();
  expect(cookies.map(({ name }) => name)).toEqual(['svc_did']);
  expect(cookies[0]?.value).toMatch(UUID_7);
  expect(cookies[0]?.value).not.toBe(before?.distinct_id);
  expect(await page.evaluate(() => localStorage.getItem('svc_c'))).toBeNull();
  await context.close();
});

test('what a module is told before it is started is sent once it is', async () => {
  const script = `import { init, track } from '${world.collector}/svc.mjs';
    track('early');
    init({ key: 'svc_pk_test' });`;
  world.pages['/'] = { tag: `<script type="module">${script}</script>` };
  const context = await world.visitor();
  const page = await context.newPage();
  await page.goto(world.shop);
  await world.taken('early');
  await context.close();
});
