import { afterAll, beforeAll, expect, test } from 'vitest';
import { withLive } from './harness/live_answers.ts';
import { withTraffic } from './harness/overview_answers.ts';
import { refusal, type StubApi, startStubApi } from './harness/stub_api.ts';
import { openStubDashboard, type StubDashboard } from './harness/stub_dashboard.ts';

let dashboard: StubDashboard;
beforeAll(async () => {
  dashboard = await openStubDashboard();
});
afterAll(() => dashboard.close());

const shop = (): StubApi => withLive(withTraffic(startStubApi()), Date.now() - 20_000, 5);

test('filters are those of the address also after going back and forward', async () => {
  const { page, context, faults } = await dashboard.visit('/sites/shop/live', shop());
  const id = page.getByLabel('Distinct id', { exact: true });
  await id.fill('visitor-7');
  await page.keyboard.press('Enter');
  await page.waitForURL('**/live?distinct_id=visitor-7');
  await page.goBack();
  await page.waitForURL('**/live');
  await expect.poll(() => id.inputValue()).toBe('');
  await page.goForward();
  await page.waitForURL('**/live?distinct_id=visitor-7');
  await expect.poll(() => id.inputValue()).toBe('visitor-7');
  expect(faults).toEqual([]);
  await context.close();
});

test('a page whose session has ended asks nothing until somebody signs in again', async () => {
  const api = shop();
  const { page, context } = await dashboard.visit('/sites/shop/live', api);
  const asked = (): number => api.requests.filter((one) => one.endsWith('/live')).length;
  await page.getByText('a second').waitFor();
  api.on('POST', /\/live$/, refusal(401, 'session_missing'));
  const dialog = page.getByRole('dialog', { name: 'Session expired' });
  await dialog.waitFor();
  const before = asked();
  await page.waitForTimeout(2_500);
  expect(asked()).toBe(before);
  const { body: ana } = startStubApi().answer('GET', new URL('http://stub/v1/session'), null);
  withLive(api, Date.now() - 20_000, 5).on('POST', '/v1/session', ana as object);
  await dialog.getByLabel('Password').fill('of ana');
  await page.keyboard.press('Enter');
  await dialog.waitFor({ state: 'detached' });
  await expect.poll(asked, { timeout: 5_000 }).toBeGreaterThan(before);
  await context.close();
});

test('a question whose board did not take it is put there again, and saved once', async () => {
  const meta = { owner: 'ana', version: 'v1', changed_at: 0, changed_by: 'ana' };
  const api = shop()
    .on('GET', '/v1/admin/sites/shop/boards', { items: [], next: null })
    .on('GET', '/v1/admin/sites/shop/questions', { items: [], next: null })
    .on('POST', '/v1/admin/sites/shop/questions', (body) => ({ ...body, ...meta }))
    .on('POST', '/v1/admin/sites/shop/boards', refusal(503, 'settings_unavailable'));
  const { page, context } = await dashboard.visit('/sites/shop/trends', api);
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  const dialog = page.getByRole('dialog', { name: 'Save query' });
  await dialog.getByLabel('Name', { exact: true }).fill('Views');
  await dialog.getByLabel('Board', { exact: true }).selectOption('New board');
  await dialog.getByLabel('Board name').fill('Week');
  await dialog.getByRole('button', { name: 'Save', exact: true }).click();
  await dialog.getByText('“Views” is saved').waitFor();
  await dialog.getByText('settings_unavailable').last().waitFor();
  api.on('POST', '/v1/admin/sites/shop/boards', (body) => ({ ...body, ...meta }));
  await dialog.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('Saved “Views”').waitFor();
  expect(api.requests.filter((one) => one === 'POST /v1/admin/sites/shop/questions')).toHaveLength(1);
  await context.close();
});
