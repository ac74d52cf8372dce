import { readFile } from 'node:fs/promises';
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

const found = {
  ...{ distinct_ids: 2, persons: 2, identifiers: 1, tables: [{ table: 'event_rows', rows: 7 }], links: 1 },
  topics: [{ topic: 'events.raw', days: 16 }],
  destinations: [{ name: 'webhook', to_do: 'Delete what your own system has kept of the webhooks.' }],
};
const erasure = {
  ...{ erasure_id: 'e1-abc', site_id: 'shop', phase: 'done', detail: '', asked_by: 'user:ada', asked_at: AT_MS },
  ...{ done_at: AT_MS + 20_000, suppressed_until: AT_MS + 60 * 86_400_000 },
  erased: [{ place: 'event_rows', count: 7 }],
  left: [{ place: 'events.raw', until: AT_MS + 16 * 86_400_000 }],
  destinations: [{ ...found.destinations[0], state: 'told', reason: '' }],
};

const shop = (): StubApi =>
  withLive(withTraffic(startStubApi()), Date.now() - 9_000, 3)
    .on('POST', /\/timeline$/, {
      events: [listed('Order Refunded', 12.5), listed('purchase', 42.5), listed('page_view', null)],
      as_of: AT_MS,
    })
    .on('POST', /\/persons\/find$/, found)
    .on('POST', /\/persons\/export$/, { events: [{ event_id: 'e-1' }], links: [{ kind: 'person' }], next: null })
    .on('POST', /\/persons\/erase$/, erasure)
    .on('GET', /\/erasures$/, { items: [erasure], next: null })
    .on('GET', /\/erasures\/e1-abc$/, erasure);

test('who was seen last is listed, and leads to what they did and bought', async () => {
  const { page, context, faults } = await dashboard.visit('/sites/shop/people', shop());
  const people = page.getByRole('region', { name: 'People recently seen' });
  await people.getByRole('link').first().waitFor();
  expect(await axeViolations(page)).toEqual([]);
  const table = page.waitForEvent('download');
  await page.getByRole('button', { name: 'CSV', exact: true }).first().click();
  const [head, first] = (await readFile(await (await table).path(), 'utf8')).split('\r\n');
  expect(head).toBe('\uFEFFPerson,Last seen (UTC),Last event,Page,Recent events');
  expect(first).toMatch(/^[^,]+,\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,/);
  await people.getByRole('link').first().focus();
  await page.keyboard.press('Enter');
  await page.getByText('/cart · Your cart').first().waitFor();
  await page.getByText('Revenue USD').waitFor();
  expect(await page.locator('.timeline .badge').getByText('€').allTextContents()).toEqual(['-€12.50', '€42.50']);
  await page.getByRole('heading', { name: 'Saturday, 21 Nov 2026' }).waitFor();
  expect(await page.locator('.facts').getByText('21 Nov 2026, 12:00:00').count()).toBe(2);
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

test('a person is found, exported and erased by keyboard, and the receipt is shown, wide and narrow', async () => {
  const api = shop();
  const { page, context, faults } = await dashboard.visit('/sites/shop/people/p-1', api);
  await page.setViewportSize({ width: 390, height: 844 });
  const opens = page.getByRole('button', { name: 'Data and erasure' });
  await opens.focus();
  await page.keyboard.press('Enter');
  await page.getByText('7 rows').waitFor();
  expect(await axeViolations(page)).toEqual([]);
  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Export' }).focus();
  await page.keyboard.press('Enter');
  const text = await readFile(await (await download).path(), 'utf8');
  expect(text).toBe('{"link":{"kind":"person"}}\n{"event":{"event_id":"e-1"}}\n');
  await page.getByRole('button', { name: 'Erase' }).focus();
  await page.keyboard.press('Enter');
  await page.getByText('2 distinct ids').waitFor();
  expect(await axeViolations(page)).toEqual([]);
  await page.getByRole('button', { name: 'Erase for good' }).focus();
  await page.keyboard.press('Enter');
  await page.getByText('7 erased').waitFor();
  await page.getByText('Notified by person.erased').waitFor();
  expect(await axeViolations(page)).toEqual([]);
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
  expect(api.requests.filter((one) => one.endsWith('/persons/erase'))).toHaveLength(1);
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  expect(faults).toEqual([]);
  await context.close();
});

test('erasures are listed with their state, and lead to their receipts', async () => {
  const { page, context, faults } = await dashboard.visit('/sites/shop/people', shop());
  const list = page.getByRole('region', { name: 'Erasures' });
  await list.getByText('Done', { exact: true }).last().waitFor();
  for (const width of [1280, 390]) {
    await page.setViewportSize({ width, height: 844 });
    expect(await axeViolations(page)).toEqual([]);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
  }
  await list.getByRole('button').filter({ hasText: '2026' }).first().focus();
  await page.keyboard.press('Enter');
  await page.getByText('7 erased').waitFor();
  expect(await axeViolations(page)).toEqual([]);
  expect(faults).toEqual([]);
  await context.close();
});

test('who may not erase is offered an export alone', async () => {
  const grant = { role: 'analyst', account_id: null, site_id: null, permissions: ROLE_PERMISSIONS.analyst };
  const api = shop().on('GET', '/v1/session', { id: 'bo', name: 'Bo', kind: 'user', grants: [grant] });
  const { page, context } = await dashboard.visit('/sites/shop/people/p-1', api);
  await page.getByRole('button', { name: 'Data and erasure' }).click();
  await page.getByRole('button', { name: 'Export' }).waitFor();
  expect(await page.getByRole('button', { name: 'Erase' }).count()).toBe(0);
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
