import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { withMembers } from './harness/member_answers.ts';
import { withDeadLetters, withReplays } from './harness/operations_answers.ts';
import { withAccount } from './harness/settings_answers.ts';
import { type StubApi, startStubApi } from './harness/stub_api.ts';
import { openStubDashboard, type StubDashboard } from './harness/stub_dashboard.ts';

let dashboard: StubDashboard;
beforeAll(async () => {
  dashboard = await openStubDashboard();
});
afterAll(() => dashboard.close());

function operated(): StubApi {
  return withMembers(withAccount(withDeadLetters(withReplays(startStubApi()))))
    .on('GET', '/v1/session/oidc', { items: [{ id: 'acme', label: 'Acme' }] })
    .on('POST', /\/invitation$/, { invitation: 'INVITED', expires_at: Date.now() + 60_000 })
    .on('POST', '/v1/session/totp/begin', { secret: 'A'.repeat(32), uri: 'otpauth://totp/Event?secret=A' })
    .on('POST', '/v1/session/totp/confirm', { recovery_codes: ['aaaa-bbbb', 'cccc-dddd'] });
}

const press = (within: Page | Locator, name: string): Promise<void> =>
  within.getByRole('button', { name, exact: true }).click();

/** Something that is shown this once: where, how one comes to it, and a part of it. */
const SECRETS: [name: string, path: string, issue: (page: Page) => Promise<void>, shown: string][] = [
  [
    'the password of a new user',
    '/account?view=members',
    async (page) => {
      await press(page, 'Add a user');
      await page.getByLabel('User id').fill('dan');
      await press(page, 'Add role');
      await press(page, 'Add');
    },
    'Copy the password now',
  ],
  [
    'a new password of a member',
    '/account?view=members&user=bea',
    async (page) => {
      await press(page, 'Reset password');
      await press(page.getByRole('dialog', { name: 'Reset the password?' }), 'Reset password');
    },
    'Copy the password now',
  ],
  [
    'an invitation',
    '/account?view=members&user=bea',
    (page) => press(page, 'Invite to single sign-on'),
    '#invitation=INVITED',
  ],
  [
    'the password of a user of ClickHouse',
    '/account?view=tokens',
    async (page) => {
      await press(page, 'Create user');
      await page.getByLabel('Id', { exact: true }).fill('bi2');
      await page.getByLabel('shop', { exact: true }).check();
      await press(page, 'Create');
    },
    'SHOWN-ONCE',
  ],
  [
    'recovery codes',
    '/account?view=you',
    async (page) => {
      await press(page, 'Set up');
      await page.getByLabel('Code').fill('123456');
      await page.getByRole('region', { name: 'Second factor' }).getByLabel('Your password').fill('right');
      await press(page, 'Turn on');
    },
    'aaaa-bbbb',
  ],
];

test.for(SECRETS)('%s stays until somebody says that they have copied it', async ([, path, issue, shown]) => {
  const { page, context, faults } = await dashboard.visit(path, operated());
  await issue(page);
  const dialog = page.getByRole('dialog').filter({ hasText: shown }).last();
  await dialog.waitFor();
  await page.keyboard.press('Escape');
  await page.keyboard.press('Escape');
  await page.mouse.click(5, 5);
  // What is behind it may be read anew meanwhile, and drawn again.
  await dialog.getByText(shown).waitFor();
  expect(await dialog.getByRole('button', { name: 'Close', exact: true }).count()).toBe(0);
  await dialog.getByRole('button', { name: /^I have copied/ }).click();
  await page.getByText(shown).waitFor({ state: 'detached' });
  expect(faults).toEqual([]);
  await context.close();
});

/** A form in a dialog: where, how one comes to it, and what is changed in it. */
const FORMS: [name: string, path: string, change: (page: Page) => Promise<unknown>][] = [
  [
    'a new user',
    '/account?view=members',
    async (page) => {
      await press(page, 'Add a user');
      await page.getByLabel('Name', { exact: true }).fill('Dan');
    },
  ],
  [
    'roles of a new user',
    '/account?view=members',
    async (page) => {
      await press(page, 'Add a user');
      await press(page, 'Add role');
    },
  ],
  [
    'a new user of ClickHouse',
    '/account?view=tokens',
    async (page) => {
      await press(page, 'Create user');
      await page.getByLabel('shop', { exact: true }).check();
    },
  ],
  ['roles of a member', '/account?view=members&user=bea', (page) => press(page, 'Remove viewer of site shop')],
  ['the name of a member', '/account?view=members&user=bea', (page) => page.getByLabel('Name').fill('Bea')],
  ['a new replay', '/replays?new=1', (page) => page.getByLabel('Max events per second').fill('50')],
  [
    'a note on a dead letter',
    '/dead-letters?letter=warehouse-0-1',
    async (page) => {
      await press(page, 'Resolve');
      await page.getByLabel('Resolution note').fill('Known');
    },
  ],
  [
    'roles of a token',
    '/account?view=tokens',
    async (page) => {
      await press(page, 'Issue a token');
      await press(page, 'Add role');
    },
  ],
  [
    'the life of a token',
    '/account?view=tokens',
    async (page) => {
      await press(page, 'Issue a token');
      await page.getByLabel('Expires after').selectOption('');
    },
  ],
];

test.for(FORMS)('%s: Escape asks before what was changed is lost', async ([, path, change]) => {
  const { page, context } = await dashboard.visit(path, operated());
  await change(page);
  await page.keyboard.press('Escape');
  const question = page.getByRole('dialog', { name: 'Leave without saving?' });
  await question.waitFor();
  await press(question, 'Leave');
  await question.waitFor({ state: 'detached' });
  await context.close();
});

test('the way back asks before it loses what was typed or a secret', async () => {
  const { page, context, faults } = await dashboard.visit('/replays', operated());
  await page.getByRole('link', { name: 'Account', exact: true }).click();
  await page.getByRole('tab', { name: 'Members' }).click();
  const asks = page.getByRole('dialog', { name: 'Leave this page?' });
  const stay = async (): Promise<void> => {
    await page.goBack();
    await press(asks, 'Cancel');
    await asks.waitFor({ state: 'detached' });
    expect(new URL(page.url()).pathname).toBe('/dashboard/account');
  };
  await press(page, 'Add a user');
  await page.getByLabel('User id').fill('dan');
  await stay();
  expect(await page.getByLabel('User id').inputValue()).toBe('dan');
  await press(page, 'Add role');
  await press(page, 'Add');
  await page.getByText('Copy the password now').waitFor();
  await stay();
  await page.getByText('Copy the password now').waitFor();
  await page.goBack();
  await press(asks, 'Leave');
  await page.getByRole('heading', { level: 1, name: 'Replays' }).waitFor();
  expect(await page.getByText('Copy the password now').count()).toBe(0);
  expect(faults).toEqual([]);
  await context.close();
});
