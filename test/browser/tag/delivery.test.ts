import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { until } from '#test/harness/until.ts';
import { openTagWorld, type TagWorld } from './harness/tag_world.ts';

let world: TagWorld;
beforeAll(async () => {
  world = await openTagWorld('whole');
});
afterAll(() => world.close());
beforeEach(() => world.reset());

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const namesOf = (body: string): string[] =>
  (JSON.parse(body) as { events: { event: string }[] }).events.map(({ event }) => event);
const queueOf = () =>
  new Promise<number>((resolve, reject) => {
    const opening = indexedDB.open('svc.svc_pk_test', 1);
    opening.onerror = reject;
    opening.onsuccess = () => {
      const counting = opening.result.transaction('e').objectStore('e').count();
      counting.onsuccess = () => resolve(counting.result);
      opening.result.close();
    };
  });

test('a page is an event, sent as text without a preflight, a cookie or a header of ours', async () => {
  const context = await world.visitor();
  await context.addCookies([
    { name: 'edge', value: '1', domain: 'edge.example', path: '/', secure: true, sameSite: 'None' },
  ]);
  await world.visit(context, '/?utm_source=mail');
  const [event] = await world.taken('$pageview');
  expect(event?.properties).toMatchObject({
    $current_url: `${world.shop}/?utm_source=mail`,
    $title: 'Shop',
    utm_source: 'mail',
  });
  expect(Date.now() - Date.parse(event?.timestamp ?? '')).toBeLessThan(10_000);
  const [post] = world.edge.posts();
  expect(post?.url).toBe('/v1/ingest?key=svc_pk_test');
  expect(post?.headers['content-type']).toBe('text/plain;charset=UTF-8');
  expect([post?.headers['cookie'], post?.headers['x-svc-key']]).toEqual([undefined, undefined]);
  expect(world.edge.requests.filter(({ method }) => method === 'OPTIONS')).toEqual([]);
  await context.close();
});

test('what is tracked within a quarter of a second goes in one request, a conversion at once', async () => {
  const context = await world.visitor();
  const page = await world.visit(context);
  await world.settled(page);
  await page.evaluate(() => {
    for (const name of ['a', 'b', 'c']) window.svc.track(name);
  });
  await world.taken('c');
  const trackedAtMs = performance.now();
  await page.evaluate(() => window.svc.track('purchase', { value: 5 }));
  await world.taken('purchase');
  expect(performance.now() - trackedAtMs).toBeLessThan(2000);
  expect(world.edge.posts().map(({ body }) => namesOf(body))).toEqual([['$pageview'], ['a', 'b', 'c'], ['purchase']]);
  await context.close();
});

test('a conversion is on its way before track() returns', async () => {
  const context = await world.visitor();
  const page = await world.visit(context);
  await world.settled(page);
  const sent = await page.evaluate(() => {
    const { fetch: original } = window;
    let bodies: unknown[] = [];
    window.fetch = (url, init) => {
      bodies = [...bodies, init?.body];
      return original(url, init);
    };
    window.svc.track('purchase', { value: 5 });
    return bodies.map(String);
  });
  expect(sent.map(namesOf)).toEqual([['purchase']]);
  await context.close();
});

test('of twenty tabs closed right after a purchase, each a visitor of its own, none is lost and none doubled', {
  timeout: 180_000,
}, async () => {
  const buy = async (order: number): Promise<void> => {
    const context = await world.visitor();
    const page = await world.visit(context);
    await page.evaluate((order_id) => window.svc.track('purchase', { order_id }), order);
    await page.close();
    await sleep(300);
    await context.close();
  };
  const orders = Array.from({ length: 20 }, (_, order) => order);
  for (let at = 0; at < orders.length; at += 5) await Promise.all(orders.slice(at, at + 5).map(buy));
  await world.taken('purchase', orders.length);
  await sleep(500);
  const bought = world.events('purchase').map(({ properties }) => Number(properties['order_id']));
  expect(bought.sort((one, other) => one - other)).toEqual(orders);
});

