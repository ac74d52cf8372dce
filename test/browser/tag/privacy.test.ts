import type { BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { StandinEdge } from '../harness/standin_edge.ts';
import { openTagWorld, type TagWorld } from './harness/tag_world.ts';

let world: TagWorld;
beforeAll(async () => {
  world = await openTagWorld();
});
afterAll(() => world.close());
beforeEach(() => world.reset());

/** What the browser keeps of the shop. */
async function kept(context: BrowserContext, page: Page): Promise<string[]> {
  const cookies = (await context.cookies()).map(({ name }) => `cookie ${name}`);
  const stored = await page.evaluate(async () => [
    ...Object.keys(localStorage).map((name) => `localStorage ${name}`),
    ...Object.keys(sessionStorage).map((name) => `sessionStorage ${name}`),
    ...(await indexedDB.databases()).map(({ name }) => `indexedDB ${name}`),
    ...(await caches.keys()).map((name) => `cache ${name}`),
  ]);
  return [...cookies, ...stored];
}

/** All that a visitor does that could tell who they are. */
async function act(page: Page): Promise<void> {
  await page.evaluate(() => {
    window.svc.identify('customer-4711', { email: 'ada@example.com', phone: '+32470123456', first_name: 'Ada' });
    window.svc.alias('customer-4712');
    window.svc.track('purchase', { value: 3, currency: 'EUR', order_id: 'o-1', email: 'ada@example.com' });
  });
  await page.waitForTimeout(600);
}

test('of a visitor who refuses nothing is asked but the configuration, and nothing is kept', async () => {
  world.configure({ tag: { inventory: true, consent: { required: true, queue: true } } });
  const context = await world.visitor();
  const page = await world.visit(context);
  await page.evaluate(() => window.svc.consent({ analytics: false, ads: false }));
  await act(page);
  await page.getByRole('link').click();
  await page.waitForURL('**/next');
  await page.waitForTimeout(600);
  const asked = world.edge.requests.map(({ method, url }) => `${method} ${new URL(url, world.edge.url).pathname}`);
  expect(new Set(asked)).toEqual(new Set(['GET /svc.min.js', 'GET /v1/config']));
  expect(await kept(context, page)).toEqual([]);
  await page.close();
  expect(world.edge.posts()).toEqual([]);
  await context.close();
});

test('what was kept is gone when a visitor takes consent back', async () => {
  const context = await world.visitor();
  const page = await world.visit(context);
  await act(page);
  await world.settled(page);
  expect((await kept(context, page)).length).toBeGreaterThan(0);
  await page.evaluate(() => window.svc.consent({ analytics: false, ads: false }));
  await page.waitForTimeout(600);
  expect(await kept(context, page)).toEqual([]);
  await context.close();
});

/**
 * Every text and number in what was sent, wherever it stands. How long a body is depends on how many events went
 * together, and so on how busy the machine is.
 */
function valuesOf(requests: StandinEdge['requests']): Set<string> {
  const flat = (value: unknown): string[] =>
    value !== null && typeof value === 'object' ? Object.values(value).flatMap(flat) : [String(value)];
  return new Set([
    ...requests.flatMap(({ body }) => (body === '' ? [] : flat(JSON.parse(body)))),
    ...requests.flatMap(({ url, headers }) => [
      url,
      ...Object.entries(headers)
        .filter(([name]) => name !== 'content-length')
        .map((header) => header.join(': ')),
    ]),
  ]);
}

/** By what a page may tell of a person, each with a value that nothing else has. */
const NAMES = [
  ...['email', 'customer_email', 'billingEmail', 'phone', 'phone_number', 'mobilePhone', 'tel'],
  ...['first_name', 'firstName', 'lastName', 'full_name', 'username', 'name', 'login', 'birth_date'],
  ...[
    'external_id',
    'user_id',
    'customer_id',
    'customerId',
    'client_id',
    'anonymous_id',
    'account_id',
    'loyalty_card_id',
  ],
  ...['$device_id', '$session_id', 'session_id', 'distinct_id', '$anon_distinct_id', 'visitorId', 'uid'],
  ...['ip', 'client_ip_address', 'city', 'zip', 'postal_code', 'street', 'shipping_address'],
  ...['fbclid', 'gclid', 'ttclid', 'msclkid', 'wbraid', '_fbp', '_fbc', '_ga', 'token', 'cookie'],
];
/** Texts that tell who somebody is, wherever they stand. */
const TEXTS = [
  'ada@mail.example',
  '+32 470 12 34 56',
  '0190f7a2-6c1e-7d4b-9a3c-1f2e3d4c5b6a',
  'eyJhbGciOiJIUzI1NiIsInR5cCI6',
];
const CANARIES = [...NAMES.map((_, at) => `canary-${at}-`), 'ada@', '470 12', '6c1e-7d4b', 'hbGciOi', 'Lovelace'];

/** A visit on which the page puts all of that into what it tells, at every depth. */
async function offlineVisit(context: BrowserContext): Promise<Set<string>> {
  world.edge.requests.length = 0;
  const term = encodeURIComponent(TEXTS[0] ?? '');
  const query = `fbclid=canary-36-&gclid=canary-37-&utm_source=mail&utm_term=${term}&email=canary-0-`;
  world.pages['/u/ada@mail.example'] = { title: `Hello ${TEXTS[0]}` };
  const page = await world.visit(context, `/u/ada@mail.example?${query}#canary-1-`);
  await act(page);
  await page.evaluate(
    ([names, texts]) => {
      const personal = Object.fromEntries(names.map((name, at) => [name, `canary-${at}-`]));
      const free = Object.fromEntries(texts.map((text, at) => [`note${'abcd'[at]}`, `x ${text} x`]));
      window.svc.identify('Lovelace', personal);
      window.svc.track('told', { ...personal, ...free, plan: 'pro', step: 2 });
      window.svc.track('told_deep', { a: [{ b: { ...personal, ...free, plan: 'pro' } }], texts, user: personal });
      window.svc.track(`told ${texts[0]}`, Object.fromEntries(texts.map((text) => [text, 1])));
      window.svc.page(personal);
    },
    [NAMES, TEXTS] as const,
  );
  await world.settled(page);
  await page.waitForTimeout(600);
  expect(await kept(context, page)).toEqual([]);
  await page.close();
  return valuesOf(world.edge.requests);
}

test('on an offline site there is no cookie, no storage and no identifier in any byte sent', async () => {
  world.configure({ mode: 'offline', tag: { inventory: true } });
  const [visitor, other] = [await world.visitor(), await world.visitor()];
  const first = await offlineVisit(visitor);
  const bytes = JSON.stringify([...first, ...world.edge.requests.map(({ url, body }) => url + body)]);
  expect(CANARIES.length).toBeGreaterThanOrEqual(40);
  for (const personal of [...CANARIES, '4711', '4712', '32470123456', 'distinct_id', 'cookie'])
    expect(bytes, personal).not.toContain(personal);
  const [purchase] = world.events('purchase');
  expect(purchase).not.toHaveProperty('distinct_id');
  expect(purchase?.properties).toEqual({
    $current_url: `${world.shop}/u/***`,
    $title: 'Hello ***',
    ...{ utm_source: 'mail', utm_term: '***' },
    ...{ value: 3, currency: 'EUR', order_id: 'o-1' },
  });
  expect(world.events('told')[0]?.properties).toMatchObject({ plan: 'pro', step: 2 });
  expect(world.events('told_deep')[0]?.properties).toMatchObject({ a: [{ b: { plan: 'pro' } }], texts: [] });
  expect(world.events('told ***')).toHaveLength(1);
  const again = await offlineVisit(visitor);
  const others = await offlineVisit(other);
  // What comes with both visits of one person and with nobody else's would tell that person from others.
  expect([...first].filter((value) => again.has(value) && !others.has(value))).toEqual([]);
  await Promise.all([visitor.close(), other.close()]);
});
