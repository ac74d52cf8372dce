import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '#test/harness/until.ts';
import { openBrowser, openProfile, type TestBrowser, USER_AGENT, visitUndriven } from './harness/chromium.ts';
import { type DelayProxy, startDelayProxy } from './harness/delay_proxy.ts';
import { carriedChromium } from './harness/find_chromium.ts';
import { html, type PageServer, startPageServer } from './harness/page_server.ts';

const WRITE = `
  const opening = indexedDB.open('kept', 1);
  opening.onupgradeneeded = () => opening.result.createObjectStore('s');
  opening.onsuccess = () => {
    const writing = opening.result.transaction('s', 'readwrite');
    writing.objectStore('s').put('here', 'k');
    writing.oncomplete = () => { document.title = 'written'; };
  };`;
const READ = `
  const opening = indexedDB.open('kept', 1);
  opening.onsuccess = () => {
    const reading = opening.result.transaction('s').objectStore('s').get('k');
    reading.onsuccess = () => { document.title = String(reading.result); };
  };`;
const PRERENDERING = `
  <script type="speculationrules">{"prerender":[{"urls":["/prerendered"],"eagerness":"immediate"}]}</script>
  <script>setTimeout(() => { location.href = '/prerendered'; }, 1500);</script>`;
const SAYS_HOW = `<script>
  const say = (word) => fetch('/said/' + word);
  say(document.prerendering ? 'prerendering' : 'shown');
  document.addEventListener('prerenderingchange', () => say('activated'));
</script>`;

let pages: PageServer;
let proxy: DelayProxy;
let browser: TestBrowser;
beforeAll(async () => {
  pages = await startPageServer({
    '/': { body: html({ body: '<a href="/next">next</a>' }) },
    '/next': { body: html({ title: 'Next' }) },
    '/write': { body: html({ head: `<script>${WRITE}</script>` }) },
    '/read': { body: html({ head: `<script>${READ}</script>` }) },
    '/prerendering': { body: html({ head: PRERENDERING }) },
    '/prerendered': { body: html({ head: SAYS_HOW }) },
  });
  proxy = await startDelayProxy(pages.url);
  browser = await openBrowser('whole');
});
afterAll(async () => {
  await browser.close();
  await proxy.close();
  await pages.close();
});

test('a page under an .example name comes over TLS that the browser trusts, as a person and not as a bot', async () => {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(`${proxy.origin('shop.example')}/`);
  const seen = await page.evaluate(() => ({
    secure: isSecureContext,
    agent: navigator.userAgent,
    host: location.hostname,
  }));
  expect(seen).toEqual({ secure: true, agent: USER_AGENT, host: 'shop.example' });
  await context.close();
});

test('a request takes the delay of both ways', async () => {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(`${proxy.origin('shop.example')}/`);
  const tookMs = await page.evaluate(async () => {
    const begun = performance.now();
    await fetch('/next');
    return performance.now() - begun;
  });
  expect(tookMs).toBeGreaterThan(79);
  await context.close();
});

test('a server that is away refuses, and answers when it is back', async () => {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(`${proxy.origin('shop.example')}/`);
  const ask = (): Promise<string> =>
    page.evaluate(() =>
      fetch('/next')
        .then((answer) => String(answer.status))
        .catch(() => 'refused'),
    );
  proxy.setAway(true);
  expect(await ask()).toBe('refused');
  proxy.setAway(false);
  expect(await ask()).toBe('200');
  await context.close();
});

test('two tabs of a visitor share locks', async () => {
  const context = await browser.newContext();
  const [one, other] = [await context.newPage(), await context.newPage()];
  for (const page of [one, other]) await page.goto(`${proxy.origin('shop.example')}/`);
  await one.evaluate(async () => {
    await new Promise<void>((resolve) => {
      const hold = (): Promise<never> => {
        resolve();
        return new Promise(() => undefined);
      };
      void navigator.locks.request('l', hold);
    });
  });
  expect(await other.evaluate(() => navigator.locks.request('l', { ifAvailable: true }, (lock) => lock === null))).toBe(
    true,
  );
  await context.close();
});

test('a page comes back from the back/forward cache', async ({ skip }) => {
  if (!browser.program.keepsPages) skip('a headless shell keeps no pages');
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(`${proxy.origin('shop.example')}/`);
  await page.evaluate(() => {
    addEventListener('pageshow', ({ persisted }) => {
      document.title = `kept: ${persisted}`;
    });
  });
  await page.getByRole('link').click();
  await page.waitForURL('**/next');
  await page.goBack({ waitUntil: 'commit' });
  await until(
    'the page is back',
    () => page.title(),
    (title) => title === 'kept: true',
  );
  await context.close();
});

test('a page is prerendered before it is shown, in a browser that nothing drives', async () => {
  const said = (): string[] => pages.requests.filter((request) => request.includes('/said/'));
  await visitUndriven(
    `${pages.url}/prerendering`,
    until('the page is shown', said, (words) => words.length >= 2),
  );
  expect(said()).toEqual(['GET /said/prerendering', 'GET /said/activated']);
});

test('what a killed browser had written is there at the next visit', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'chromium-profile-'));
  const titled = async (path: string, title: string): Promise<() => Promise<void>> => {
    const { context, kill } = await openProfile(folder);
    const page = await context.newPage();
    await page.goto(`${proxy.origin('shop.example')}${path}`);
    await until(
      title,
      () => page.title(),
      (seen) => seen === title,
    );
    return kill;
  };
  const killFirst = await titled('/write', 'written');
  await killFirst();
  const killSecond = await titled('/read', 'here');
  await killSecond();
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
});

test('the browser that the npm package carries runs with the libraries beside it', async () => {
  const carried = await openBrowser(await carriedChromium(console.log));
  const context = await carried.newContext();
  const page = await context.newPage();
  await page.goto(`${proxy.origin('shop.example')}/`);
  await page.getByRole('link', { name: 'next' }).click();
  await page.waitForURL('**/next');
  expect(await page.title()).toBe('Next');
  await carried.close();
});
