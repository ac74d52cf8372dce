import { afterAll, beforeAll, expect, test } from 'vitest';
import { ROLE_PERMISSIONS } from '#pipelines/settings/access.ts';
import { axeViolations } from '../harness/axe.ts';
import { grantOf, withMembers } from './harness/member_answers.ts';
import { withAccount } from './harness/settings_answers.ts';
import { refusal, type StubApi, startStubApi } from './harness/stub_api.ts';
import { openStubDashboard, type StubDashboard } from './harness/stub_dashboard.ts';

let dashboard: StubDashboard;
beforeAll(async () => {
  dashboard = await openStubDashboard();
});
afterAll(() => dashboard.close());

interface Sent {
  method: string;
  path: string;
  body: Record<string, unknown> | null;
}

/** The API, and whatever of users is changed by it. */
function recorded(): { api: StubApi; sent: Sent[] } {
  const api = withMembers(withAccount(startStubApi()));
  const sent: Sent[] = [];
  const answer = api.answer.bind(api);
  api.answer = (method, url, body) => {
    if (method !== 'GET') sent.push({ method, path: url.pathname, body: body as Sent['body'] });
    return answer(method, url, body);
  };
  return { api, sent };
}

test('a user is added with roles and a password that is shown once; a refusal is said beside the form', async () => {
  const { api, sent } = recorded();
  const { page, context, faults } = await dashboard.visit('/account?view=members', api);
  await page.getByText('1 owner, 1 analyst, 1 viewer', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Add a user' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('User id').fill('bea');
  expect(await dialog.getByRole('button', { name: 'Add', exact: true }).isDisabled()).toBe(true);
  await dialog.getByLabel('Scope').selectOption('site/shop');
  await dialog.getByLabel('Role', { exact: true }).selectOption('analyst');
  await dialog.getByRole('button', { name: 'Add role' }).click();
  await dialog.getByRole('button', { name: 'Add', exact: true }).click();
  await dialog.getByText('There is such a user.').waitFor();
  await dialog.getByLabel('User id').fill('dan');
  await dialog.getByRole('button', { name: 'Add', exact: true }).click();
  await dialog.getByText('Copy the password now').waitFor();
  const shown = await dialog.locator('.secret code').textContent();
  expect(shown).toMatch(/^[0-9A-Za-z]{20}$/);
  expect(sent.at(-1)?.body).toEqual({ user_id: 'dan', grants: [grantOf('analyst', 'shop')], password: shown });
  expect(sent[0]?.body?.['password']).not.toBe(shown);
  await dialog.getByRole('button', { name: 'I have copied it' }).click();
  await page.getByRole('button', { name: 'dan', exact: true }).waitFor();
  expect(faults).toEqual([]);
  await context.close();
});

test('of a member roles are changed, sessions ended, a password given, and signing in is forbidden', async () => {
  const { api, sent } = recorded();
  const { page, context, faults } = await dashboard.visit('/account?view=members', api);
  await page.getByRole('button', { name: 'bea', exact: true }).click();
  const dialog = page.getByRole('dialog').first();
  await dialog.getByRole('button', { name: 'Remove viewer of site shop' }).click();
  await dialog.getByLabel('Scope').selectOption('site/blog');
  await dialog.getByRole('button', { name: 'Add role' }).click();
  await dialog.getByRole('button', { name: 'Save roles' }).click();
  await page.getByText('The roles of bea were changed').waitFor();
  await dialog.getByRole('button', { name: 'End all sessions' }).click();
  await dialog.getByText('No active sessions').waitFor();
  await dialog.getByRole('button', { name: 'Reset password' }).click();
  await page
    .getByRole('dialog', { name: 'Reset the password?' })
    .getByRole('button', { name: 'Reset password' })
    .click();
  await dialog.getByText('Copy the password now').waitFor();
  await dialog.getByRole('button', { name: 'I have copied it' }).click();
  await dialog.getByRole('button', { name: 'Disable' }).click();
  const question = page.getByRole('dialog', { name: 'Disable the user?' });
  await question.getByText('Tokens they issued keep working').waitFor();
  await question.getByText('svc_at_3fh').waitFor();
  expect(await axeViolations(page)).toEqual([]);
  await question.getByRole('button', { name: 'Disable' }).click();
  await page.getByText('The user bea was disabled, and what they issued was revoked').waitFor();
  await dialog.getByRole('button', { name: 'Enable' }).waitFor();
  await dialog.getByText('No active tokens').waitFor();
  expect(sent.map(({ method, path }) => `${method} ${path}`)).toEqual([
    'PATCH /v1/admin/users/bea',
    'DELETE /v1/admin/users/bea/sessions',
    'PATCH /v1/admin/users/bea',
    'PATCH /v1/admin/users/bea',
  ]);
  expect([sent[0]?.body, sent[3]?.body]).toEqual([
    { grants: [grantOf('viewer', 'blog')] },
    { disabled: true, revoke_issued: true },
  ]);
  expect(sent[2]?.body).toEqual({ password: expect.stringMatching(/^[0-9A-Za-z]{20}$/) });
  expect(await page.locator('main img').count()).toBe(0);
  expect(faults).toEqual([]);
  await context.close();
});

test('tokens of who is disabled are left where that is wanted, seen after that, and revoked later', async () => {
  const { api, sent } = recorded();
  const { page, context, faults } = await dashboard.visit('/account?view=members&user=bea', api);
  const dialog = page.getByRole('dialog').first();
  const tokens = dialog.getByRole('region', { name: 'Tokens they issued' });
  await tokens.getByText('everything, issued').waitFor();
  await dialog.getByRole('button', { name: 'Disable' }).click();
  const question = page.getByRole('dialog', { name: 'Disable the user?' });
  await question.getByLabel('Also revoke what they issued').focus();
  await page.keyboard.press('Space');
  await question.getByRole('button', { name: 'Disable' }).click();
  await page.getByText('The user bea was disabled', { exact: true }).waitFor();
  expect(sent.map(({ method }) => method)).toEqual(['PATCH']);
  api.on('POST', /\/revoke$/, refusal(409, 'token_last', 'The last active admin token cannot be revoked.'));
  await tokens.getByRole('button', { name: 'Revoke all' }).click();
  await tokens.getByText('The last active admin token cannot be revoked.').waitFor();
  const analysts = dialog.getByRole('region', { name: 'ClickHouse users they created' });
  await analysts.getByText('sql_user_bi').waitFor();
  await analysts.getByRole('button', { name: 'Revoke these users' }).click();
  await analysts.getByText('None').waitFor();
  expect(faults).toEqual([]);
  await context.close();
});

test('whoever has roles elsewhere is managed elsewhere, and the page says so', async () => {
  const { page, context, faults } = await dashboard.visit('/account?view=members&user=cid', recorded().api);
  await page.getByText('They also have roles that you do not manage.').waitFor();
  await page.getByText('as they have roles that you cannot grant').waitFor();
  expect(await page.getByRole('button', { name: 'Disable' }).count()).toBe(0);
  expect(faults).toEqual([]);
  await context.close();
});

test('a viewer sees why there are no members to see, and nothing of them is asked for', async () => {
  const { api } = recorded();
  const grants = [{ ...grantOf('viewer', 'shop'), permissions: ROLE_PERMISSIONS.viewer }];
  api.on('GET', '/v1/session', { id: 'vic', name: 'Vic', kind: 'user', grants, second_factor: false, session: null });
  const { page, context } = await dashboard.visit('/account?view=members', api);
  for (const tab of ['Members', 'Tokens', 'Audit']) {
    await page.getByRole('tab', { name: tab }).click();
    await page.getByText('You do not have access to this').waitFor();
  }
  expect(api.requests.filter((asked) => /users|tokens|audit/.test(asked))).toEqual([]);
  await context.close();
});

test('somebody ends another session, changes the password and sets up a second factor', async () => {
  const { api, sent } = recorded();
  const secret = 'A'.repeat(32);
  api
    .on('POST', '/v1/session/password', (body) => {
      const { password } = body as { password: string };
      return password === 'right' ? {} : refusal(403, 'password_refused', 'The password is not right.');
    })
    .on('POST', '/v1/session/totp/begin', { secret, uri: `otpauth://totp/Event?secret=${secret}` })
    .on('POST', '/v1/session/totp/confirm', { recovery_codes: ['aaaa-bbbb', 'cccc-dddd'] });
  const { page, context, faults } = await dashboard.visit('/account', api);
  await page.getByRole('button', { name: 'Account of Ana Lopes' }).click();
  await page.getByRole('button', { name: 'Sign-in settings' }).click();
  await page.getByRole('button', { name: /^End the session of Firefox/ }).click();
  await page.getByText('1 row', { exact: true }).waitFor();
  await page.getByLabel('Current password').fill('wrong');
  await page.getByLabel('New password').fill('a long new one');
  await page.getByRole('button', { name: 'Change password' }).click();
  await page.getByText('The password is not right.').waitFor();
  await page.getByLabel('Current password').fill('right');
  await page.getByRole('button', { name: 'Change password' }).click();
  await page.getByText('Your password was changed').waitFor();
  await page.getByRole('button', { name: 'Set up' }).click();
  await page.getByRole('img', { name: 'The secret, to scan' }).waitFor();
  await page.getByLabel('Code').fill('123456');
  await page.getByLabel('Your password').fill('right');
  await page.getByRole('button', { name: 'Turn on' }).click();
  await page.getByText('aaaa-bbbb').waitFor();
  expect(sent.at(-1)?.body).toEqual({ code: '123456', password: 'right' });
  expect(faults).toEqual([]);
  await context.close();
});
