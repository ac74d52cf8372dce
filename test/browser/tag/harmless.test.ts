import { setTimeout as sleep } from 'node:timers/promises';
import type { BrowserContext } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { until } from '#test/harness/until.ts';
import { definition } from './harness/definition.ts';
import { openTagWorld, type TagWorld } from './harness/tag_world.ts';

const NONCE = 'bm9uY2U';
const PIXEL = { pixel_id: '100000000000001', route_pixels: [] };
const CLICK = definition({ id: 'pressed', name: 'pressed', selector: 'button' });

let world: TagWorld;
beforeAll(async () => {
  world = await openTagWorld();
});
afterAll(() => world.close());
beforeEach(async () => {
  await world.reset();
  world.pages['/'] = { title: 'Shop', body: '<button>press</button><a href="/next">next</a>' };
});

/** What Chromium reports against the pages of a visitor: policies that were broken, and errors that nobody caught. */
async function watched(): Promise<{ context: BrowserContext; violations: string[]; errors: string[] }> {
  const context = await world.visitor();
  const violations: string[] = [];
  const errors: string[] = [];
  await context.exposeFunction('reportViolation', (text: string) => void violations.push(text));
  await context.addInitScript(() => {
    document.addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI, sourceFile }) => {
      const { reportViolation } = window as unknown as { reportViolation(text: string): void };
      reportViolation(`${violatedDirective} ${blockedURI} ${sourceFile}`);
    });
  });
  context.on('weberror', (error) => errors.push(String(error.error().stack ?? error.error())));
  return { context, violations, errors };
}

function strict(policy: string): void {
  const tag = `<script nonce="${NONCE}" async src="${world.collector}/svc.min.js" data-key="svc_pk_test"></script>`;
  world.pages['/'] = { body: '<button>press</button>', tag, headers: { 'content-security-policy': policy } };
  world.configure({ events: [CLICK], facebook: PIXEL });
}

test('under a nonce, strict-dynamic and Trusted Types the tag and a pixel load, and no policy is broken', async () => {
  strict(`script-src 'nonce-${NONCE}' 'strict-dynamic'; require-trusted-types-for 'script'`);
  const { context, violations, errors } = await watched();
  let pixels = 0;
  await context.route('https://connect.facebook.net/**', (route) => {
    pixels += 1;
    return route.fulfill({ contentType: 'text/javascript', body: '' });
  });
  const page = await world.visit(context);
  // What watches for clicks comes in a script of its own, after the configuration.
  await page.waitForFunction(() => [...document.scripts].some(({ src }) => src.includes('svc-definitions')));
  await sleep(500);
  await page.getByRole('button').click();
  await world.taken('pressed');
  await world.settled(page);
  expect({ violations, errors, pixels }).toEqual({ violations: [], errors: [], pixels: 1 });
  await context.close();
});

test('where a page allows no policy of ours its events go out all the same', async () => {
  strict(`script-src 'nonce-${NONCE}' 'strict-dynamic'; require-trusted-types-for 'script'; trusted-types 'none'`);
  const { context, errors } = await watched();
  const page = await world.visit(context);
  await page.evaluate(() => window.svc.track('purchase'));
  await world.taken('purchase');
  expect(errors).toEqual([]);
  await context.close();
});

/** What a browser, an extension or a page may have broken, as paths from the window. */
const BROKEN = [
  'localStorage',
  'sessionStorage',
  'indexedDB',
  'indexedDB.open',
  'navigator.locks',
  'navigator.sendBeacon',
  'navigator.onLine',
  'navigator.doNotTrack',
  'document.cookie',
  'document.referrer',
  'document.addEventListener',
  'document.createElement',
  'document.querySelector',
  'fetch',
  'crypto',
  'crypto.getRandomValues',
  'history.pushState',
  'navigation',
  'AbortSignal.timeout',
  'Blob',
  'URL',
  'MutationObserver',
  'IntersectionObserver',
  'PerformanceObserver',
  'requestIdleCallback',
  'trustedTypes',
  'addEventListener',
  'setTimeout',
  'Date.now',
  'Math.random',
  'JSON.stringify',
] as const;

/** A page's calls and a click; gives what was thrown at the page. */
const CALLS = `
  ['track', 'identify', 'page', 'consent', 'ready', 'reset'].flatMap((call) => {
    try {
      window.svc?.[call]?.(call === 'consent' ? { ads: true } : 'given');
      document.getElementsByTagName('button')[0].click();
      return [];
    } catch (error) {
      return [call + ': ' + error];
    }
  })`;
const FOLLOW = "document.getElementsByTagName('a')[0].click()";

/** Runs in the page before anything else. */
function breakApis(broken: readonly string[]): void {
  // Frames of no origin lack some of it by themselves.
  if (location.origin === 'null') return;
  const fail = (): never => {
    throw new Error('broken');
  };
  const define = Object.defineProperty;
  const owners = broken.map((path) => {
    const names = path.split('.');
    const last = names.pop() ?? '';
    const owner = names.reduce<object>((inner, name) => Reflect.get(inner, name) as object, window);
    const isMethod = names.length > 0 && typeof Reflect.get(owner, last) === 'function';
    return { owner, last, isMethod };
  });
  for (const { owner, last, isMethod } of owners) {
    define(owner, last, isMethod ? { value: fail } : { get: fail, set: fail });
  }
}

test.concurrent.each([...BROKEN.map((path) => [path]), [...BROKEN]])(
  'where %s throws there is no error of the tag',
  async (...paths) => {
    world.configure({ events: [CLICK], tag: { inventory: true } });
    const { context, errors } = await watched();
    await context.addInitScript(breakApis, paths);
    const page = await context.newPage();
    await page.goto(`${world.shop}/`);
    await page.waitForTimeout(500);
    // Playwright's own evaluation needs some of what is broken.
    const tools = await context.newCDPSession(page);
    const { result } = await tools.send('Runtime.evaluate', { expression: CALLS, returnByValue: true });
    await tools.send('Runtime.evaluate', { expression: FOLLOW });
    await until(
      'the next page',
      () => page.url(),
      (url) => url.endsWith('/next'),
    );
    await page.waitForTimeout(200);
    expect({ thrown: result.value, errors }).toEqual({ thrown: [], errors: [] });
    await context.close();
  },
);
