import type { Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { handedOut, showOn } from './harness/engage_pages.ts';
import { openTagWorld, STUB, type TagWorld } from './harness/tag_world.ts';

let world: TagWorld;
beforeAll(async () => {
  world = await openTagWorld();
});
afterAll(() => world.close());
beforeEach(() => world.reset());

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** What browsers, extensions and pages may have done to the APIs that the tag uses. */
const BROKEN: Record<string, string> = {
  cookies: "Object.defineProperty(Document.prototype, 'cookie', { get: fail, set: fail });",
  storage: "for (const name of ['localStorage', 'sessionStorage', 'indexedDB']) broken(window, name);",
  fetch: 'window.fetch = fail; navigator.sendBeacon = fail;',
  crypto: 'crypto.getRandomValues = fail; crypto.randomUUID = fail;',
  history: "history.pushState = fail; history.replaceState = fail; broken(window, 'navigation');",
  locks: "broken(navigator, 'locks');",
  observers: 'window.MutationObserver = window.IntersectionObserver = window.PerformanceObserver = fail;',
  timers: 'window.setTimeout = fail; window.requestIdleCallback = fail;',
  listeners: 'EventTarget.prototype.addEventListener = fail;',
  navigator: "for (const name of ['onLine', 'doNotTrack', 'globalPrivacyControl']) broken(navigator, name);",
  document: "for (const name of ['referrer', 'title', 'visibilityState', 'prerendering']) broken(document, name);",
  trustedTypes: "broken(window, 'trustedTypes');",
};
const HELPERS = `const fail = () => { throw new Error('broken'); };
  const broken = (target, name) => Object.defineProperty(target, name, { get: fail });`;

async function useEverything(page: Page): Promise<void> {
  await page.evaluate(() => {
    const { svc } = window;
    svc?.track('a', { value: 1 });
    svc?.track(undefined as unknown as string);
    svc?.track('circular', { window });
    svc?.identify(null);
    svc?.identify('x', { email: 'e@mail.example' });
    svc?.alias(5 as unknown as string);
    svc?.page();
    svc?.consent(undefined as unknown as object);
    svc?.ready(() => undefined);
    svc?.status();
    svc?.reset();
  });
}

/** What a page hears of errors while everything of the tag is used and some of the browser's APIs throw. */
async function errorsWithBroken(scripts: readonly string[]): Promise<string[]> {
  const context = await world.visitor();
  await context.route('https://connect.facebook.net/**', (route) => route.abort());
  await context.addInitScript(`(() => { ${HELPERS} ${scripts.join('\n')} })()`);
  const page = await context.newPage();
  const errors: string[] = [];
  page.on('pageerror', (error) => errors.push(String(error.stack)));
  await page.goto(world.shop);
  await sleep(800);
  await useEverything(page);
  await sleep(2500);
  await page.close({ runBeforeUnload: true });
  await context.close();
  return errors;
}

test('whatever of the browser is broken, the page has no error of ours', async () => {
  world.configure({
    facebook: { pixel_id: '1', route_pixels: [] },
    tag: { inventory: true, web_vitals: true, engage: true },
  });
  showOn(world, [handedOut('survey', { id: 's', questions: [{ id: 'q', type: 'open', text: 'How was it?' }] })]);
  const broken = Object.entries(BROKEN).map(([what, script]) => [what, [script]] as const);
  const cases = [...broken, ['all', Object.values(BROKEN)] as const];
  // They mostly wait, and each is a visitor of its own.
  const errors = await Promise.all(cases.map(async ([what, scripts]) => [what, await errorsWithBroken(scripts)]));
  expect(errors).toEqual(cases.map(([what]) => [what, []]));
});

test.for(['cookies', 'storage', 'crypto', 'locks', 'history'])('with broken %s events still go', async (what) => {
  const context = await world.visitor();
  await context.addInitScript(`(() => { ${HELPERS} ${BROKEN[what]} })()`);
  const page = await world.visit(context);
  await page.evaluate(() => window.svc.track('purchase'));
  await world.taken('purchase');
  await context.close();
});

test('under a strict policy the tag and its parts work without a violation', async () => {
  const policy = [
    "default-src 'none'",
    "script-src 'nonce-abc' 'strict-dynamic'",
    `connect-src ${world.collector}`,
    "style-src 'self'",
    "require-trusted-types-for 'script'",
    'trusted-types svc',
    "base-uri 'none'",
  ];
  world.configure({
    events: [
      {
        ...{ id: 'd', name: 'clicked', trigger: 'click', selector: 'a', url_pattern: '', text_contains: '' },
        ...{ properties: {}, conversion_event: '', destinations: {}, value_selector: '', field_selectors: {} },
        enabled: true,
      },
    ],
    tag: { inventory: true, web_vitals: true },
  });
  world.pages['/'] = {
    attributes: 'nonce="abc"',
    head: `<script nonce="abc">window.broken = [];
      document.addEventListener('securitypolicyviolation', (e) => broken.push(e.violatedDirective + ' ' + e.blockedURI));</script>`,
    body: '<a href="#here">here</a>',
    headers: { 'content-security-policy': policy.join('; ') },
  };
  const context = await world.visitor();
  const page = await world.visit(context);
  await page.waitForFunction(() => [...document.scripts].filter(({ src }) => src.includes('svc-')).length === 3);
  await sleep(500);
  await page.click('a');
  await world.taken('clicked');
  const broken = await page.evaluate(() => (window as unknown as { broken: string[] }).broken);
  expect(broken.filter((one) => !one.includes('favicon'))).toEqual([]);
  await context.close();
});

test('where the page does not allow the policy svc, events go and no script is loaded', async () => {
  world.configure({ tag: { inventory: false, web_vitals: true } });
  world.pages['/'] = {
    headers: { 'content-security-policy': "require-trusted-types-for 'script'; trusted-types none-of-ours" },
  };
  const context = await world.visitor();
  const page = await world.visit(context);
  await world.taken('$pageview');
  expect(await page.evaluate(() => document.scripts.length)).toBe(1);
  await context.close();
});

test('what the policy forbids to reach the edge is counted as blocked', async () => {
  world.pages['/'] = { headers: { 'content-security-policy': "connect-src 'none'" } };
  const context = await world.visitor();
  const page = await context.newPage();
  await page.goto(world.shop);
  await page.waitForFunction(() => Number(window.svc?.status?.()['blocked']) > 0);
  await context.close();
});

test('calls before the tag is loaded are made in order, also by functions that the page took hold of', async () => {
  world.pages['/'] = {
    head: `<script>${STUB} const { track, ready } = svc; track('first', { n: 1 });
      ready(() => { track('ready'); setTimeout(track, 100, 'late'); });</script>`,
  };
  const context = await world.visitor();
  await world.visit(context);
  await world.taken('late');
  expect(world.events().map(({ event }) => event)).toEqual(['$pageview', 'first', 'ready', 'late']);
  await context.close();
});

test('the tag on a page twice is there once', async () => {
  const element = `<script async src="${world.collector}/svc.min.js" data-key="svc_pk_test"></script>`;
  world.pages['/'] = { tag: element + element };
  const context = await world.visitor();
  await world.visit(context);
  await world.taken('$pageview');
  await sleep(500);
  expect(world.events('$pageview')).toHaveLength(1);
  await context.close();
});

test('the module does the same, from an address under the digest of its content too', async () => {
  const module = world.edge.files['/svc.mjs'];
  if (module) world.edge.files['/v1/svc/abc/svc.mjs'] = module;
  world.pages['/'] = {
    tag: `<script type="module">import { init, track, status } from '${world.collector}/v1/svc/abc/svc.mjs';
      init({ key: 'svc_pk_test' }); track('imported'); window.svc = { status };</script>`,
  };
  const context = await world.visitor();
  await world.visit(context);
  await world.taken('imported');
  expect(world.edge.posts()[0]?.url).toBe('/v1/ingest?key=svc_pk_test');
  await context.close();
});

test('no timer is left when all is sent', async () => {
  const context = await world.visitor();
  await context.addInitScript(`window.timers = new Set(); const { setTimeout: set, clearTimeout: clear } = window;
    window.setTimeout = (fn, ms, ...args) => { const id = set(() => { timers.delete(id); fn(...args); }, ms); timers.add(id); return id; };
    window.clearTimeout = (id) => { timers.delete(id); clear(id); };`);
  const page = await world.visit(context);
  await page.evaluate(() => window.svc.track('a'));
  await world.taken('a');
  await page.waitForFunction(() => (window as unknown as { timers: Set<number> }).timers.size === 0, undefined, {
    timeout: 15_000,
  });
  await context.close();
});
