import type { BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { StandinEdge } from '../harness/standin_edge.ts';
import { handedOut, showOn } from './harness/engage_pages.ts';
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

test('what was kept is gone when a visitor takes consent back, but for the refusal', async () => {
  const context = await world.visitor();
  const page = await world.visit(context);
  await act(page);
  await world.settled(page);
  expect((await kept(context, page)).length).toBeGreaterThan(0);
  await page.evaluate(() => window.svc.consent({ analytics: false, ads: false }));
  await page.waitForTimeout(600);
  expect(await kept(context, page)).toEqual([expect.stringContaining('svc_no')]);
  await context.close();
});

/** Every byte that the browser keeps of the shop and that a page of it can read. */
const keptBytes = (page: Page): Promise<string> =>
  page.evaluate(async () => {
    const events = [];
    for (const { name = '' } of await indexedDB.databases()) {
      const opened = await new Promise<IDBDatabase>((resolve) => {
        const opening = indexedDB.open(name);
        opening.onsuccess = () => resolve(opening.result);
      });
      for (const store of opened.objectStoreNames) {
        const all = opened.transaction(store).objectStore(store).getAll();
        await new Promise((resolve) => Object.assign(all, { onsuccess: resolve }));
        events.push(all.result);
      }
      opened.close();
    }
    return JSON.stringify([document.cookie, Object.entries(localStorage), Object.entries(sessionStorage), events]);
  });

/** Fills in a form that the edge does not take for now. */
async function unsentForm(page: Page): Promise<void> {
  await page.getByLabel('E-mail').waitFor();
  world.edge.answer = { kind: 'refuse', status: 503 };
  await page.getByLabel('E-mail').fill('ada@mail.example');
  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByText('as soon as').waitFor();
  expect(await keptBytes(page)).toContain('ada@mail.example');
}
const LEAD = handedOut('form', {
  id: 'quote',
  title: 'A quote',
  fields: [{ name: 'email', type: 'email', label: 'E-mail', required: true, map: 'email' }],
});

test('of a form that was not sent nothing is kept or told any more when the next page says that the visitor refuses', async () => {
  world.configure({ tag: { inventory: false, engage: true } });
  showOn(world, [LEAD]);
  const context = await world.visitor();
  const page = await world.visit(context);
  await unsentForm(page);
  await page.goto('about:blank');
  world.edge.answer = { kind: 'take' };
  world.pages['/'] = { head: '<script>window.svc={q:[["consent",{analytics:false,ads:false}]]}</script>' };
  world.edge.requests.length = 0;
  await page.goto(world.shop);
  await page.waitForFunction(() => window.svc?.status?.()['mode']);
  await page.waitForTimeout(600);
  expect(await kept(context, page)).toEqual(['cookie svc_no']);
  await page.goto(`${world.shop}/next`);
  await page.waitForTimeout(1000);
  expect(await keptBytes(page)).not.toContain('ada@');
  expect(world.edge.requests.filter(({ body }) => body.includes('ada@'))).toEqual([]);
  await context.close();
});

test('after a reset nothing of what the visitor before filled in is kept', async () => {
  world.configure({ tag: { inventory: false, engage: true } });
  showOn(world, [LEAD]);
  const context = await world.visitor();
  const page = await world.visit(context);
  await unsentForm(page);
  await page.evaluate(() => window.svc.reset());
  await page.waitForTimeout(300);
  expect(await keptBytes(page)).not.toContain('ada@');
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
