import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { RateLimiter } from '#services/edge/admission.ts';
import { startEdge, type TestEdge } from './edge.ts';
import { post } from './foreign.ts';

let edge: TestEdge;
beforeAll(async () => {
  edge = await startEdge();
});
beforeEach(() => {
  edge.inventories.length = 0;
});
afterAll(async () => {
  await edge.close();
  expect(edge.unknown).toEqual([]);
});

const ELEMENT = { type: 'button', selector: '#buy', text: 'Buy' };
let pages = 0;

function inventory(fields: object = {}): object {
  pages += 1;
  return { page: `/p${pages}`, url: 'https://shop.example/', title: 'Shop', elements: [ELEMENT], ...fields };
}

const send = (body: unknown, key = edge.browserKey) =>
  post(edge, '/v1/inventory', JSON.stringify(body), { 'content-type': 'application/json', 'x-svc-key': key });

test('the same page is stored once a key until it changes, and again when it changes back', async () => {
  const first = inventory();
  const reordered = Object.fromEntries(Object.entries(first).reverse());
  const changed = { ...first, elements: [ELEMENT, { ...ELEMENT, text: 'More' }] };
  const accepted: unknown[] = [];
  for (const body of [first, reordered, changed, first]) accepted.push((await send(body)).body);
  expect(accepted).toEqual([{ accepted: 1 }, { accepted: 0 }, { accepted: 2 }, { accepted: 1 }]);
  expect((await send(first, edge.serverKey)).body).toEqual({ accepted: 1 });
});

test('what was not acknowledged is taken when it comes again', async () => {
  const body = inventory();
  edge.answers.push(Promise.resolve({ ok: false, code: 'not_acknowledged' }));
  const refused = await send(body);
  expect(refused).toMatchObject({ status: 503, body: { error: { code: 'not_acknowledged' } } });
  expect(refused.headers.get('retry-after')).toMatch(/^\d+$/);
  expect(await send(body)).toMatchObject({ status: 200, body: { accepted: 1 } });
});

test('personal data goes from every text', async () => {
  const mail = 'zyx.jane@example.com';
  const elements = [
    {
      type: mail,
      selector: `a[href="mailto:${mail}"]`,
      text: `${'x'.repeat(490)} ${mail}`,
      href: `mailto:${mail}?subject=+16505550144`,
      event_hint: mail,
    },
  ];
  await send(inventory({ page: `/${mail}`, url: `https://shop.example/?email=${mail}`, title: mail, elements }));
  expect(edge.inventories).toHaveLength(1);
  expect(JSON.stringify(edge.inventories)).not.toMatch(/zyx|@example|650555/);
  expect(edge.inventories[0]?.elements[0]?.text.length).toBeLessThanOrEqual(500);
});

test.each([
  { name: 'no object', body: [], code: 'inventory_not_object' },
  { name: 'no page', body: inventory({ page: '' }), code: 'page_invalid' },
  { name: 'a page beyond 2048 characters', body: inventory({ page: 'x'.repeat(2049) }), code: 'page_invalid' },
  { name: 'no url', body: inventory({ url: null }), code: 'url_invalid' },
  { name: 'a title that is no text', body: inventory({ title: 7 }), code: 'title_invalid' },
  { name: 'no elements', body: inventory({ elements: {} }), code: 'elements_invalid' },
])('$name: 400 $code', async ({ body, code }) => {
  expect(await send(body)).toMatchObject({ status: 400, body: { error: { code } } });
});

test.each([
  { name: 'null', element: null },
  { name: 'without a type', element: { ...ELEMENT, type: undefined } },
  { name: 'without a selector', element: { ...ELEMENT, selector: '' } },
  { name: 'whose text is none', element: { ...ELEMENT, text: {} } },
  { name: 'whose href is none', element: { ...ELEMENT, href: 1 } },
])('an element $name: 400 with its place', async ({ element }) => {
  expect(await send(inventory({ elements: [ELEMENT, element] }))).toMatchObject({
    status: 400,
    body: { error: { code: 'element_invalid', index: 1 } },
  });
});

test('an unknown member is left out, and optional ones may be null', async () => {
  const element = { ...ELEMENT, href: null, event_hint: 'x', other: 'y' };
  expect(await send(inventory({ elements: [element] }))).toMatchObject({ status: 200 });
  expect(edge.inventories[0]?.elements).toEqual([{ ...ELEMENT, href: null, event_hint: 'x' }]);
});

test('a key that has sent all the pages it may is told when it may send others', async () => {
  const full = await startEdge({ inventoryPagesMax: 1 });
  const sendTo = (body: unknown) =>
    post(full, '/v1/inventory', JSON.stringify(body), {
      'content-type': 'application/json',
      'x-svc-key': full.browserKey,
    });
  const first = inventory();
  expect(await sendTo(first)).toMatchObject({ status: 200 });
  const refused = await sendTo(inventory());
  expect(refused).toMatchObject({ status: 429, body: { error: { code: 'rate_limited' } } });
  expect(Number(refused.headers.get('retry-after'))).toBeLessThanOrEqual(86_400);
  expect(await sendTo(first)).toMatchObject({ status: 200, body: { accepted: 0 } });
  expect(full.inventories).toHaveLength(1);
  await full.close();
});

test.each([
  ['/v1/inventory', (key: string) => [JSON.stringify(inventory()), { 'x-svc-key': key }] as const],
  ['/v1/inventory', (key: string) => ['not JSON', { 'x-svc-key': key }] as const],
  ['/flags/', (key: string) => [JSON.stringify({ token: key }), {}] as const],
  ['/decide/', (key: string) => [JSON.stringify({ token: key }), {}] as const],
])('requests to %s count against the rate', async (path, made) => {
  let left = 2;
  const rate = { limit: 2, remaining: 0, resetMs: 7_000 };
  const rateLimiter: RateLimiter = {
    limited: () => null,
    async admit({ account: { account_id } }, _arrivedMs, wanted) {
      expect(wanted).toBe(0);
      if (left-- <= 0) return { ok: false, kind: 'key', waitMs: 7_000, rate };
      return { ok: true, rate: null, reservation: { accountId: account_id, month: '2026-01', granted: 0, lease: '' } };
    },
    release: () => undefined,
    markUncertain: () => undefined,
    charge: async () => undefined,
    isShared: () => false,
    stop: () => undefined,
  };
  const limited = await startEdge({ rateLimiter });
  const statuses: number[] = [];
  for (let request = 0; request < 3; request += 1) {
    const [body, headers] = made(limited.browserKey);
    const answer = await post(limited, path, body, { 'content-type': 'application/json', ...headers });
    statuses.push(answer.status);
    if (answer.status === 429) expect(answer.headers.get('retry-after')).toBe('7');
  }
  expect(statuses[2]).toBe(429);
  expect(statuses.slice(0, 2)).not.toContain(429);
  await limited.close();
});