test('an event that no body could hold is counted as dropped, and what waits stays', async () => {
  const context = await world.visitor();
  const page = await world.visit(context);
  await world.settled(page);
  await page.evaluate(() => {
    window.svc.track('small');
    window.svc.track('huge', { text: 'x'.repeat(1_100_000) });
    window.svc.track('next');
  });
  await world.taken('small');
  const [next] = await world.taken('next');
  expect(next?.properties).toMatchObject({ $dropped: 1 });
  expect(await page.evaluate(() => window.svc.status()['dropped'])).toBe(1);
  expect(world.events('huge')).toEqual([]);
  await context.close();
});

test('what was kept while the clock was ahead is sent', async () => {
  const context = await world.visitor();
  const page = await world.visit(context);
  await world.settled(page);
  await page.evaluate(
    () =>
      new Promise<void>((resolve) => {
        const opening = indexedDB.open('svc.svc_pk_test', 1);
        opening.onsuccess = () => {
          const time = (Date.now() + 3_600_000).toString(16).padStart(12, '0');
          const key = `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-000000000000`;
          const event = { event: 'ahead', uuid: key, timestamp: new Date().toISOString(), properties: {} };
          const writing = opening.result.transaction('e', 'readwrite');
          writing.objectStore('e').put([key, JSON.stringify(event)], key);
          writing.oncomplete = () => resolve();
          opening.result.close();
        };
      }),
  );
  await page.reload();
  await world.taken('ahead');
  await context.close();
});

test('while the store does not answer a tab sends all the same, and keeps no other from it', async () => {
  const context = await world.visitor();
  await context.addInitScript(() => {
    if (location.search !== '?hangs') return;
    IDBDatabase.prototype.transaction = () => {
      const silent = { put: () => undefined, getAll: () => undefined, delete: () => undefined };
      return { objectStore: () => silent } as unknown as IDBTransaction;
    };
  });
  const hanging = await world.visit(context, '/?hangs');
  const other = await world.visit(context);
  await hanging.evaluate(() => window.svc.track('one'));
  await other.evaluate(() => window.svc.track('other'));
  await world.taken('one');
  await world.taken('other');
  await context.close();
});

test('a clock that is set back does not make the tag wait', async () => {
  const context = await world.visitor();
  const page = await world.visit(context);
  await world.settled(page);
  world.edge.answer = { kind: 'refuse', status: 503 };
  await page.evaluate(() => window.svc.track('purchase'));
  await page.waitForFunction(() => Number(window.svc.status()['retried']) > 0);
  await page.evaluate(() => {
    const now = Date.now;
    Date.now = () => now() - 3_600_000;
  });
  world.edge.answer = { kind: 'take' };
  await world.taken('purchase');
  await context.close();
});

test('after the store was closed under a page it is opened anew', async () => {
  const context = await world.visitor();
  const page = await world.visit(context);
  await world.settled(page);
  await page.evaluate(
    () =>
      new Promise((resolve) => {
        indexedDB.deleteDatabase('svc.svc_pk_test').onsuccess = resolve;
      }),
  );
  world.edge.answer = { kind: 'refuse', status: 503, retryAfterS: 30 };
  await page.evaluate(() => window.svc.track('first'));
  await until(
    'kept',
    () => page.evaluate(queueOf),
    (kept) => kept === 1,
  );
  await context.close();
});

test('what is tracked before the configuration came is not lost with the tab, and tells nobody from another', async () => {
  delete world.edge.files['/v1/config'];
  world.pages['/'] = { tag: '' };
  const context = await world.visitor();
  const page = await context.newPage();
  await page.goto(`${world.shop}/?fbclid=F1`);
  await page.route('**/v1/config*', () => undefined);
  await page.evaluate((src) => {
    const script = document.createElement('script');
    script.dataset['key'] = 'svc_pk_test';
    script.src = src;
    document.head.append(script);
    return new Promise<void>((resolve) => {
      script.onload = () => resolve();
    });
  }, `${world.collector}/svc.min.js`);
  await page.evaluate(() => window.svc.track('purchase', { email: 'eva@mail.example', value: 3 }));
  await sleep(2500);
  expect(world.edge.posts()).toEqual([]);
  expect(await context.cookies()).toEqual([]);
  await page.close();
  const [event] = await world.taken('purchase');
  expect(event).not.toHaveProperty('distinct_id');
  expect(event?.properties).toEqual({ $current_url: `${world.shop}/`, value: 3 });
  await context.close();
});

