import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ROLE_PERMISSIONS } from '#pipelines/settings/access.ts';
import { axeViolations } from '../harness/axe.ts';
import { setHidden } from './harness/hide_page.ts';
import { withTraffic } from './harness/overview_answers.ts';
import { refusal, type StubApi, startStubApi } from './harness/stub_api.ts';
import { openStubDashboard, type StubDashboard } from './harness/stub_dashboard.ts';

let dashboard: StubDashboard;
beforeAll(async () => {
  dashboard = await openStubDashboard();
});
afterAll(() => dashboard.close());

const shop = (): StubApi => withTraffic(startStubApi());
const focused = (page: Page): Promise<string> =>
  page.evaluate(() => document.activeElement?.getAttribute('aria-label') ?? document.activeElement?.textContent ?? '');

test('a stranger signs in, with a second factor, and is where they wanted to go; signing out leads back', async () => {
  let signedIn = false;
  const api = shop();
  const known = api.answer('GET', new URL('http://h/v1/session'), null);
  api
    .on('GET', '/v1/session', () => (signedIn ? known : refusal(401, 'session_missing')))
    .on('DELETE', '/v1/session', () => {
      signedIn = false;
      return { status: 200, body: {} };
    })
    .on('POST', '/v1/session', (body) => {
      const { password, code } = body as { password: string; code?: string };
      if (password !== 'right') return refusal(401, 'sign_in_refused', 'User and password do not belong together.');
      if (code === undefined) return refusal(403, 'second_factor_needed');
      signedIn = true;
      return known;
    });
  const { page, context, faults } = await dashboard.visit('/sites/blog/overview', api);
  await page.getByLabel('User', { exact: true }).fill('ana');
  await page.getByLabel('Password').fill('wrong');
  await page.keyboard.press('Enter');
  await page.getByText('User and password do not belong together.').waitFor();
  await page.getByLabel('Password').fill('right');
  await page.keyboard.press('Enter');
  await page.getByLabel('Code').fill('123456');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  expect(new URL(page.url()).pathname).toBe('/dashboard/sites/blog/overview');
  expect(await page.title()).toBe('Overview · blog · Dashboard');
  await page.getByRole('button', { name: 'Account of Ana Lopes' }).click();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  expect(faults).toEqual([]);
  await context.close();
});

