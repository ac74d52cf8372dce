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

test('what is typed after Escape and another click takes the place of what stands there', async () => {
  const api = withLive(withTraffic(startStubApi()), Date.now() - 9_000, 3);
  const { page, context, faults } = await dashboard.visit('/sites/shop/trends', api);
  const field = page.getByRole('combobox', { name: /: event$/ }).first();
  const option = page.getByRole('option', { name: 'purchase', exact: true });
  await field.click();
  await option.waitFor();
  await page.keyboard.press('Escape');
  await option.waitFor({ state: 'hidden' });
  await field.click();
  await option.waitFor();
  await expect.poll(() => page.evaluate('getSelection().toString()')).toBe('page_view');
  await page.keyboard.type('urch');
  expect(await field.inputValue()).toBe('urch');
  expect(faults).toEqual([]);
  await context.close();
});

test('a part of a name takes what begins so, by leaving the field too, and the text itself where that is chosen', async () => {
  const properties = { plan: 'pro', old_plan: 'free' };
  const api = withLive(withTraffic(startStubApi()), Date.now() - 9_000, 3, { properties });
  const { page, context, faults } = await dashboard.visit('/sites/shop/trends', api);
  const event = page.getByRole('combobox', { name: /: event$/ }).first();
  await event.click();
  await page.getByRole('option', { name: 'purchase', exact: true }).waitFor();
  await event.fill('purch');
  expect(await page.locator('[role=option][aria-selected=true]').textContent()).toBe('purchase');
  expect(await axeViolations(page)).toEqual([]);
  await page.keyboard.press('Tab');
  expect(await event.inputValue()).toBe('purchase');
  await event.fill('purch');
  await page.getByRole('option', { name: 'Use “purch”' }).click();
  expect(await event.inputValue()).toBe('purch');
  await page.getByText('No such event in the last 30 days').waitFor();
  await page.getByRole('button', { name: 'Series A: add a filter' }).click();
  const property = page.getByRole('combobox', { name: /property$/ });
  await property.fill('pla');
  await page.keyboard.press('Enter');
  expect(await property.inputValue()).toBe('plan');
  const breakdown = page.getByRole('combobox', { name: 'Break down by' });
  await breakdown.fill('no_such_thing');
  await page.keyboard.press('Enter');
  await page.getByText('Not in the newest events').waitFor();
  expect(faults).toEqual([]);
  await context.close();
});

/** The questions of a page, each changed once by a field, and what the field is before. */
const CHANGES = [
  { page: 'funnels', field: 'Step order', to: 'any', before: 'ordered' },
  { page: 'retention', field: 'First-event mode', to: 'recurring', before: 'first' },
  { page: 'paths', field: 'Steps', to: '7', before: '4' },
  { page: 'trends', field: 'Compare with', to: 'previous', before: '' },
];

test('the way back undoes the last change of each kind of question', async () => {
  const api = withLive(withTraffic(startStubApi()), Date.now() - 9_000, 3);
  for (const { page: path, field, to, before } of CHANGES) {
    const { page, context, faults } = await dashboard.visit(`/sites/shop/${path}`, api);
    const select = page.getByLabel(field, { exact: true });
    await select.selectOption(to);
    await expect.poll(() => new URL(page.url()).searchParams.has('q')).toBe(true);
    await page.goBack();
    await expect.poll(() => select.inputValue(), { message: path }).toBe(before);
    expect(new URL(page.url()).pathname).toContain(path);
    expect(faults).toEqual([]);
    await context.close();
  }
});

test('the fields of a question are as high as the one beside them that has a hint', async () => {
  const api = withLive(withTraffic(startStubApi()), Date.now() - 9_000, 3);
  const { page, context, faults } = await dashboard.visit('/sites/shop/funnels', api);
  await page.getByRole('combobox', { name: 'Break down by' }).fill('plan');
  await page.keyboard.press('Enter');
  const heightOf = async (label: string) => (await page.getByLabel(label, { exact: true }).boundingBox())?.height;
  await page.getByLabel('Attribution').waitFor();
  expect(await heightOf('Step order')).toBe(await heightOf('Attribution'));
  expect(faults).toEqual([]);
  await context.close();
});

test('the way back undoes the changes of a question, one after the other', async () => {
  const api = withLive(withTraffic(startStubApi()), Date.now() - 9_000, 3);
  const { page, context, faults } = await dashboard.visit('/sites/shop/trends', api);
  const field = page.getByRole('combobox', { name: /: event$/ }).first();
  await field.click();
  await page.getByRole('option', { name: 'purchase', exact: true }).click();
  await field.click();
  await page.getByRole('option', { name: 'page_view', exact: true }).click();
  await page.goBack();
  await expect.poll(() => field.inputValue(), { message: 'a choice of the same list' }).toBe('purchase');
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