test('Retry-After is waited in full with no request meanwhile, and nothing is dropped', async () => {
  const context = await world.visitor();
  const page = await world.visit(context);
  await world.settled(page);
  world.edge.answer = { kind: 'refuse', status: 429, retryAfterS: 7 };
  await page.evaluate(() => window.svc.track('purchase'));
  await until(
    'refused',
    () => world.edge.posts(),
    (posts) => posts.length === 2,
  );
  world.edge.answer = { kind: 'take' };
  await page.evaluate(() => window.svc.track('b'));
  await world.taken('purchase');
  const [, refused, again] = world.edge.posts();
  const waitedMs = (again?.atMs ?? 0) - (refused?.atMs ?? 0);
  expect(waitedMs).toBeGreaterThanOrEqual(7000);
  expect(waitedMs).toBeLessThanOrEqual(8500);
  expect(namesOf(again?.body ?? '{}')).toEqual(['purchase', 'b']);
  await context.close();
});

test('while three tabs cannot reach the edge one of them tries again, and afterwards all is there once', async () => {
  const context = await world.visitor();
  const tabs = [await world.visit(context), await world.visit(context), await world.visit(context)];
  await world.taken('$pageview', 3);
  await sleep(500);
  const before = world.edgeProxy.connections();
  world.edgeProxy.setAway(true);
  const awayMs = Date.now();
  for (let round = 0; round < 20; round += 1) {
    for (const [tab, page] of tabs.entries())
      await page.evaluate((n) => window.svc.track('t', { n }), `${tab}-${round}`);
    await sleep(300);
  }
  await sleep(Math.max(0, 12_000 - (Date.now() - awayMs)));
  expect(world.edgeProxy.connections() - before).toBeLessThanOrEqual(12);
  world.edgeProxy.setAway(false);
  await until(
    'all',
    () => new Set(world.events('t').map(({ uuid }) => uuid)).size,
    (size) => size === 60,
    { timeoutMs: 40_000 },
  );
  await sleep(500);
  expect(world.events('t')).toHaveLength(60);
  await context.close();
});

test('offline there is no request, and online again all goes at once', async () => {
  const context = await world.visitor();
  const page = await world.visit(context);
  await world.settled(page);
  await context.setOffline(true);
  const tried: string[] = [];
  page.on('request', (request) => tried.push(request.url()));
  await page.evaluate(() => window.svc.track('purchase'));
  await sleep(1500);
  expect(tried).toEqual([]);
  await context.setOffline(false);
  await world.taken('purchase');
  await context.close();
});

test.for([400, 413])('what the edge refuses with %i is dropped and counted', async (status) => {
  const context = await world.visitor();
  const page = await world.visit(context);
  await world.settled(page);
  world.edge.answer = { kind: 'refuse', status };
  await page.evaluate(() => window.svc.track('t'));
  await until(
    'counted',
    () => page.evaluate(() => window.svc.status()),
    ({ rejected }) => rejected === 1,
  );
  expect(await page.evaluate(queueOf)).toBe(0);
  expect(world.edge.posts()).toHaveLength(2);
  await context.close();
});

test.for([
  [200, 'text/html', '<p>Sign in to this network</p>'],
  [200, 'application/json', '{}'],
  [404, 'text/html', 'no route'],
  [403, 'text/html', 'blocked'],
  [410, 'application/json', '{"message":"gone"}'],
] as const)('an answer %i of %s that is not the edge’s is no delivery: %s', async ([status, contentType, body]) => {
  const context = await world.visitor();
  const page = await world.visit(context);
  await world.settled(page);
  let asked = 0;
  await page.route(
    '**/v1/ingest*',
    (route) => {
      asked += 1;
      return route.fulfill({ status, contentType, body, headers: { 'access-control-allow-origin': '*' } });
    },
    { times: 1 },
  );
  await page.evaluate(() => window.svc.track('purchase'));
  await world.taken('purchase');
  await world.settled(page);
  expect(asked).toBe(1);
  expect(world.events('purchase')).toHaveLength(1);
  expect(await page.evaluate(() => window.svc.status())).toMatchObject({ retried: 1, gate: 'open' });
  expect(await page.evaluate(() => window.svc.status()['rejected'])).toBeUndefined();
  await context.close();
});

