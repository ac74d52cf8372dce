import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { withCohorts } from './harness/cohort_answers.ts';
import { type StubApi, startStubApi } from './harness/stub_api.ts';
import { openStubDashboard, type StubDashboard } from './harness/stub_dashboard.ts';

let dashboard: StubDashboard;
beforeAll(async () => {
  dashboard = await openStubDashboard();
});
afterAll(() => dashboard.close());

/** What was sent to make, change or remove something of cohorts. */
function noted(): { api: StubApi; sent: object[] } {
  const sent: object[] = [];
  const api = withCohorts(startStubApi());
  const answer = api.answer.bind(api);
  api.answer = (method, url, body, ifMatch) => {
    if (method !== 'GET' && url.pathname.startsWith('/v1/admin/')) sent.push({ method, ...body });
    return answer(method, url, body, ifMatch);
  };
  return { api, sent };
}

test('cohorts are listed with their sizes', async () => {
  const { page, context, faults } = await dashboard.visit('/sites/shop/cohorts', withCohorts(startStubApi()));
  const texts = async (name: RegExp): Promise<string[]> => {
    const row = page.getByRole('row', { name });
    await row.getByText('41').waitFor();
    return (await row.getByRole('cell').allInnerTexts()).map((text) => text.trim());
  };
  expect(await texts(/Regulars/)).toEqual(expect.arrayContaining(['By conditions', '41', 'regulars']));
  expect(await texts(/VIPs/)).toEqual(expect.arrayContaining(['A list', '41', '1,234', 'vips']));
  expect(faults).toEqual([]);
  await context.close();
});

test('a cohort is made by clicks, and a bad value is told at its field and not sent', async () => {
  const { api, sent } = noted();
  const { page, context, faults } = await dashboard.visit('/sites/shop/cohorts', api);
  await page.getByRole('button', { name: 'New cohort' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name').fill('Two orders');
  await dialog.getByRole('combobox', { name: 'Event 1: event' }).click();
  await page.getByRole('option', { name: 'purchase', exact: true }).click();
  const times = page.getByLabel('Event 1: times');
  await times.fill('many');
  await dialog.getByRole('button', { name: 'Save' }).click();
  const problem = 'must be a whole number up to 1000000';
  await dialog.locator('.field', { has: times }).getByText(problem).waitFor();
  expect(await times.getAttribute('aria-invalid')).toBe('true');
  expect(sent).toEqual([]);
  await times.fill('2');
  await dialog.getByRole('button', { name: 'People: add a filter' }).click();
  await dialog.getByRole('button', { name: 'Save' }).click();
  await dialog.locator('p.problem', { hasText: 'needs a property and a value' }).waitFor();
  await dialog.getByRole('combobox', { name: 'People, filter 1: property' }).click();
  expect(await page.getByRole('group', { name: 'Event fields' }).count()).toBe(0);
  await page.getByRole('option', { name: 'VIPs', exact: true }).click();
  await dialog.getByRole('button', { name: 'Count people' }).click();
  await dialog.getByText('41 people').waitFor();
  await dialog.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Saved Two orders').waitFor();
  expect(sent).toEqual([
    {
      ...{ method: 'POST', id: 'two-orders', name: 'Two orders', match: 'all' },
      conditions: [
        { did: { events: ['purchase'] }, is: 'at_least', times: 2, last_days: 30 },
        { field: { cohort: 'vips' }, is: 'in' },
      ],
    },
  ]);
  await page.getByRole('row', { name: /Two orders/ }).waitFor();
  await page.getByRole('button', { name: 'New cohort' }).click();
  await dialog.getByRole('button', { name: 'People: add a filter' }).click();
  await dialog.getByRole('combobox', { name: 'People, filter 1: property' }).click();
  await page.getByRole('option', { name: 'Two orders', exact: true }).waitFor();
  expect(faults).toEqual([]);
  await context.close();
});

test('a cohort is removed only once somebody has said so', async () => {
  const { api, sent } = noted();
  const { page, context, faults } = await dashboard.visit('/sites/shop/cohorts?cohort=regulars', api);
  const remove = page.getByRole('button', { name: 'Remove', exact: true });
  await remove.click();
  const question = page.getByRole('dialog', { name: 'Remove Regulars?' });
  await question.getByRole('button', { name: 'Cancel' }).click();
  expect(sent).toEqual([]);
  await remove.click();
  await question.getByRole('button', { name: 'Remove' }).click();
  await page.getByText('Regulars was removed').waitFor();
  expect(sent).toEqual([{ method: 'DELETE' }]);
  await page.getByRole('row', { name: /Regulars/ }).waitFor({ state: 'detached' });
  expect(faults).toEqual([]);
  await context.close();
});

test('members come from a file, and all pages of them are exported', async () => {
  const { api, sent } = noted();
  const { page, context, faults } = await dashboard.visit('/sites/shop/cohorts?cohort=vips', api);
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('They are').selectOption('email');
  const file = Buffer.from('\uFEFFemail,note\r\n"ann@shop.example",x\r\n\r\nbob@shop.example;y\r\n');
  await dialog.getByLabel('From a file').setInputFiles({ name: 'vips.csv', mimeType: 'text/csv', buffer: file });
  await dialog.getByRole('button', { name: 'Add members' }).click();
  await page.getByText('2 added, the list has 1,236; 1 not valid').waitFor();
  await dialog.getByText('Line 4: neither an e-mail address nor a SHA-256').waitFor();
  expect(sent).toEqual([{ method: 'POST', members: [{ email: 'ann@shop.example' }, { email: 'bob@shop.example' }] }]);
  sent.length = 0;
  const does = async (what: string): Promise<void> => {
    await dialog.getByLabel('Or typed').fill('eve@shop.example');
    await dialog.getByLabel('What to do').selectOption(what);
  };
  await does('replace');
  await dialog.getByRole('button', { name: 'Replace the list' }).click();
  await expect.poll(() => sent.length).toBe(2);
  await does('remove');
  await dialog.getByRole('button', { name: 'Remove members' }).click();
  await page.getByText('1 removed, the list has 1,235').waitFor();
  expect(sent).toEqual([
    { method: 'POST', members: [{ email: 'eve@shop.example' }], replacement: 'new' },
    { method: 'PUT', replacement: 'r1' },
    { method: 'POST', members: [{ email: 'eve@shop.example' }] },
  ]);
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    dialog.getByRole('button', { name: 'People as CSV' }).click(),
  ]);
  expect(download.suggestedFilename()).toBe('vips.csv');
  const lines = (await readFile(await download.path(), 'utf8')).trimEnd().split(/\r?\n/);
  expect(lines).toEqual([
    '\uFEFFperson_id,distinct_id,email_sha256,events,first_seen (UTC),last_seen (UTC)',
    'p-ann,ann,,7,2023-11-14 22:13:20,2023-11-14 22:28:20',
    'p-bob,bob,,7,2023-11-14 22:13:20,2023-11-14 22:28:20',
  ]);
  expect(faults).toEqual([]);
  await context.close();
});