test('whoever signs in again after the session has ended finds what they typed, and meanwhile nothing is shown', async () => {
  const api = shop();
  const known = api.answer('GET', new URL('http://h/v1/session'), null);
  let hasEnded = false;
  api
    .on('GET', '/v1/session', () => (hasEnded ? refusal(401, 'session_missing') : known))
    .on('GET', '/v1/admin/accounts', { items: [], next: null })
    .on('POST', /^\/v1\/admin\//, refusal(401, 'session_missing'))
    .on('POST', '/v1/session', (body) => {
      const { user_id, password } = body as { user_id: string; password: string };
      if (user_id !== 'ana' || password !== 'right') return refusal(401, 'sign_in_refused', 'Not that password.');
      hasEnded = false;
      return known;
    });
  const { page, context, faults } = await dashboard.visit('/new-site', api);
  const named = page.getByLabel('Name', { exact: true });
  await named.fill('A shop that took long to describe');
  await page.getByLabel('Events per month').fill('1000');
  hasEnded = true;
  await page.getByRole('button', { name: 'Create site' }).click();
  const dialog = page.getByRole('dialog', { name: 'Session expired' });
  await dialog.getByLabel('Password').fill('wrong');
  await page.keyboard.press('Enter');
  await dialog.getByText('Not that password.').waitFor();
  expect(await page.getByRole('navigation').count()).toBe(0);
  expect(await named.isVisible()).toBe(false);
  expect(await axeViolations(page)).toEqual([]);
  await page.keyboard.press('Escape');
  await dialog.getByLabel('Password').fill('right');
  await page.keyboard.press('Enter');
  await dialog.waitFor({ state: 'detached' });
  expect(await named.inputValue()).toBe('A shop that took long to describe');
  expect(faults).toEqual([]);
  await context.close();
});

test('the keyboard alone skips to the content, chooses a site and a period, and closes what it opened', async () => {
  const { page, context, faults } = await dashboard.visit('/', shop());
  await page.getByRole('heading', { level: 1 }).waitFor();
  await page.keyboard.press('Tab');
  expect(await focused(page)).toBe('Skip to content');
  await page.keyboard.press('Enter');
  expect(await page.evaluate(() => document.activeElement?.id)).toBe('main');
  await page.getByRole('combobox', { name: 'Site' }).focus();
  await page.keyboard.press('ArrowDown');
  expect(await page.getByRole('option').allTextContents()).toEqual(['Corner shop (shop)', 'blog']);
  await page.keyboard.type('blo');
  expect(await page.getByRole('option').allTextContents()).toEqual(['blog']);
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await page.waitForURL('**/sites/blog/overview');
  const period = page.getByRole('button', { name: 'Period' });
  await period.focus();
  await page.keyboard.press('Enter');
  await page.keyboard.press('Escape');
  expect(await focused(page)).toBe('Period: Last 7 days');
  await page.keyboard.press('Enter');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await page.waitForURL('**/overview?period=today');
  expect(faults).toEqual([]);
  await context.close();
});

test('where the screen is narrow the pages are folded away until they are asked for', async () => {
  const { page, context } = await dashboard.visit('/', shop(), { viewport: { width: 390, height: 844 } });
  const link = page.getByRole('link', { name: 'Overview' });
  await page.getByRole('heading', { level: 1 }).waitFor();
  expect(await link.isVisible()).toBe(false);
  await page.getByRole('button', { name: 'Pages' }).click();
  await link.waitFor();
  expect(await axeViolations(page)).toEqual([]);
  await page.keyboard.press('Escape');
  await link.waitFor({ state: 'hidden' });
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
  await context.close();
});

test('what a stranger named like a script is a text', async () => {
  const name = '<img src=x onerror="document.title=1"><script>document.title=1</script>';
  const api = withTraffic(startStubApi(), [name, `javascript:document.title=1//${name}`]);
  const { page, context, faults } = await dashboard.visit('/sites/shop/overview', api);
  await page.getByText(name, { exact: true }).waitFor();
  expect(await page.locator('main img, main script').count()).toBe(0);
  expect(await page.title()).toBe('Overview · shop · Dashboard');
  expect(faults).toEqual([]);
  await context.close();
});

test('a part that is away is named, and the other parts are shown', async () => {
  const api = shop().on('POST', /\/top$/, refusal(503, 'query_unavailable'));
  const { page, context } = await dashboard.visit('/sites/shop/overview', api);
  await page.getByText('ClickHouse is not responding').first().waitFor();
  await page.getByRole('button', { name: /^Visitors/ }).waitFor();
  await context.close();
});

test('a page outside the role says so in one sentence, and nothing of it is asked for', async () => {
  const grants = [{ role: 'viewer', account_id: null, site_id: 'shop', permissions: ROLE_PERMISSIONS.viewer }];
  const api = shop().on('GET', '/v1/session', { id: 'vic', name: 'Vic', kind: 'user', grants });
  const { page, context, faults } = await dashboard.visit('/sites/shop/keys', api);
  await page.getByRole('heading', { level: 1, name: 'Keys' }).waitFor();
  await page.locator('main p').first().waitFor();
  expect(await page.locator('main p').allTextContents()).toEqual(['You do not have access to this page.']);
  expect(await page.getByRole('navigation').getByRole('link', { name: 'Keys' }).count()).toBe(0);
  await page.waitForLoadState('networkidle');
  expect([...new Set(api.requests)].sort()).toEqual([
    'GET /v1/admin/sites',
    'GET /v1/admin/sites/shop',
    'GET /v1/session',
  ]);
  expect(await axeViolations(page)).toEqual([]);
  expect(faults).toEqual([]);
  await context.close();
});

test('while the page is hidden nothing is asked', async () => {
  const api = shop();
  const { page, context } = await dashboard.visit('/sites/shop/overview', api);
  /** What is asked in ten minutes. */
  const asked = async (): Promise<string[]> => {
    await page.getByText('visitors in the last 5 minutes').waitFor();
    await page.waitForLoadState('networkidle');
    const before = api.requests.length;
    await page.clock.fastForward(600_000);
    await page.waitForLoadState('networkidle');
    await page.waitForTimeout(300);
    return [...new Set(api.requests.slice(before))];
  };
  await page.clock.install();
  await page.reload();
  expect(await asked()).toEqual(expect.arrayContaining(['POST /v1/query/shop/trends', 'POST /v1/query/shop/top']));
  await setHidden(page, true);
  expect(await asked()).toEqual([]);
  const before = api.requests.length;
  await setHidden(page, false);
  await expect.poll(() => api.requests.length).toBeGreaterThan(before);
  await context.close();
});

test('a page that a role does not include has its title, and the focus on its heading', async () => {
  const permissions = ROLE_PERMISSIONS.viewer.filter((one) => one !== 'site.read');
  const grants = [{ role: 'viewer', account_id: null, site_id: 'shop', permissions }];
  const api = shop().on('GET', '/v1/session', { id: 'eve', name: 'Eve', kind: 'user', grants });
  const { page, context, faults } = await dashboard.visit('/sites/shop/overview', api);
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  await page.evaluate(() => {
    const link = document.body.appendChild(document.createElement('a'));
    link.href = '/dashboard/sites/shop/settings';
    link.click();
  });
  await page.getByText('You do not have access to this page').waitFor();
  await expect.poll(() => focused(page)).toBe('Site settings');
  expect(await page.title()).toBe('Site settings · shop · Dashboard');
  expect(faults).toEqual([]);
  await context.close();
});