test('a gateway’s 404 for the configuration is no refusal of the key', async () => {
  const context = await world.visitor();
  const page = await context.newPage();
  await page.route(
    '**/v1/config*',
    (route) => route.fulfill({ status: 404, body: 'no route', headers: { 'access-control-allow-origin': '*' } }),
    { times: 1 },
  );
  await page.goto(world.shop);
  await world.taken('$pageview');
  await context.close();
});

test('each request says when it was sent, by the clock of its events', async () => {
  const context = await world.visitor();
  await context.addInitScript(() => {
    const now = Date.now;
    Date.now = () => now() - 172_800_000;
  });
  const page = await world.visit(context);
  await world.settled(page);
  const body = world.edge.posts()[0]?.body ?? '';
  const { sent_at, events } = JSON.parse(body) as { sent_at: number; events: { timestamp: string }[] };
  expect(Math.abs(Date.now() - 172_800_000 - sent_at)).toBeLessThan(60_000);
  expect(sent_at).toBeGreaterThanOrEqual(Date.parse(events[0]?.timestamp ?? ''));
  await context.close();
});

test('what JSON cannot take costs an event no more than that', async () => {
  const context = await world.visitor();
  const page = await world.visit(context);
  await world.settled(page);
  await page.evaluate(() => {
    const product: Record<string, unknown> = { item_id: 'P1' };
    product['shop'] = { products: [product] };
    const total = { value: 10n, items: [product], order_id: '7', at: new Date(0) };
    const whole: Record<string, unknown>[] = [{}];
    for (let at = 0; at < 5000; at += 1) whole.push({ before: whole[at] });
    whole[0] = { whole };
    const broken = {
      enumerable: true,
      get: () => {
        throw new Error('of the page');
      },
    };
    window.svc.track('purchase', Object.defineProperty(total, 'broken', broken));
    window.svc.track('again', { same: [whole[5], whole[5]].map(() => product['item_id']), whole });
    window.svc.track('nothing', null as never);
  });
  const [bought] = await world.taken('purchase');
  expect(bought?.properties).toMatchObject({
    value: '10',
    items: [{ item_id: 'P1', shop: { products: [null] } }],
    order_id: '7',
    at: '1970-01-01T00:00:00.000Z',
  });
  expect(bought?.properties).not.toHaveProperty('broken');
  const [again] = await world.taken('again');
  expect(again?.properties).toMatchObject({ same: ['P1', 'P1'] });
  // Of what refers to a whole application nothing is told.
  expect(again?.properties).not.toHaveProperty('whole');
  await world.taken('nothing');
  expect(await page.evaluate(() => window.svc.status()['dropped'])).toBeUndefined();
  await context.close();
});

