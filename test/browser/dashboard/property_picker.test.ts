import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '#test/harness/until.ts';
import { axeViolations } from '../harness/axe.ts';
import { withLive } from './harness/live_answers.ts';
import { withTraffic } from './harness/overview_answers.ts';
import { startStubApi } from './harness/stub_api.ts';
import { openStubDashboard, type StubDashboard } from './harness/stub_dashboard.ts';

let dashboard: StubDashboard;
beforeAll(async () => {
  dashboard = await openStubDashboard();
});
afterAll(() => dashboard.close());

test('properties are offered in groups, each once, with examples, and chosen by keyboard', async () => {
  const properties = { value: 42.5, plan: 'pro' };
  const api = withLive(withTraffic(startStubApi()), Date.now() - 9_000, 3, { properties });
  const { page, context, faults } = await dashboard.visit('/sites/shop/funnels', api);
  await page.getByRole('button', { name: 'All steps: add a filter' }).click();
  const field = page.getByRole('combobox', { name: /property$/ });
  await field.click();
  const list = page.getByRole('listbox').filter({ has: page.getByRole('group', { name: 'Event fields' }) });
  await list.getByRole('group', { name: 'Properties' }).getByText('such as pro').waitFor();
  expect(await list.getByRole('group').evaluateAll((groups) => groups.map((group) => group.ariaLabel))).toEqual([
    'Visit',
    'Event fields',
    'Properties',
    "Person's first value",
    "Person's last value",
  ]);
  expect(await list.getByRole('option', { name: 'Value', exact: true }).count()).toBe(1);
  expect(await list.getByText('the property value; such as 42.5').count()).toBe(1);
  expect(await axeViolations(page)).toEqual([]);
  await field.fill('plan');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  expect(await field.inputValue()).toBe("plan, the person's first");
  expect(faults).toEqual([]);
  await context.close();
});

test('Enter takes the first event found, and a name that never came is marked', async () => {
  const api = withLive(withTraffic(startStubApi()), Date.now() - 9_000, 3);
  const { page, context, faults } = await dashboard.visit('/sites/shop/trends', api);
  const field = page.getByRole('combobox', { name: /: event$/ }).first();
  await field.click();
  await page.getByRole('option', { name: 'purchase', exact: true }).waitFor();
  await field.fill('urch');
  await page.keyboard.press('Enter');
  expect(await field.inputValue()).toBe('purchase');
  await field.fill('zzz');
  await page.getByText('No matches. Press Enter to use “zzz”.').waitFor();
  await page.keyboard.press('Enter');
  await page.getByText('No such event in the last 30 days').waitFor();
  expect(await field.inputValue()).toBe('zzz');
  expect(faults).toEqual([]);
  await context.close();
});

test('the way back undoes the changes of a question, one after the other', async () => {
  const api = withLive(withTraffic(startStubApi()), Date.now() - 9_000, 3);
  const { page, context, faults } = await dashboard.visit('/sites/shop/trends', api);
  const field = page.getByRole('combobox', { name: /: event$/ }).first();
  await field.click();
  await page.getByRole('option', { name: 'purchase', exact: true }).click();
  const measure = page.getByRole('combobox', { name: 'Series A: measure' });
  await measure.focus();
  await measure.selectOption('People');
  await page.goBack();
  await until(
    'one back',
    () => measure.inputValue(),
    (value) => value === 'events',
  );
  expect(await field.inputValue()).toBe('purchase');
  await page.goBack();
  await until(
    'two back',
    () => field.inputValue(),
    (value) => value === 'page_view',
  );
  expect(new URL(page.url()).pathname).toMatch(/\/trends$/);
  expect(faults).toEqual([]);
  await context.close();
});
