import { afterAll, beforeAll, expect, test } from 'vitest';
import { withTrace } from './harness/live_answers.ts';
import { withTraffic } from './harness/overview_answers.ts';
import { type StubApi, startStubApi } from './harness/stub_api.ts';
import { openStubDashboard, type StubDashboard } from './harness/stub_dashboard.ts';

let dashboard: StubDashboard;
beforeAll(async () => {
  dashboard = await openStubDashboard();
});
afterAll(() => dashboard.close());

const shop = (): StubApi => withTrace(withTraffic(startStubApi()));

test('the period that was chosen is the same after pages without one, after a reload, and is gone where it was given up', async () => {
  const { page, context, faults } = await dashboard.visit('/sites/shop/overview', shop());
  const period = (label: string) => page.getByRole('button', { name: `Period: ${label}` });
  await period('Last 7 days').click();
  await page.getByRole('button', { name: 'Last 30 days' }).click();
  await period('Last 30 days').waitFor();
  await page.getByRole('button', { name: 'Account of Ana Lopes' }).click();
  await page.getByRole('button', { name: 'Sign-in settings' }).click();
  await page.getByRole('heading', { level: 1, name: 'Account' }).waitFor();
  expect(new URL(page.url()).searchParams.has('period')).toBe(false);
  await page.reload();
  await page.getByRole('link', { name: 'Trends', exact: true }).click();
  await period('Last 30 days').waitFor();
  expect(new URL(page.url()).searchParams.get('period')).toBe('30d');
  await period('Last 30 days').click();
  await page.getByRole('button', { name: 'Last 7 days' }).click();
  await page.goBack();
  await period('Last 30 days').waitFor();
  await page.goForward();
  await page.getByRole('link', { name: 'Overview' }).click();
  await period('Last 7 days').waitFor();
  expect(faults).toEqual([]);
  await context.close();
});

test('the way back leads to the period that was looked at before', async () => {
  const { page, context } = await dashboard.visit('/sites/shop/overview', shop());
  await page.getByRole('button', { name: 'Period: Last 7 days' }).click();
  await page.getByRole('button', { name: 'Last 90 days' }).click();
  await page.getByRole('button', { name: 'Period: Last 90 days' }).waitFor();
  await page.goBack();
  await page.getByRole('button', { name: 'Period: Last 7 days' }).waitFor();
  await page.getByRole('link', { name: 'Trends', exact: true }).click();
  await page.getByRole('button', { name: 'Period: Last 7 days' }).waitFor();
  await context.close();
});

test('a link with a period of its own leaves the one that was chosen, and so do days of another kind', async () => {
  const { page, context, faults } = await dashboard.visit('/sites/shop/overview?period=30d', shop());
  const period = (label: string) => page.getByRole('button', { name: `Period: ${label}` });
  const follow = (path: string) =>
    page.evaluate((address) => {
      const link = document.body.appendChild(document.createElement('a'));
      link.href = address;
      link.click();
    }, `/dashboard${path}`);
  await period('Last 30 days').waitFor();
  await follow('/sites/shop/trends?period=90d');
  await period('Last 90 days').waitFor();
  await page.reload();
  await period('Last 90 days').waitFor();
  await page.getByRole('link', { name: 'Overview' }).click();
  await period('Last 30 days').waitFor();
  await page.goBack();
  await period('Last 90 days').click();
  await page.getByRole('button', { name: 'Today' }).click();
  await period('Today').waitFor();
  await follow('/account?view=audit&since=2026-01-01&until=2026-01-31');
  await page.getByRole('heading', { level: 1, name: 'Account' }).waitFor();
  await page.getByRole('link', { name: 'Overview' }).click();
  await period('Today').waitFor();
  expect(await page.getByRole('link', { name: 'Account' }).getAttribute('href')).toBe('/dashboard/account');
  expect(faults).toEqual([]);
  await context.close();
});

test('the dashboard opens at the site that this browser looked at last, if it may still be seen', async () => {
  const api = shop();
  const { page, context, faults } = await dashboard.visit('/sites/blog/overview', api);
  await page.getByRole('combobox', { name: 'Site' }).waitFor();
  await page.goto(`${dashboard.url}/dashboard/`);
  await page.waitForURL('**/sites/blog/overview');
  api.on('GET', '/v1/admin/sites', () => {
    const { body } = startStubApi().answer('GET', new URL('http://stub/v1/admin/sites'), null);
    const { items } = body as { items: { site_id: string }[] };
    return { items: items.filter(({ site_id }) => site_id === 'shop'), next: null };
  });
  await page.goto(`${dashboard.url}/dashboard/`);
  await page.waitForURL('**/sites/shop/overview');
  expect(faults).toEqual([]);
  await context.close();
});
