import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '#test/harness/until.ts';
import { withLive, withTrace } from './harness/live_answers.ts';
import { withTraffic } from './harness/overview_answers.ts';
import { refusal, type StubApi, startStubApi } from './harness/stub_api.ts';
import { openStubDashboard, type StubDashboard } from './harness/stub_dashboard.ts';

let dashboard: StubDashboard;
beforeAll(async () => {
  dashboard = await openStubDashboard();
});
afterAll(() => dashboard.close());

const CANARY = '<img src=x onerror="document.title=1">';
const shop = (): StubApi => withTrace(withLive(withTraffic(startStubApi()), Date.now() - 20_000, 5));
const questions = (api: StubApi): number => api.requests.filter((one) => one.endsWith('/live')).length;

test('a row opens to the whole way of its event, by keyboard, and the focus comes back to it', async () => {
  const { page, context, faults } = await dashboard.visit('/sites/shop/live', shop());
  await page.getByRole('button', { name: 'Pause' }).click();
  const row = page.getByRole('row').nth(1).getByRole('button');
  await row.focus();
  await page.keyboard.press('Enter');
  const dialog = page.getByRole('dialog', { name: 'Event trace' });
  for (const text of ['One duplicate was dropped.', 'Waiting for a retry', 'try later', 'with the browser key']) {
    await dialog.getByText(text).waitFor();
  }
  expect(new URL(page.url()).searchParams.get('open')).toMatch(/^0199f6c2/);
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  expect(await row.evaluate((button) => button === document.activeElement)).toBe(true);
  await row.click();
  await dialog.getByRole('link', { name: 'Open full page' }).click();
  await page.waitForURL(/\/events\/0199f6c2/);
  await page.getByRole('heading', { level: 2, name: 'webhook' }).waitFor();
  expect(faults).toEqual([]);
  await context.close();
});

test('a click anywhere on a row opens it, with its id whole and its value as money', async () => {
  const { page, context, faults } = await dashboard.visit('/sites/shop/live', shop());
  await page.getByRole('button', { name: 'Pause' }).click();
  const row = page.getByRole('row').filter({ hasText: 'purchase' }).first();
  const id = (await row.getByTitle(/^0199f6c2-/).getAttribute('title')) ?? '';
  expect(await row.getByTitle(id).textContent()).toBe(`0199f6c2…${id.slice(-6)}`);
  await row.getByText('€42.50').click();
  await page.getByRole('dialog').getByText(id, { exact: true }).waitFor();
  expect(faults).toEqual([]);
  await context.close();
});

test('of an event that is counted under another name both are said', async () => {
  const named = { event: '$pageview' };
  const api = withTrace(withLive(withTraffic(startStubApi()), Date.now() - 9_000, 1, named));
  const { page, context, faults } = await dashboard.visit('/sites/shop/live', api);
  const row = page.getByRole('row').nth(1);
  await row.getByText('counted as page_view').waitFor();
  expect(await row.getByRole('button').textContent()).toBe('$pageview');
  expect(faults).toEqual([]);
  await context.close();
});

test('while it is paused older events are read, until the first that arrived', async () => {
  const burst = withLive(withTraffic(startStubApi()), Date.now() - 4_000, 400);
  const { page, context, faults } = await dashboard.visit('/sites/shop/live', burst);
  await page.getByText('not shown').waitFor();
  expect(await page.getByRole('button', { name: 'Show older' }).count()).toBe(0);
  await page.getByRole('button', { name: 'Pause' }).click();
  const older = page.getByRole('button', { name: 'Show older' });
  await older.focus();
  await page.keyboard.press('Enter');
  await page.getByText(/^Loaded back to/).waitFor();
  const rows = page.getByRole('region', { name: 'Newest events' });
  const readOn = async (): Promise<number> => {
    await older.click();
    await rows.evaluate((region) => region.scrollTo(0, region.scrollHeight));
    return page.getByTitle('0199f6c2-0000-7000-8000-000000000000').count();
  };
  await expect.poll(readOn, { timeout: 20_000 }).toBe(1);
  await page.getByText('not shown').waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Resume' }).click();
  await older.waitFor({ state: 'detached' });
  expect(faults).toEqual([]);
  await context.close();
});

