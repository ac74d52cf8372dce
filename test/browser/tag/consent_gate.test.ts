import type { BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { openTagWorld, STUB, type TagWorld } from './harness/tag_world.ts';

let world: TagWorld;
beforeAll(async () => {
  world = await openTagWorld();
});
afterAll(() => world.close());
beforeEach(() => world.reset());

const REFUSED = { error: { code: 'origin_not_allowed', message: 'as the edge says it' } };

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const paths = (): string[] => world.edge.requests.map(({ url }) => url.split('?')[0] ?? '');
const gateOf = (page: Page): Promise<unknown> => page.evaluate(() => window.svc.status()['gate']);

function require(queue: boolean): void {
  world.configure({ tag: { inventory: false, consent: { required: true, queue } } });
}

async function keepsNothing(context: BrowserContext, page: Page, refused?: string): Promise<void> {
  const kept = (await context.cookies()).map(({ name, value }) => `${name}=${value}`);
  expect(kept).toEqual(refused === undefined ? [] : [`svc_no=${refused}`]);
  expect(await page.evaluate(async () => [localStorage.length, (await indexedDB.databases()).length])).toEqual([0, 0]);
}

test('without consent the configuration is the only request, and nothing is kept', async () => {
  require(false);
  const context = await world.visitor();
  const page = await world.visit(context, '/?gclid=G1');
  await page.evaluate(() => window.svc.track('purchase'));
  await sleep(1000);
  await keepsNothing(context, page);
  await page.close();
  await sleep(500);
  expect(paths()).toEqual(['/svc.min.js', '/v1/config']);
  await context.close();
});

test('once it is given what happens counts, and nothing of before', async () => {
  require(false);
  const context = await world.visitor();
  const page = await world.visit(context);
  await page.evaluate(() => {
    window.svc.track('before');
    window.svc.consent({ analytics: true, ads: false });
    window.svc.track('after');
  });
  const [after] = await world.taken('after');
  expect(after?.properties['$consent']).toEqual({ ads: false, analytics: true });
  expect(world.events().map(({ event }) => event)).toEqual(['after']);
  await context.close();
});

test('a site that lets events wait for consent gets them with their own times', async () => {
  require(true);
  const context = await world.visitor();
  const page = await world.visit(context);
  await page.evaluate(() => window.svc.track('before'));
  await sleep(1000);
  await keepsNothing(context, page);
  await page.evaluate(() => window.svc.consent({ analytics: true }));
  await world.taken('before');
  const [before] = world.events('before');
  expect(Date.now() - Date.parse(before?.timestamp ?? '')).toBeGreaterThan(900);
  expect(world.events('$pageview')).toHaveLength(1);
  await context.close();
});

test('events that wait are gone when consent is refused', async () => {
  require(true);
  const context = await world.visitor();
  const page = await world.visit(context);
  await page.evaluate(() => {
    window.svc.consent({ analytics: false });
    window.svc.consent({ analytics: true });
    window.svc.track('after');
  });
  await world.taken('after');
  expect(world.events().map(({ event }) => event)).toEqual(['after']);
  await context.close();
});

test('consent that is taken back removes what was kept, on the next pages too, until it is given again', async () => {
  const context = await world.visitor();
  const page = await world.visit(context, '/?gclid=G1');
  await world.settled(page);
  await page.evaluate(() => window.svc.consent({ analytics: false }));
  await page.waitForFunction(async () => (await indexedDB.databases()).length === 0);
  await keepsNothing(context, page, 'analytics');
  const next = await world.visit(context, '/next?gclid=G2');
  await next.evaluate(() => window.svc.track('purchase'));
  await sleep(500);
  expect(world.events('purchase')).toEqual([]);
  expect(world.events('$pageview')).toHaveLength(1);
  await keepsNothing(context, next, 'analytics');
  await next.evaluate(() => window.svc.consent({ analytics: true }));
  expect((await context.cookies()).map(({ name }) => name)).not.toContain('svc_no');
  await world.visit(context);
  await world.taken('$pageview', 2);
  await context.close();
});

test('a refusal on one host of a shop holds on its others, and one where consent is required is not kept', async () => {
  const context = await world.visitor();
  const page = await world.visit(context);
  await page.evaluate(() => window.svc.consent({ analytics: false, ads: false }));
  const [kept] = await context.cookies();
  expect(kept).toMatchObject({ name: 'svc_no', value: 'ads.analytics', domain: '.shop.example' });
  require(false);
  const other = await world.visit(context);
  await other.evaluate(() => window.svc.consent({ analytics: false }));
  await keepsNothing(context, other);
  await context.close();
});

test('ads that were refused are on the next page too', async () => {
  const context = await world.visitor();
  const page = await world.visit(context);
  await page.evaluate(() => window.svc.consent({ ads: false }));
  await world.settled(page);
  const next = await world.visit(context, '/next?gclid=G1');
  await next.evaluate(() => window.svc.track('b'));
  const [event] = await world.taken('b');
  expect(event?.properties['$consent']).toEqual({ ads: false, analytics: true });
  expect(event?.properties).not.toHaveProperty('gclid');
  await context.close();
});

/** A visitor who agreed to be measured, and was, on a visit that is over. */
async function agreedBefore(): Promise<BrowserContext> {
  const context = await world.visitor();
  const first = await world.visit(context);
  await first.evaluate(() => window.svc.consent({ analytics: true }));
  await first.evaluate(() => window.svc.track('a'));
  await world.taken('a');
  await first.close();
  return context;
}

test('a visitor who agreed on an earlier visit is measured from the first event of the next', async () => {
  require(false);
  const context = await agreedBefore();
  await world.visit(context, '/next');
  const [seen] = await world.taken('$pageview');
  expect(seen?.properties['$current_url']).toBe(`${world.shop}/next`);
  await context.close();
});

const GTAG = 'window.dataLayer = []; function gtag() { dataLayer.push(arguments); }';

test("Google's consent mode is read, before the tag and after", async () => {
  world.pages['/'] = {
    head: `<script>${GTAG} gtag('consent', 'default', { analytics_storage: 'denied', ad_storage: 'denied' });</script>`,
  };
  const context = await world.visitor();
  const page = await world.visit(context);
  expect(await gateOf(page)).toBe('shut');
  await page.evaluate(() => {
    (window as unknown as { gtag(...words: unknown[]): void }).gtag('consent', 'update', {
      analytics_storage: 'granted',
    });
  });
  expect(await gateOf(page)).toBe('open');
  await page.evaluate(() => window.svc.track('after'));
  const [after] = await world.taken('after');
  expect(after?.properties['$consent']).toEqual({ ads: false, analytics: true });
  await context.close();
});

test('what Google is told to refuse in some regions is refused until the visitor chooses', async () => {
  const commands = [
    "gtag('consent', 'default', { analytics_storage: 'granted' })",
    "gtag('consent', 'default', { analytics_storage: 'denied', region: ['AT'] })",
  ];
  world.pages['/'] = { head: `<script>${GTAG} ${commands.join(';')}</script>` };
  const context = await world.visitor();
  const page = await world.visit(context);
  expect(await gateOf(page)).toBe('shut');
  await context.close();
});

test("the IAB's TCF is read as it changes", async () => {
  const banner = `window.__tcfapi = (command, version, answer) => { window.tell = (consents) =>
    answer({ gdprApplies: true, eventStatus: 'x', purpose: { consents } }, true); tell({}); };`;
  world.pages['/'] = { head: `<script>${banner}</script>` };
  const context = await world.visitor();
  const page = await world.visit(context);
  const tell = (consents: object): Promise<unknown> =>
    page.evaluate((given) => (window as unknown as { tell(given: object): void }).tell(given), consents);
  expect(await gateOf(page)).toBe('shut');
  await tell({ 1: true, 8: true });
  expect(await page.evaluate(() => window.svc.status())).toMatchObject({ gate: 'open', ads: false });
  await tell({ 1: true, 4: true, 7: true, 8: true });
  expect(await page.evaluate(() => window.svc.status())).toMatchObject({ gate: 'open', ads: true });
  await context.close();
});

test('with Global Privacy Control events say so, and no ad platform is loaded', async () => {
  world.configure({ facebook: { pixel_id: '1', route_pixels: [] } });
  const context = await world.visitor();
  await context.addInitScript("Object.defineProperty(navigator, 'globalPrivacyControl', { value: true })");
  const asked: string[] = [];
  context.on('request', (request) => asked.push(new URL(request.url()).hostname));
  await world.visit(context, '/?fbclid=F1');
  const [event] = await world.taken('$pageview');
  await sleep(500);
  expect(event?.properties).toMatchObject({ $gpc: true });
  expect(event?.properties).not.toHaveProperty('fbclid');
  expect(new Set(asked)).toEqual(new Set(['www.shop.example', 'edge.example']));
  await context.close();
});

test('with Do Not Track nothing is measured, unless the site switched that off', async () => {
  const context = await world.visitor();
  await context.addInitScript("Object.defineProperty(navigator, 'doNotTrack', { value: '1' })");
  const page = await world.visit(context);
  await sleep(500);
  expect(world.events()).toEqual([]);
  await keepsNothing(context, page);
  world.configure({ tag: { inventory: false, respect_dnt: false } });
  await world.visit(context);
  await world.taken('$pageview');
  await context.close();
});

test('a page that requires consent by its snippet is silent also when it is left before the configuration came', async () => {
  world.pages['/'] = { attributes: 'data-consent="required"' };
  delete world.edge.files['/v1/config'];
  const context = await world.visitor();
  await context.route('**/v1/config*', () => undefined);
  const page = await context.newPage();
  await page.goto(world.shop);
  await page.waitForFunction(() => window.svc?.status);
  await page.evaluate(() => window.svc.track('purchase'));
  await page.close();
  await sleep(1000);
  expect(paths().filter((path) => path !== '/v1/config')).toEqual(['/svc.min.js']);
  await context.close();
});

test("Google's list may lose its oldest entries, and hold anything, without a word of consent being missed", async () => {
  world.pages['/'] = { head: `<script>${GTAG} for (let at = 0; at < 300; at += 1) dataLayer.push({ at });</script>` };
  const context = await world.visitor();
  const page = await world.visit(context);
  await world.settled(page);
  await page.evaluate(() => {
    const { dataLayer, gtag } = window as unknown as { dataLayer: unknown[]; gtag(...words: unknown[]): void };
    dataLayer.push(undefined, null, ['consent', 'default']);
    gtag('consent', 'update', { analytics_storage: 'denied' });
    dataLayer.splice(0, 4);
  });
  expect(await gateOf(page)).toBe('shut');
  await page.evaluate(() => {
    const { dataLayer, gtag } = window as unknown as { dataLayer: unknown[]; gtag(...words: unknown[]): void };
    dataLayer.splice(0, 100);
    gtag('consent', 'update', { analytics_storage: 'granted' });
    window.svc.track('after');
  });
  await world.taken('after');
  await context.close();
});

test("an edge that refuses the page's origin leaves the visitor of the site's other pages as they are", async () => {
  const context = await world.visitor();
  const known = await world.visit(context);
  await world.settled(known);
  const before = await context.cookies();
  await known.close();
  await context.route('**/v1/config*', (route) =>
    route.fulfill({ status: 403, headers: { 'access-control-allow-origin': '*' }, json: REFUSED }),
  );
  const page = await context.newPage();
  await page.goto(world.shop);
  await page.waitForFunction(() => window.svc?.status?.()['gate'] === 'shut');
  await page.evaluate(() => window.svc.track('purchase'));
  expect(await context.cookies()).toEqual(before);
  expect(await page.evaluate(async () => (await indexedDB.databases()).length)).toBe(1);
  await page.evaluate(() => window.svc.consent({ analytics: false }));
  expect((await context.cookies()).map(({ name }) => name)).toEqual(['svc_no']);
  await context.close();
});

test('a sign-out on a page that the edge refuses holds for the others', async () => {
  const context = await world.visitor();
  await world.settled(await world.visit(context));
  await context.route('**/v1/config*', (route) =>
    route.fulfill({ status: 403, headers: { 'access-control-allow-origin': '*' }, json: REFUSED }),
  );
  world.pages['/'] = { head: `<script>${STUB} svc.identify('customer-1'); svc.reset();</script>` };
  const page = await context.newPage();
  await page.goto(world.shop);
  await page.waitForFunction(() => window.svc?.status?.()['gate'] === 'shut');
  await page.waitForFunction(() => !document.cookie.includes('svc_did'));
  await context.close();
});

test('as long as the configuration has not come nothing is said to allow ads, unless the visitor does', async () => {
  const context = await world.visitor();
  const known = await world.visit(context);
  await world.settled(known);
  await known.close();
  await context.route('**/v1/config*', () => undefined);
  const page = await context.newPage();
  await page.goto(`${world.shop}/?gclid=G1`);
  await page.waitForFunction(() => window.svc?.status);
  await page.evaluate(() => window.svc.track('late'));
  const [late] = await world.taken('late');
  expect(late?.properties).toMatchObject({ $consent: { ads: false, analytics: true } });
  expect(late?.properties).not.toHaveProperty('gclid');
  await page.evaluate(() => window.svc.consent({ ads: true }));
  await page.evaluate(() => window.svc.track('agreed'));
  const [agreed] = await world.taken('agreed');
  expect(agreed?.properties).toMatchObject({ $consent: { ads: true, analytics: true }, gclid: 'G1' });
  await context.close();
});

const REFUSALS: [by: string, refuse: () => void, kept?: string][] = [
  ['the page', () => window.svc.consent({ analytics: false, ads: false }), 'ads.analytics'],
  [
    "Google's consent mode",
    () => {
      const { gtag } = window as unknown as { gtag(...words: unknown[]): void };
      gtag('consent', 'update', { analytics_storage: 'denied' });
    },
  ],
];

test.for(REFUSALS)(
  'a refusal by %s in one tab holds in the others, which keep nothing again',
  async ([, refuse, kept]) => {
    world.pages['/'] = {
      head: `<script>${GTAG} gtag('consent', 'update', { analytics_storage: 'granted' });</script>`,
    };
    const context = await world.visitor();
    const [one, other] = [await world.visit(context), await world.visit(context)];
    await world.taken('$pageview', 2);
    await Promise.all([world.settled(one), world.settled(other)]);
    await one.evaluate(refuse);
    await other.waitForFunction(() => window.svc.status()['gate'] === 'shut');
    await other.evaluate(() => window.svc.track('purchase'));
    await other.waitForFunction(async () => (await indexedDB.databases()).length === 0);
    await sleep(500);
    expect(world.events('purchase')).toEqual([]);
    await keepsNothing(context, other, kept);
    await context.close();
  },
);

test('who is known to have agreed by the id only, and has it no more, is not measured', async () => {
  require(false);
  const context = await agreedBefore();
  const page = await world.visit(context, '/next');
  await world.taken('$pageview');
  // As on a page of another domain of the shop.
  await context.clearCookies();
  await page.evaluate(() => window.svc.track('purchase'));
  await sleep(500);
  expect(world.events('purchase')).toEqual([]);
  expect(await context.cookies()).toEqual([]);
  await context.close();
});

test('what a page tells Google by default removes nothing before the visitor chooses', async () => {
  const context = await world.visitor();
  const known = await world.visit(context);
  await world.settled(known);
  await known.close();
  world.pages['/'] = { head: `<script>${GTAG} gtag('consent', 'default', { analytics_storage: 'denied' });</script>` };
  const page = await world.visit(context);
  expect(await gateOf(page)).toBe('shut');
  await page.evaluate(() => {
    const { gtag } = window as unknown as { gtag(...words: unknown[]): void };
    gtag('consent', 'update', { analytics_storage: 'granted' });
    window.svc.track('after');
  });
  const [after] = await world.taken('after');
  expect(after?.distinct_id).toBe(world.events('$pageview')[0]?.distinct_id);
  await context.close();
});

test('where ads are refused what ad platforms know the visitor by is removed, and the campaign stays', async () => {
  world.configure({ facebook: { pixel_id: '1', route_pixels: [] } });
  const context = await world.visitor();
  await context.route('https://connect.facebook.net/**', (route) => route.abort());
  const page = await world.visit(context, '/?fbclid=F1&gclid=G1&utm_campaign=spring');
  await world.taken('$pageview');
  const names = async (): Promise<string[]> => (await context.cookies()).map(({ name }) => name).sort();
  expect(await names()).toEqual(['_fbc', '_fbp', 'svc_did', 'svc_sid']);
  await page.evaluate(() => window.svc.consent({ analytics: true, ads: false }));
  expect(await names()).toEqual(['svc_did', 'svc_no', 'svc_sid']);
  const kept = await page.evaluate(() => localStorage.getItem('svc_c') ?? '');
  expect([kept.includes('spring'), kept.includes('G1'), kept.includes('F1')]).toEqual([true, false, false]);
  await page.click('a');
  await page.waitForFunction(() => window.svc?.status?.()['mode']);
  const [, next] = await world.taken('$pageview', 2);
  expect(next?.properties).toMatchObject({ utm_campaign: 'spring' });
  expect(next?.properties).not.toHaveProperty('gclid');
  await context.close();
});