test('of a burst each loss is counted once, by the page and in the events', async () => {
  const context = await world.visitor();
  const page = await world.visit(context);
  await world.settled(page);
  await page.evaluate(async () => {
    window.svc.track('purchase');
    for (let portion = 0; portion < 12; portion += 1) {
      for (let at = 0; at < 400; at += 1) window.svc.track('t', { at: portion * 400 + at });
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  });
  await world.settled(page);
  const events = new Map(world.events().map((event) => [event.uuid, event]));
  const told = [...events.values()].reduce((sum, { properties }) => sum + Number(properties['$dropped'] ?? 0), 0);
  const lost = 4800 - [...events.values()].filter(({ event }) => event === 't').length;
  expect(lost).toBeGreaterThan(0);
  expect({ dropped: await page.evaluate(() => window.svc.status()['dropped']), told }).toEqual({
    dropped: lost,
    told: lost,
  });
  expect(world.events('purchase')).toHaveLength(1);
  await context.close();
});

test('what is lost before the configuration came is counted too', async () => {
  const context = await world.visitor();
  const page = await context.newPage();
  let answer: (() => unknown) | undefined;
  await page.route('**/v1/config*', (route) => {
    answer = () => route.continue();
  });
  await page.goto(world.shop);
  await page.waitForFunction(() => window.svc?.status?.());
  await page.evaluate(() => {
    for (let at = 0; at < 1004; at += 1) window.svc.track('t', { at });
  });
  await until(
    'asked',
    () => answer,
    (given) => given !== undefined,
  );
  await answer?.();
  await world.taken('t', 1000);
  await world.settled(page);
  const told = world.events().reduce((sum, { properties }) => sum + Number(properties['$dropped'] ?? 0), 0);
  const lost = 1005 - world.events().length;
  expect({ told, counted: await page.evaluate(() => window.svc.status()['dropped']) }).toEqual({
    told: lost,
    counted: lost,
  });
  await context.close();
});

test('a thousand events wait, of more the oldest are dropped, and the next event tells how many', async () => {
  const context = await world.visitor();
  const page = await world.visit(context);
  await world.settled(page);
  world.edge.answer = { kind: 'refuse', status: 503, retryAfterS: 4 };
  // In the page itself: the pause that the edge asked for may be over before an answer from there is back.
  const now = await page.evaluate(async () => {
    window.svc.track('first');
    while (!window.svc.status()['retried']) await new Promise((resolve) => setTimeout(resolve, 10));
    for (let at = 0; at < 1010; at += 1) window.svc.track('t', { at });
    return window.svc.status();
  });
  expect(now).toMatchObject({ waiting: 1000, dropped: 11 });
  world.edge.answer = { kind: 'take' };
  await world.taken('t', 1000);
  const told = world.events('t').map(({ properties }) => properties);
  expect(told[0]).toMatchObject({ at: 10 });
  expect(told.reduce((sum, { $dropped = 0 }) => sum + Number($dropped), 0)).toBe(11);
  await context.close();
});

test('what a closed tab left in the store the next visit sends, once', async () => {
  const context = await world.visitor();
  const page = await world.visit(context);
  await world.settled(page);
  world.edge.answer = { kind: 'refuse', status: 503, retryAfterS: 30 };
  await page.evaluate(() => window.svc.track('purchase'));
  await until(
    'refused',
    () => world.edge.posts().length,
    (count) => count === 2,
  );
  await page.close();
  world.edge.answer = { kind: 'take' };
  await sleep(5000);
  const tabs = await Promise.all([world.visit(context), world.visit(context)]);
  await world.taken('purchase');
  await sleep(1000);
  expect(world.events('purchase')).toHaveLength(1);
  expect(await tabs[0]?.evaluate(queueOf)).toBe(0);
  await context.close();
});

test('of a batch that is bad in part the rest counts as taken, and what was refused is counted', async () => {
  const context = await world.visitor();
  const page = await world.visit(context);
  await world.settled(page);
  let asked = 0;
  await page.route('**/v1/ingest*', (route) => {
    asked += 1;
    return route.fulfill({
      headers: { 'access-control-allow-origin': '*' },
      json: { accepted: 1, rejected: [{ index: 0, code: 'event_name_too_long' }] },
    });
  });
  await page.evaluate(() => {
    window.svc.track('x'.repeat(300));
    window.svc.track('good');
  });
  await world.settled(page);
  await sleep(1500);
  expect([asked, await page.evaluate(() => window.svc.status()['rejected'])]).toEqual([1, 1]);
  expect(await page.evaluate(queueOf)).toBe(0);
  await context.close();
});

test('an event of more bytes than a request may have is dropped at once, however few its letters are', async () => {
  const context = await world.visitor();
  const page = await world.visit(context);
  await world.settled(page);
  await page.evaluate(() => {
    window.svc.track('large', { text: 'ж'.repeat(200_000) });
    window.svc.track('after');
  });
  await world.taken('after');
  expect(world.events('large')).toEqual([]);
  expect(await page.evaluate(() => window.svc.status()['dropped'])).toBe(1);
  await context.close();
});