test('while it is paused nothing is asked, and what came meanwhile is there when it goes on', async () => {
  const api = shop();
  const { page, context } = await dashboard.visit('/sites/shop/live', api);
  await page.getByText('a second').waitFor();
  await page.getByRole('button', { name: 'Pause' }).click();
  await page.getByText('paused').waitFor();
  await page.waitForTimeout(300);
  const before = questions(api);
  const seen = Number(await page.locator('.live-bar .strong').textContent());
  await page.waitForTimeout(1_500);
  expect(questions(api)).toBe(before);
  await page.getByRole('button', { name: 'Resume' }).click();
  await until(
    'the events of the pause',
    async () => Number(await page.locator('.live-bar .strong').textContent()),
    (count) => count >= seen + 7,
  );
  await context.close();
});

test('filters are asked for, kept in the address, and taken away again', async () => {
  const asked: unknown[] = [];
  const api = shop().on('POST', /\/live$/, (body) => {
    const { events, filters } = body as { events?: string[]; filters?: object[] };
    asked.push({ events, filters });
    return { events: [], as_of: 0 };
  });
  const { page, context } = await dashboard.visit('/sites/shop/live', api);
  await page.getByRole('combobox', { name: 'Event' }).click();
  await page.getByRole('option', { name: 'purchase' }).click();
  await page.getByLabel('Distinct id').fill('visitor-7');
  await page.getByLabel('Property', { exact: true }).fill('cart.size');
  await page.getByLabel('Property value').fill('3');
  await page.keyboard.press('Enter');
  await page.waitForURL('**/live?event=purchase&distinct_id=visitor-7&property=cart.size&value=3');
  const wanted = {
    events: ['purchase'],
    filters: [
      { field: { column: 'distinct_id' }, is: 'equal', to: ['visitor-7'] },
      { field: { property: ['cart', 'size'] }, is: 'equal', to: ['3', 3] },
    ],
  };
  const last = (): unknown => asked.at(-1);
  await until('the question', last, (one) => JSON.stringify(one) === JSON.stringify(wanted));
  await page.reload();
  await page.getByText('No matching events in the last 10 minutes').waitFor();
  expect(last()).toEqual(wanted);
  expect(await page.getByLabel('Distinct id').inputValue()).toBe('visitor-7');
  await page.getByRole('button', { name: 'Clear' }).click();
  await until('the question', last, (one) => JSON.stringify(one) === '{}');
  await context.close();
});

test('what strangers wrote into any field of an event is a text', async () => {
  const event = {
    event: CANARY,
    distinct_id: CANARY,
    action_source: CANARY,
    currency: CANARY,
    properties: { $current_url: CANARY },
  };
  const deadLetter = { id: 'dedup-0-1', stage: CANARY, reason: CANARY, died_at: 0, resent_at: null };
  const attempt = {
    attempt: 1,
    attempted_at: 1,
    outcome: CANARY,
    reason: CANARY,
    took_ms: 1,
    answer: { status: 500, body: CANARY },
  };
  const api = withTrace(withLive(withTraffic(startStubApi(), [CANARY]), Date.now() - 9_000, 1, event), {
    dead_letters: [deadLetter],
    destinations: [{ destination: CANARY, state: 'dead', reason: CANARY, attempts: [attempt] }],
  });
  const { page, context, faults } = await dashboard.visit(`/sites/shop/live?open=${encodeURIComponent(CANARY)}`, api);
  await page.getByText('HTTP 500').waitFor();
  await page.getByText(`Dead letter of ${CANARY}`).waitFor();
  await page.locator('tbody').getByText(CANARY).first().waitFor();
  expect(await page.locator('#app img, #app [onerror]').count()).toBe(0);
  expect(await page.title()).toBe('Live · shop · Dashboard');
  expect(faults).toEqual([]);
  await context.close();
});

test('an event that nothing is known of, and a role that may not look, are said', async () => {
  const api = shop()
    .on('GET', /\/events\//, refusal(404, 'event_unknown', 'Nothing is known of it.'))
    .on('POST', /\/live$/, refusal(403, 'permission_missing'));
  const { page, context } = await dashboard.visit('/sites/shop/events/e', api);
  await page.getByText('Nothing is known of it.').waitFor();
  await page.getByRole('link', { name: 'Live' }).click();
  await page.getByText('You do not have permission to view or do this.').waitFor();
  await context.close();
});
