import type { BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { until } from '#test/harness/until.ts';
import { visitUndriven } from '../harness/chromium.ts';
import { definition } from './harness/definition.ts';
import { openTagWorld, STUB, type TagWorld } from './harness/tag_world.ts';

let world: TagWorld;
beforeAll(async () => {
  world = await openTagWorld('whole');
});
afterAll(() => world.close());
beforeEach(() => world.reset());

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const seen = (): string[] =>
  world.events('$pageview').map(({ properties }) => String(properties['$current_url']).replace(world.shop, ''));

test('each further path of an application is a page, once, and its referrer is the page before', async () => {
  const context = await world.visitor();
  const page = await world.visit(context);
  await page.evaluate(() => {
    history.pushState({}, '', '/a');
    history.replaceState({}, '', '/a?sort=price');
    history.pushState({}, '', '/b');
  });
  await page.goBack();
  await world.taken('$pageview', 4);
  await sleep(400);
  expect(seen()).toEqual(['/', '/a', '/b', '/a?sort=price']);
  expect(world.events('$pageview')[1]?.properties['$referrer']).toBe(`${world.shop}/`);
  await context.close();
});

test('history is left alone where there is a Navigation API', async () => {
  const context = await world.visitor();
  const page = await world.visit(context);
  const sources = await page.evaluate(() => [String(history.pushState), String(history.replaceState)]);
  expect(sources.every((source) => source.includes('[native code]'))).toBe(true);
  await context.close();
});

test('without one history works as it did, and its changes are pages', async () => {
  const context = await world.visitor();
  await context.addInitScript("Object.defineProperty(window, 'navigation', { value: undefined })");
  const page = await world.visit(context);
  const outcome = await page.evaluate(() => {
    const returned = history.pushState({ n: 1 }, '', '/a');
    let error = '';
    try {
      history.pushState({}, '', 'https://other.example/');
    } catch (thrown) {
      error = (thrown as Error).name;
    }
    return { returned, error, state: history.state as object, path: location.pathname };
  });
  expect(outcome).toEqual({ returned: undefined, error: 'SecurityError', state: { n: 1 }, path: '/a' });
  await page.goBack();
  await world.taken('$pageview', 3);
  expect(seen()).toEqual(['/', '/a', '/']);
  await context.close();
});

test('a page that the browser kept is one page more when the visitor comes back', async ({ skip }) => {
  if (!world.browser.program.keepsPages) skip('a headless shell keeps no pages');
  const context = await world.visitor();
  const page = await world.visit(context);
  await world.settled(page);
  await page.evaluate(() => {
    (window as { isKept?: boolean }).isKept = true;
  });
  await page.click('a');
  await page.waitForURL('**/next');
  await page.goBack({ waitUntil: 'commit' });
  await world.taken('$pageview', 3);
  await sleep(500);
  expect(await page.evaluate(() => (window as { isKept?: boolean }).isKept)).toBe(true);
  expect(seen()).toEqual(['/', '/next', '/']);
  // The page knows of none that was between.
  expect(world.events('$pageview').map(({ properties }) => properties['$referrer'])).toEqual([
    undefined,
    `${world.shop}/`,
    undefined,
  ]);
  await context.close();
});

test('a page that is made ready beforehand sends nothing until it is shown', async () => {
  const rules = JSON.stringify({ prerender: [{ urls: ['/next'], eagerness: 'immediate' }] });
  world.pages['/'] = {
    tag: '',
    head: `<script type="speculationrules">${rules}</script>
      <script>setTimeout(() => { location.href = '/next'; }, 3000);</script>`,
  };
  const loaded = (): number => world.edge.requests.filter(({ url }) => url.startsWith('/svc.min.js')).length;
  const asked = (): string[] => world.edge.requests.map(({ url }) => url.split('?')[0] ?? '');
  let before: string[] = [];
  const watched = (async () => {
    await until('the page is made ready', loaded, (count) => count > 0, { timeoutMs: 30_000 });
    await sleep(1000);
    before = asked();
    await world.taken('$pageview');
    await sleep(500);
  })();
  await visitUndriven(world.shop, watched);
  expect(before).toEqual(['/svc.min.js']);
  expect(seen()).toEqual(['/next']);
});

test('a page that counts its pages by hand is not counted', async () => {
  world.pages['/'] = { attributes: 'data-pages="manual"' };
  const context = await world.visitor();
  const page = await world.visit(context);
  await page.evaluate(() => {
    history.pushState({}, '', '/a');
    window.svc.page({ kind: 'step' });
  });
  await world.taken('$pageview');
  await sleep(400);
  expect(world.events('$pageview').map(({ properties }) => properties['kind'])).toEqual(['step']);
  await context.close();
});

/** Goes on to a page as an application does, which is rendered a moment later. */
const goOn = (renderedAfterMs: number): void => {
  history.pushState({}, '', '/thanks');
  setTimeout(() => {
    document.title = 'Thanks';
    document.body.innerHTML = '<b id="total">€ 12,50</b>';
  }, renderedAfterMs);
};
const THANKS = definition({ trigger: 'pageview', name: 'thanks', selector: '#total', value_selector: '#total' });

test('what is read of a page is read once an application has rendered it', async () => {
  world.configure({ events: [THANKS] });
  const context = await world.visitor();
  const page = await world.visit(context);
  await world.settled(page);
  // What comes while the queue looks once more whether anything waits is sent with that look, before it is rendered.
  await page.waitForTimeout(500);
  await page.evaluate(goOn, 40);
  const [thanks] = await world.taken('thanks');
  expect(thanks?.properties).toMatchObject({ value: 12.5, $title: 'Thanks' });
  const [, view] = await world.taken('$pageview', 2);
  expect(view?.properties).toMatchObject({ $current_url: `${world.shop}/thanks`, $title: 'Thanks' });
  await page.waitForTimeout(500);
  expect(world.events().map(({ event }) => event)).toEqual(['$pageview', '$pageview', 'thanks']);
  await context.close();
});

test('a page that is being rendered is not sent by the timer that waits for the configuration', async () => {
  const context = await world.visitor();
  await context.addInitScript(() => {
    const { setTimeout: later } = window;
    Object.assign(window, {
      setTimeout(run: () => void, ms?: number, ...given: []) {
        // The store's timers, which are as long, come after it.
        if (ms !== 2_000 || 'presume' in window) return later(run, ms, ...given);
        return Object.assign(window, { presume: run }) && 0;
      },
    });
  });
  const page = await world.visit(context);
  await world.settled(page);
  // As above: the look that follows what was sent would take the page along before it is rendered.
  await page.waitForTimeout(500);
  await page.evaluate(`(${goOn.toString()})(40); presume()`);
  const [, view] = await world.taken('$pageview', 2);
  expect(view?.properties).toMatchObject({ $current_url: `${world.shop}/thanks`, $title: 'Thanks' });
  await context.close();
});

test('a page that is left before it was rendered is a page all the same', async () => {
  const context = await world.visitor();
  const page = await world.visit(context);
  await world.settled(page);
  await page.evaluate(goOn, 5000);
  await page.close();
  const [, view] = await world.taken('$pageview', 2);
  expect(view?.properties).toMatchObject({ $current_url: `${world.shop}/thanks` });
  await context.close();
});

test('calls made before the tag is there keep their time, address and title, and each page left meanwhile is one', async () => {
  world.pages['/'] = { tag: `<script>${STUB}</script>`, title: 'Shop' };
  const context = await world.visitor();
  const page = await context.newPage();
  await page.goto(`${world.shop}/?utm_source=mail`);
  const calledMs = Date.now();
  await page.evaluate(() => {
    window.svc.track('add_to_cart', { n: 1 });
    history.pushState({}, '', '/checkout');
    document.title = 'Checkout';
    window.svc.track('begin_checkout');
    window.svc.track('coupon');
    history.pushState({}, '', '/thanks');
    document.title = 'Thanks';
  });
  await sleep(1500);
  await page.evaluate((src) => {
    const script = document.createElement('script');
    script.dataset['key'] = 'svc_pk_test';
    script.src = src;
    document.head.append(script);
  }, `${world.collector}/svc.min.js`);
  await world.taken('$pageview', 3);
  await world.settled(page);
  const pathOf = (url: unknown): string => (typeof url === 'string' ? new URL(url).pathname : '');
  const told = world.events().map(({ event, properties }) => {
    const { $current_url, $title, $referrer } = properties;
    return [event, pathOf($current_url), $title, pathOf($referrer)];
  });
  expect(told).toEqual([
    ['$pageview', '/', 'Shop', ''],
    ['add_to_cart', '/', 'Shop', ''],
    ['$pageview', '/checkout', 'Checkout', '/'],
    ['begin_checkout', '/checkout', 'Checkout', '/'],
    ['coupon', '/checkout', 'Checkout', '/'],
    ['$pageview', '/thanks', 'Thanks', '/checkout'],
  ]);
  const times = world.events().map(({ timestamp }) => Date.parse(timestamp) - calledMs);
  expect(Math.max(...times.slice(0, 5))).toBeLessThan(1400);
  expect(times.at(-1)).toBeGreaterThan(1400);
  expect(new Set(world.events().map(({ properties }) => properties['utm_source']))).toEqual(new Set(['mail']));
  await context.close();
});

/** A visit of a page that watches its routes. */
async function visitWithRoutes(context: BrowserContext): Promise<Page> {
  const page = await world.visit(context);
  const isThere = (): boolean =>
    performance.getEntriesByType('resource').some(({ name }) => name.includes('svc-routes'));
  await page.waitForFunction(isThere);
  await sleep(200);
  return page;
}

test('where a site counts routes in the fragment, each further one is a page, and other fragments are none', async () => {
  world.configure({ tag: { inventory: false, hash_routes: true } });
  const context = await world.visitor();
  const page = await visitWithRoutes(context);
  await page.evaluate(() => {
    for (const hash of ['#/', '#top', '#/cart', '#/cart?step=2', '#!/help']) location.hash = hash;
  });
  await world.taken('$pageview', 3);
  await sleep(400);
  expect(seen()).toEqual(['/', '/#/cart', '/#!/help']);
  await context.close();
});

test('a route that the page goes to before they are watched is a page, and one by pushState where there is no Navigation API', async () => {
  world.configure({ tag: { inventory: false, hash_routes: true } });
  const context = await world.visitor();
  await context.addInitScript(() => {
    Object.defineProperty(window, 'navigation', { value: undefined });
    addEventListener('load', () => {
      history.replaceState(null, '', '#/home');
    });
  });
  const held = Promise.withResolvers<void>();
  await context.route(/svc-routes/, async (route) => {
    await held.promise;
    await route.continue();
  });
  const page = await world.visit(context);
  await page.waitForFunction(() => location.hash === '#/home');
  held.resolve();
  await world.taken('$pageview', 2);
  await page.evaluate(() => history.pushState(null, '', '#/cart'));
  await world.taken('$pageview', 3);
  await page.goBack();
  await world.taken('$pageview', 4);
  expect(seen()).toEqual(['/', '/#/home', '/#/cart', '/#/home']);
  await context.close();
});

test('in offline mode a route is kept without what may tell who it is', async () => {
  world.configure({ mode: 'offline', tag: { inventory: false, hash_routes: true } });
  const context = await world.visitor();
  const page = await visitWithRoutes(context);
  await page.evaluate(() => {
    for (const hash of ['#/cart?q=eva', '#/reset/Ab9xAb9xAb9xAb9xAb9x', '#/eva@mail.example']) location.hash = hash;
  });
  await world.taken('$pageview', 4);
  expect(seen()).toEqual(['/', '/#/cart', '/#/reset/***', '/#/***']);
  await context.close();
});
