import { afterAll, beforeAll, expect, test } from 'vitest';
import { withTraffic } from './harness/overview_answers.ts';
import { withAccount } from './harness/settings_answers.ts';
import { refusal, startStubApi } from './harness/stub_api.ts';
import { openStubDashboard, type StubDashboard } from './harness/stub_dashboard.ts';

let dashboard: StubDashboard;
beforeAll(async () => {
  dashboard = await openStubDashboard();
});
afterAll(() => dashboard.close());

const asking = (question: object): string => new URLSearchParams({ q: JSON.stringify(question) }).toString();

/** What the address of a page asks. */
const asked = (url: string): unknown => JSON.parse(new URL(url).searchParams.get('q') ?? 'null');

test('a number with decimals is typed as it is meant, and stays as it was typed', async () => {
  const filter = { field: { column: 'value' }, is: 'above' };
  const series = [{ filters: [filter] }];
  const path = `/sites/shop/trends?${asking({ series })}`;
  const { page, context, faults } = await dashboard.visit(path, withTraffic(startStubApi()));
  const field = page.getByLabel('filter 1: value');
  await field.focus();
  await page.keyboard.type('0.05');
  expect(await field.inputValue()).toBe('0.05');
  expect(asked(page.url())).toMatchObject({ series: [{ filters: [{ ...filter, to: 0.05 }] }] });
  await field.fill('');
  await page.keyboard.type('-12.50');
  expect(await field.inputValue()).toBe('-12.50');
  expect(asked(page.url())).toMatchObject({ series: [{ filters: [{ ...filter, to: -12.5 }] }] });
  expect(faults).toEqual([]);
  await context.close();
});

test('a span takes decimals of its unit, can be emptied, and says its number again when it is left', async () => {
  const steps = [{ events: ['page_view'] }, { events: ['purchase'] }];
  const path = `/sites/shop/funnels?${asking({ steps, window_ms: 7_200_000 })}`;
  const { page, context } = await dashboard.visit(path, withTraffic(startStubApi()));
  const field = page.getByLabel('Conversion window', { exact: true });
  const unit = page.getByLabel('Conversion window: unit');
  await field.focus();
  await field.fill('');
  await page.keyboard.type('1.5');
  expect([await field.inputValue(), await unit.inputValue()]).toEqual(['1.5', '3600000']);
  expect(asked(page.url())).toMatchObject({ window_ms: 5_400_000 });
  await field.fill('');
  expect(await field.inputValue()).toBe('');
  await page.keyboard.press('Tab');
  expect(Number(await field.inputValue()) * Number(await unit.inputValue())).toBe(5_400_000);
  await context.close();
});

test('an allowance that is no plain number is sent as it was typed, so that the service says what is wrong', async () => {
  let sent: object | null = null;
  const api = withAccount(startStubApi()).on('POST', '/v1/admin/accounts', (body) => {
    sent = body;
    return refusal(400, 'request_invalid');
  });
  const { page, context } = await dashboard.visit('/new-site', api);
  await page.getByLabel('Name', { exact: true }).fill('Third shop');
  await page.getByLabel('Account', { exact: true }).selectOption('');
  await page.getByLabel('Events per month').fill('1,000,000');
  await page.getByRole('button', { name: 'Create site' }).click();
  await page.getByText('request_invalid').first().waitFor();
  expect(sent).toMatchObject({ monthly_allowance: '1,000,000' });
  await context.close();
});

test('a new site is asked for the currency of its revenue, which may be none', async () => {
  const sent: unknown[] = [];
  const api = withAccount(startStubApi()).on('POST', '/v1/admin/sites', (body) => {
    sent.push((body as { currency: unknown }).currency);
    return refusal(400, 'request_invalid');
  });
  const { page, context } = await dashboard.visit('/new-site', api);
  await page.getByLabel('Name', { exact: true }).fill('Third shop');
  for (const typed of ['', ' kwd']) {
    await page.getByLabel('Currency of revenue (optional)').fill(typed);
    await page.getByRole('button', { name: 'Create site' }).click();
    await expect.poll(() => sent.length).toBe(typed === '' ? 1 : 2);
  }
  expect(sent).toEqual([null, 'KWD']);
  await context.close();
});
