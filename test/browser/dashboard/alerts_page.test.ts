import { afterAll, beforeAll, expect, test } from 'vitest';
import { axeViolations } from '../harness/axe.ts';
import { withAlerts } from './harness/alert_answers.ts';
import { CANARY } from './harness/operations_answers.ts';
import { refusal, siteOf, startStubApi } from './harness/stub_api.ts';
import { openStubDashboard, type StubDashboard } from './harness/stub_dashboard.ts';

let dashboard: StubDashboard;
beforeAll(async () => {
  dashboard = await openStubDashboard();
});
afterAll(() => dashboard.close());

test('the page says how alerts are, what fired, and what became of each message', async () => {
  const { page, context, faults } = await dashboard.visit('/sites/shop/alerts', withAlerts(startStubApi()));
  const alerts = page.getByRole('region', { name: 'Alerts', exact: true });
  const row = alerts.getByRole('row', { name: /Few orders/ });
  await row.getByText('Firing').waitFor();
  await row.getByText('fell by more than 40% against the same interval 7 days before').waitFor();
  const paused = alerts.getByRole('row', { name: /above 80%/ });
  await paused.getByText('Paused').waitFor();
  await paused.getByText(CANARY).waitFor();
  const fired = page.getByRole('region', { name: 'What fired' }).getByRole('row', { name: /Few orders/ });
  await fired.getByText('12, before 31').waitFor();
  await fired.getByText(/\*\*\*@shop\.example: sent .*, maybe twice/).waitFor();
  await fired.getByText('pager.example: could not be sent (http_500)').waitFor();
  expect(faults).toEqual([]);
  await context.close();
});

test('an alert that waits says until when, in the list and opened, in the zone of the site', async () => {
  const site = { ...siteOf('shop', 'Corner shop'), time_zone: 'Asia/Tokyo' };
  const until = Date.parse('2099-12-07T00:00:00+09:00');
  const state = {
    ...{ alert_id: 'few-orders', status: 'waiting', since: 0, waits_until: until, value: null, base: null },
    ...{ from: null, to: null, problem: '', looked_at: 0 },
  };
  const api = withAlerts(startStubApi())
    .on('GET', '/v1/admin/sites/shop', site)
    .on('GET', '/v1/admin/sites', { items: [site], next: null })
    .on('GET', '/v1/admin/sites/shop/alert-states', { items: [state] });
  const { page, context, faults } = await dashboard.visit('/sites/shop/alerts', api);
  await page.getByText('Waiting for data until 7 Dec, 00:00').waitFor();
  await page.getByRole('button', { name: 'Few orders' }).click();
  const dialog = page.getByRole('dialog', { name: 'Few orders' });
  await dialog.getByText('The first (day) ends 7 Dec, 00:00, Asia/Tokyo, and is judged 10 minutes later.').waitFor();
  await page.setViewportSize({ width: 390, height: 844 });
  expect(await axeViolations(page)).toEqual([]);
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
  expect(faults).toEqual([]);
  await context.close();
});

test('an alert is made, changed, paused, tested and removed by keyboard alone', async () => {
  const sent: Record<string, unknown>[] = [];
  const api = withAlerts(startStubApi());
  const noting = api.answer.bind(api);
  api.answer = (method, url, body, ifMatch) => {
    if (method !== 'GET' && url.pathname.includes('/alerts')) sent.push({ method, ...body });
    return noting(method, url, body, ifMatch);
  };
  const { page, context, faults } = await dashboard.visit('/sites/shop/alerts', api);
  const press = async (name: string): Promise<void> => {
    await page.getByRole('button', { name, exact: true }).focus();
    await page.keyboard.press('Enter');
  };
  const dialog = page.getByRole('dialog');
  await page.getByText('Firing').waitFor();
  await press('New alert');
  await dialog.getByLabel('Name').focus();
  await page.keyboard.type('No sign-ups');
  await dialog.getByLabel('Events (optional)', { exact: true }).focus();
  await page.keyboard.type('sign_up, lead');
  await dialog.getByLabel('Condition').selectOption('no_data');
  await dialog.getByLabel('Address').focus();
  await page.keyboard.type('ops@shop.example');
  await page.keyboard.press('Enter');
  await page.getByText('Saved No sign-ups').waitFor();
  expect(sent.pop()).toMatchObject({
    ...{ method: 'POST', id: 'no-sign-ups', kind: 'question', interval: 'day', condition: { is: 'no_data' } },
    question: { series: [{ events: ['sign_up', 'lead'] }] },
    channels: [{ id: 'email', kind: 'email', target: 'ops@shop.example' }],
  });

  await press('Few orders');
  await dialog.getByLabel('Percent').fill('55');
  await press('Save');
  await page.getByText('Saved Few orders').waitFor();
  // Addresses that are not given stay as they are.
  expect(sent.pop()).toMatchObject({
    ...{ method: 'PUT', condition: { is: 'fell', percent: 55, against: 'week' } },
    channels: [
      { id: 'team', kind: 'email' },
      { id: 'pager', kind: 'webhook' },
    ],
  });

  await press('Few orders');
  await press('Send a test');
  await page.getByText('The test is being sent').waitFor();
  await press('Pause');
  await page.getByText('Few orders was paused').waitFor();
  expect(sent.pop()).toMatchObject({ method: 'PUT', id: 'few-orders', enabled: false });
  await press('Remove');
  await page.getByRole('dialog', { name: 'Remove Few orders?' }).getByRole('button', { name: 'Remove' }).focus();
  await page.keyboard.press('Enter');
  await page.getByText('Few orders was removed').waitFor();
  expect(sent.pop()).toMatchObject({ method: 'DELETE' });
  expect(faults).toEqual([]);
  await context.close();
});

test('a saved question is taken over as it is', async () => {
  let made: Record<string, unknown> = {};
  const api = withAlerts(startStubApi()).on('POST', '/v1/admin/sites/shop/alerts', (body) => {
    made = { ...body };
    return refusal(400, 'settings_invalid', 'Some fields are invalid; see problems.');
  });
  const { page, context } = await dashboard.visit('/sites/shop/alerts?alert=%2B', api);
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Question').selectOption({ label: 'Saved: Sales' });
  await dialog.getByLabel('Name').fill('Low sales');
  await dialog.getByLabel('Address').fill('ops@shop.example');
  await page.keyboard.press('Enter');
  await dialog.getByText('Some fields are invalid').waitFor();
  expect(made['question']).toEqual({ series: [{ events: ['purchase'], sum: { column: 'value' } }] });
  await context.close();
});

test.for([
  ['the list', '/sites/shop/alerts', 'Firing'],
  ['an alert', '/sites/shop/alerts?alert=few-orders', 'Send a test'],
  ['a paused one', '/sites/shop/alerts?alert=used', 'Resume'],
  ['a new one', '/sites/shop/alerts?alert=%2B', 'Add a channel'],
])('%s: axe finds nothing, light and dark, wide and 390 px narrow', async ([, path, ready]) => {
  const { page, context, faults } = await dashboard.visit(path ?? '', withAlerts(startStubApi()));
  await page
    .getByText(ready ?? '')
    .first()
    .waitFor();
  const more = page.getByText('When to tell');
  if ((await more.count()) > 0) await more.click();
  for (const colorScheme of ['light', 'dark'] as const) {
    for (const width of [1280, 390]) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: 844 });
      expect(await axeViolations(page), `${colorScheme} ${width}`).toEqual([]);
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
    }
  }
  expect(faults).toEqual([]);
  await context.close();
});
