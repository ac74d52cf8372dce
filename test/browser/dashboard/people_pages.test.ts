import { afterAll, beforeAll, expect, test } from 'vitest';
import { ROLE_PERMISSIONS } from '#pipelines/settings/access.ts';
import { axeViolations } from '../harness/axe.ts';
import { withLive } from './harness/live_answers.ts';
import { withTraffic } from './harness/overview_answers.ts';
import { type StubApi, startStubApi } from './harness/stub_api.ts';
import { openStubDashboard, type StubDashboard } from './harness/stub_dashboard.ts';

let dashboard: StubDashboard;
beforeAll(async () => {
  dashboard = await openStubDashboard();
});
afterAll(() => dashboard.close());

const AT_MS = Date.UTC(2026, 10, 21, 12);
const properties = { $current_url: 'https://shop.example/cart?step=1', $title: 'Your cart' };
const listed = (event: string, value: number | null) => ({
  ...{ event_id: `e-${event}`, event, timestamp: AT_MS, received_at: AT_MS, distinct_id: 'd', person_id: 'p-1' },
  ...{ action_source: 'website', mode: 'online', country: 'DE', value, currency: 'EUR', order_id: '', properties },
});

const shop = (): StubApi =>
  withLive(withTraffic(startStubApi()), Date.now() - 9_000, 3).on('POST', /\/timeline$/, {
    events: [listed('purchase', 42.5), listed('page_view', null)],
    as_of: AT_MS,
  });

test('who was seen last is listed, and leads to what they did and bought', async () => {
  const { page, context, faults } = await dashboard.visit('/sites/shop/people', shop());
  const people = page.getByRole('region', { name: 'People recently seen' });
  await people.getByRole('link').first().waitFor();
  expect(await axeViolations(page)).toEqual([]);
  await people.getByRole('link').first().focus();
  await page.keyboard.press('Enter');
  await page.getByText('/cart · Your cart').first().waitFor();
  await page.getByText('Revenue USD').waitFor();
  expect(
    await page
      .locator('.facts')
      .getByText(/^€[\d,.]+$/)
      .count(),
  ).toBe(1);
  expect(await axeViolations(page)).toEqual([]);
  expect(faults).toEqual([]);
  await context.close();
});

test('who may not look at single events is not asked to, and can still search', async () => {
  const permissions = ROLE_PERMISSIONS.analyst.filter((permission) => permission !== 'query.events');
  const grant = { role: 'analyst', account_id: null, site_id: null, permissions };
  const api = shop().on('GET', '/v1/session', { id: 'bo', name: 'Bo', kind: 'user', grants: [grant] });
  const { page, context } = await dashboard.visit('/sites/shop/people', api);
  await page.getByLabel('E-mail address or id').waitFor();
  expect(await page.getByText('Recently seen').count()).toBe(0);
  expect(api.requests.filter((one) => one.endsWith('/live'))).toEqual([]);
  await context.close();
});

test('a search stands in the address, an e-mail address by its hash, and is there on the way back', async () => {
  const api = shop();
  const { page, context } = await dashboard.visit('/sites/shop/people', api);
  const field = page.getByLabel('E-mail address or id');
  await field.fill('order-17');
  await page.getByRole('button', { name: 'Search' }).click();
  await page.waitForURL('**/people?*id=order-17*');
  await field.fill('Eva@Mail.example');
  await page.getByRole('button', { name: 'Search' }).click();
  await page.waitForURL(/[?&]id=[0-9a-f]{64}/);
  expect(page.url().toLowerCase()).not.toContain('mail.example');
  const address = page.url();
  await page.goto('about:blank');
  await page.goBack();
  expect(page.url()).toBe(address);
  await page.getByRole('button', { name: 'Search' }).waitFor();
  expect(await field.inputValue()).toMatch(/^[0-9a-f]{64}$/);
  await context.close();
});
