import { readFileSync } from 'node:fs';
import type { BrowserContextOptions, Page } from 'playwright-core';
import type { SharedService } from '#test/harness/shared_service.ts';
import type { TestBrowser } from '../../harness/chromium.ts';

/** Opens a tab in which the first user has signed in, at a path after /dashboard. */
export async function signedIn(
  service: SharedService,
  browser: TestBrowser,
  path: string,
  options: BrowserContextOptions = {},
): Promise<Page> {
  const { ready } = service;
  const { origin } = new URL(ready.control);
  const password = readFileSync(ready.dashboard.passwordFile, 'utf8').trim();
  const page = await strangersTab(browser, options);
  const answer = await page.request.post(`${origin}/v1/session`, {
    headers: { origin, 'x-svc-csrf': '1' },
    data: { user_id: ready.dashboard.user, password },
  });
  if (!answer.ok()) throw new Error(`signing in was answered ${answer.status()}`);
  await page.goto(`${origin}/dashboard${path}`);
  return page;
}

/** Opens a tab in which somebody signs in on the page itself, at a path after /dashboard. */
export async function signedInByHand(
  service: SharedService,
  browser: TestBrowser,
  path: string,
  { user, password }: { user: string; password: string },
): Promise<Page> {
  const page = await strangersTab(browser);
  await page.goto(`${new URL(service.ready.control).origin}/dashboard${path}`);
  await page.getByLabel('User', { exact: true }).fill(user);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  return page;
}

/** Opens a tab of somebody nobody knows. An error of a script in it fails the test. */
async function strangersTab(browser: TestBrowser, options: BrowserContextOptions = {}): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  const page = await context.newPage();
  page.on('pageerror', (error) => {
    throw error;
  });
  return page;
}
