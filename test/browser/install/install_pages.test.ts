import type { Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { templateSections } from '#test/docs/gtm_template.ts';
import { blocks } from '#test/docs/install_page.ts';
import { openTagWorld, type TagWorld } from '../tag/harness/tag_world.ts';

let world: TagWorld;
beforeAll(async () => {
  world = await openTagWorld();
});
afterAll(() => world.close());
beforeEach(() => world.reset());

/** The block as a site owner pastes it, with their own address. */
const pasted = (block: string | undefined): string =>
  (block ?? '')
    .replaceAll('https://edge.example', world.collector)
    .replaceAll('{{Order value}}', '59.9')
    .replaceAll('{{Order id}}', '"3001"');

/** Opens a page of the shop with this in its head, and nothing else of the tag. */
async function opened(head: string, body = ''): Promise<Page> {
  world.pages['/'] = { tag: head, body };
  const page = await (await world.visitor()).newPage();
  await page.goto(`${world.shop}/`);
  return page;
}

const paths = (): string[] =>
  world.events('$pageview').map(({ properties }) => new URL(String(properties['$current_url'])).pathname);

test('plain-site.md: the page and the purchase arrive, and status says that all is sent', async () => {
  const [, head, purchase] = blocks('plain-site.md', 'html');
  const page = await opened(pasted(head), pasted(purchase));
  const [event] = await world.taken('purchase');
  expect(event).toMatchObject({ uuid: 'order-3001', properties: { value: 59.9, currency: 'EUR', order_id: '3001' } });
  await world.settled(page);
  expect(paths()).toEqual(['/']);
  expect(await page.evaluate(() => window.svc.status())).toMatchObject({ mode: 'online', gate: 'open', waiting: 0 });
  await page.context().close();
});

test('plain-site.md: with consent required nothing is sent before the visitor agrees', async () => {
  const [, , , head] = blocks('plain-site.md', 'html');
  const page = await opened(pasted(head));
  await page.waitForFunction(() => window.svc?.status()['mode']);
  expect(await page.evaluate(() => window.svc.status())).toMatchObject({ gate: 'shut', mode: 'online' });
  await page.evaluate(pasted(blocks('plain-site.md', 'js').find((block) => block.includes('consent'))));
  expect(await page.evaluate(() => window.svc.status()['gate'])).toBe('open');
  await page.context().close();
});

test('plain-site.md: the policy without nonces lets the stub and the tag work', async () => {
  const { 1: head } = blocks('plain-site.md', 'html');
  const policy = pasted(blocks('plain-site.md', 'text').find((block) => block.includes('sha256')));
  world.pages['/'] = { tag: pasted(head), headers: { 'content-security-policy': policy.trim() } };
  const page = await (await world.visitor()).newPage();
  const complaints: string[] = [];
  page.on('console', (message) => void complaints.push(message.text()));
  await page.goto(`${world.shop}/`);
  await world.taken('$pageview');
  expect(complaints.filter((text) => text.includes('Content Security Policy'))).toEqual([]);
  await page.context().close();
});

test('single-page-apps.md: each path of the application is one page', async () => {
  const [head] = blocks('single-page-apps.md', 'html');
  const page = await opened(pasted(head));
  await page.waitForFunction(() => window.svc?.status?.()['mode']);
  await page.evaluate(() => {
    history.pushState({}, '', '/a');
    history.pushState({}, '', '/a?page=2');
    history.pushState({}, '', '/b');
  });
  await world.taken('$pageview', 3);
  expect(paths()).toEqual(['/', '/a', '/b']);
  await page.context().close();
});

test('single-page-apps.md: functions and the object of the stub go on working when the tag is there', async () => {
  const [head] = blocks('single-page-apps.md', 'html');
  const page = await opened(`${pasted(head)}<script>const { track } = svc; const kept = svc;</script>`);
  await page.waitForFunction(() => window.svc?.status?.()['mode']);
  await page.evaluate('track("by function"); kept.track("by object")');
  await world.taken('by function');
  expect(await world.taken('by object')).toHaveLength(1);
  await page.context().close();
});

test('gtm.md: a Custom HTML tag without attributes loads the tag, and the queue hands events on', async () => {
  const [head, event] = blocks('gtm.md', 'html');
  const page = await opened(pasted(event) + pasted(head));
  await world.taken('purchase');
  await page.evaluate(() => (window.svc as unknown as { q: unknown[] }).q.push(['track', 'later', {}]));
  await world.taken('later');
  expect(world.events('purchase')).toMatchObject([{ uuid: 'order-3001', properties: { value: 59.9 } }]);
  expect(world.edge.posts()[0]?.url).toBe('/v1/ingest?key=svc_pk_YOUR_KEY');
  await page.context().close();
});

type Given = Record<string, unknown>;

/** Of Tag Manager's sandbox what the template asks for, with the page's own window. It goes into the page as text. */
function inTagManager(
  data: Given,
  state: Record<string, boolean>,
  run: (require: (name: string) => unknown, data: Given) => void,
): Promise<string> {
  const page = window as unknown as Record<string, { q: unknown[] } | undefined>;
  const apis: Given = {
    addConsentListener: () => undefined,
    copyFromWindow: (key: string) => (key === 'svc' ? page['svc'] : page['svc']?.q),
    createQueue: () => (one: unknown) => page['svc']?.q.push(one),
    encodeUriComponent: encodeURIComponent,
    isConsentGranted: (type: string) => state[type],
    makeNumber: Number,
    makeTableMap: (rows: { name: string; value: string }[]) =>
      Object.fromEntries(rows.map(({ name, value }) => [name, value])),
    setInWindow: (key: string, value: { q: unknown[] }) => (page[key] = value),
    injectScript: (src: string, onload: () => void, onerror: () => void) =>
      document.head.append(Object.assign(document.createElement('script'), { src, onload, onerror })),
  };
  return new Promise((resolve) => {
    const callbacks = { gtmOnSuccess: () => resolve('success'), gtmOnFailure: () => resolve('failure') };
    run((name) => apis[name], { ...data, ...callbacks });
  });
}

/** Runs the template in the page as the container does, whose consent mode is in the given state. */
function runTemplate(page: Page, data: Given, state: Record<string, boolean> = {}): Promise<unknown> {
  const code = templateSections()['SANDBOXED_JS_FOR_WEB_TEMPLATE'] ?? '';
  const given = [data, state].map((one) => JSON.stringify(one)).join();
  return page.evaluate(`(${inTagManager.toString()})(${given}, (require, data) => {${code}})`);
}

test('gtm/template.tpl: loads the tag, whose events wait for it and go under the given id', async () => {
  const page = await opened('');
  const properties = [{ name: 'value', value: '59.9' }];
  await runTemplate(page, { action: 'event', event: 'purchase', uuid: 'order-3001', properties });
  const load = { action: 'load', edge: world.collector, key: 'svc_pk_test', consent: 'site' };
  expect(await runTemplate(page, load)).toBe('success');
  expect(await world.taken('purchase')).toMatchObject([{ uuid: 'order-3001', properties: { value: 59.9 } }]);
  await page.context().close();
});

test("gtm/template.tpl: what the container's consent mode refuses is not measured", async () => {
  const page = await opened('');
  const load = { action: 'load', edge: world.collector, key: 'svc_pk_test', consent: 'container' };
  await runTemplate(page, load, { analytics_storage: false, ad_storage: true, ad_user_data: true });
  await page.waitForFunction(() => window.svc.status()['mode']);
  expect(await page.evaluate(() => window.svc.status()['gate'])).toBe('shut');
  expect(world.edge.posts()).toEqual([]);
  await page.context().close();
});

/** What Shopify gives to a custom pixel, and a checkout that is completed. */
const SHOPIFY = `
const init = { customerPrivacy: { analyticsProcessingAllowed: true, marketingAllowed: false } };
const api = { customerPrivacy: { subscribe() {} } };
const browser = { cookie: { get: async (name) => name === 'svc_did' ? 'visitor-1' : '' } };
const listeners = {};
const analytics = { subscribe: (name, listener) => { listeners[name] = listener; } };
`;
const COMPLETED = `
listeners.checkout_completed({
  id: 'sh-1', timestamp: '2026-11-24T08:00:00.000Z',
  context: { document: { location: { href: 'https://www.shop.example/checkouts/1/thank-you' }, title: 'Thanks', referrer: '' } },
  data: { checkout: { order: { id: 'gid://shopify/Order/5001' }, totalPrice: { amount: 59.9, currencyCode: 'EUR' }, email: 'eva@mail.example', phone: null } },
});
`;

test('shopify.md: the custom pixel reports the order from a frame without an origin, as the visitor of the shop', async () => {
  const pixel = pasted(blocks('shopify.md', 'js').find((block) => block.includes('analytics.subscribe')));
  const frame = `<script>${SHOPIFY}${pixel}${COMPLETED}</script>`.replaceAll('&', '&amp;').replaceAll('"', '&quot;');
  const page = await opened('', `<iframe sandbox="allow-scripts allow-forms" srcdoc="${frame}"></iframe>`);
  expect(await world.taken('purchase')).toMatchObject([
    {
      uuid: 'order-5001',
      distinct_id: 'visitor-1',
      properties: { value: 59.9, order_id: '5001', $consent: { analytics: true, ads: false } },
    },
  ]);
  expect(world.edge.posts()[0]?.headers['origin']).toBe('null');
  await page.context().close();
});
