import { afterAll, beforeAll, expect, test } from 'vitest';
import { axeViolations } from '../harness/axe.ts';
import { withDeadLetters } from './harness/operations_answers.ts';
import { startStubApi } from './harness/stub_api.ts';
import { openStubDashboard, type StubDashboard } from './harness/stub_dashboard.ts';

let dashboard: StubDashboard;
beforeAll(async () => {
  dashboard = await openStubDashboard();
});
afterAll(() => dashboard.close());

test('what is told while a dialog is open is seen and heard in it, and stays when the dialog is closed', async () => {
  const api = withDeadLetters(startStubApi()).on('POST', '/v1/admin/dead-letters/resend', (body) => ({
    items: (body as { ids: string[] }).ids.map((id) => ({ id, outcome: 'not_resendable' })),
  }));
  const { page, context, faults } = await dashboard.visit('/dead-letters?letter=warehouse-0-1', api);
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'Resend' }).click();
  const told = dialog.getByRole('status').getByText('No dead letters resent, 1 could not be resent');
  await told.waitFor();
  expect(await page.locator('.toast-good').count()).toBe(0);
  expect(await axeViolations(page)).toEqual([]);
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  const outside = page.getByRole('status').getByText('No dead letters resent');
  await outside.waitFor();
  await page.getByRole('button', { name: 'Dismiss' }).click();
  expect(await outside.count()).toBe(0);
  expect(faults).toEqual([]);
  await context.close();
});

test('what is told in a dialog can be dismissed there', async () => {
  const { page, context } = await dashboard.visit(
    '/dead-letters?letter=warehouse-0-1',
    withDeadLetters(startStubApi()),
  );
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'Resend' }).click();
  await dialog.getByText('1 dead letter resent').waitFor();
  await dialog.getByRole('button', { name: 'Dismiss' }).click();
  expect(await page.getByText('1 dead letter resent').count()).toBe(0);
  expect(await dialog.count()).toBe(1);
  await context.close();
});
