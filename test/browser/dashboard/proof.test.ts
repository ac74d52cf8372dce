import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { axeViolations } from '../harness/axe.ts';
import { withMembers } from './harness/member_answers.ts';
import { withAccount } from './harness/settings_answers.ts';
import { refusal, type StubApi, startStubApi } from './harness/stub_api.ts';
import { openStubDashboard, type StubDashboard } from './harness/stub_dashboard.ts';

let dashboard: StubDashboard;
beforeAll(async () => {
  dashboard = await openStubDashboard();
});
afterAll(() => dashboard.close());

/** An API that issues tokens to who has proven that it is them. */
function withProof(): { api: StubApi; state: { isRecentlyAuthenticated: boolean }; sent: (object | null)[] } {
  const state = { isRecentlyAuthenticated: false };
  const sent: (object | null)[] = [];
  const api = withMembers(withAccount(startStubApi()));
  const issue = api.answer.bind(api, 'POST', new URL('http://stub/v1/admin/tokens'));
  const issued = issue({ label: 'nightly' }).body as object;
  api
    .on('POST', '/v1/admin/tokens', (body) => {
      sent.push(body);
      return state.isRecentlyAuthenticated ? { status: 201, body: issued } : refusal(403, 'proof_needed');
    })
    .on('POST', '/v1/session/proof', (body) => {
      state.isRecentlyAuthenticated = (body as { password: string }).password === 'right';
      return state.isRecentlyAuthenticated ? {} : refusal(403, 'password_refused', 'The password is not right.');
    });
  return { api, state, sent };
}

/** Asks for a token, by which the service asks for a proof. */
async function issue(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Issue a token' }).click();
  await page.getByLabel('Label').fill('nightly');
  await page.getByRole('button', { name: 'Add role' }).click();
  await page.getByRole('button', { name: 'Issue', exact: true }).click();
}

test('the password is asked for, and what was wanted is done by itself', async () => {
  const { api, sent } = withProof();
  const { page, context, faults } = await dashboard.visit('/account?view=tokens', api);
  await issue(page);
  const dialog = page.getByRole('dialog', { name: 'Confirm your identity' });
  await dialog.waitFor();
  expect(await axeViolations(page)).toEqual([]);
  await dialog.getByLabel('Your password').fill('wrong');
  await page.keyboard.press('Enter');
  await dialog.getByText('The password is not right.').waitFor();
  await dialog.getByLabel('Your password').fill('right');
  await page.keyboard.press('Enter');
  await page.getByText('svc_at_NEWSECRET').waitFor();
  expect(await dialog.count()).toBe(0);
  expect(sent).toHaveLength(2);
  expect(sent[1]).toEqual(sent[0]);
  expect(api.requests.filter((one) => one === 'POST /v1/session/proof')).toHaveLength(2);
  expect(faults).toEqual([]);
  await context.close();
});

test('whoever does not prove it keeps what they typed, and is told that nothing was done', async () => {
  const { api, sent } = withProof();
  const { page, context } = await dashboard.visit('/account?view=tokens', api);
  await issue(page);
  await page.getByRole('dialog', { name: 'Confirm your identity' }).waitFor();
  await page.keyboard.press('Escape');
  await page.getByText('Nothing was changed: confirm your identity first.').waitFor();
  expect(await page.getByLabel('Label').inputValue()).toBe('nightly');
  expect(sent).toHaveLength(1);
  await context.close();
});

test('without a password one signs in at the provider again, in a tab of its own', async () => {
  const { api, state } = withProof();
  const { body } = startStubApi().answer('GET', new URL('http://stub/v1/session'), null);
  api
    .on('GET', '/v1/session', { ...(body as object), has_password: false })
    .on('GET', '/v1/session/oidc', { items: [{ id: 'acme', label: 'Acme' }] })
    .on('POST', '/v1/session/oidc/start', (body) => {
      state.isRecentlyAuthenticated = (body as { proof?: boolean }).proof === true;
      return { url: `${dashboard.url}/dashboard/account?view=you` };
    });
  const { page, context, faults } = await dashboard.visit('/account?view=tokens', api);
  await issue(page);
  const dialog = page.getByRole('dialog', { name: 'Confirm your identity' });
  await dialog.getByRole('button', { name: 'Continue' }).click();
  await dialog.getByText('You have no password here').waitFor();
  expect(await axeViolations(page)).toEqual([]);
  const opened = context.waitForEvent('page');
  await dialog.getByRole('button', { name: 'Sign in with Acme in a new tab' }).click();
  const tab = await opened;
  await tab.waitForURL('**/account?view=you');
  expect(await tab.evaluate(() => window.opener)).toBeNull();
  await dialog.getByRole('button', { name: 'Continue' }).click();
  await page.getByText('svc_at_NEWSECRET').waitFor();
  expect(faults).toEqual([]);
  await context.close();
});

test('whoever has a second factor sends a code with the password', async () => {
  const { api } = withProof();
  const { body } = startStubApi().answer('GET', new URL('http://stub/v1/session'), null);
  const proofs: (object | null)[] = [];
  api.on('GET', '/v1/session', { ...(body as object), second_factor: true });
  api.on('POST', '/v1/session/proof', (proof) => {
    proofs.push(proof);
    return refusal(403, 'second_factor_refused', 'The code is not right, or was used already.');
  });
  const { page, context, faults } = await dashboard.visit('/account?view=tokens', api);
  await issue(page);
  const dialog = page.getByRole('dialog', { name: 'Confirm your identity' });
  await dialog.getByLabel('Your password').fill('right');
  await dialog.getByLabel('Code').fill(' 123456 ');
  await page.keyboard.press('Enter');
  await dialog.getByText('The code is not right, or was used already.').waitFor();
  expect(proofs).toEqual([{ password: 'right', code: '123456' }]);
  expect(await axeViolations(page)).toEqual([]);
  expect(faults).toEqual([]);
  await context.close();
});

test('whose role takes a second factor sets one up before anything else, and is where they wanted to go then', async () => {
  const { api } = withProof();
  const { body } = startStubApi().answer('GET', new URL('http://stub/v1/session'), null);
  let isSet = false;
  api
    .on('GET', '/v1/session', () => ({ ...(body as object), second_factor: isSet, second_factor_required: !isSet }))
    .on('POST', '/v1/session/totp/begin', { secret: 'ABC', uri: 'otpauth://totp/x?secret=ABC' })
    .on('POST', '/v1/session/totp/confirm', () => {
      isSet = true;
      return { recovery_codes: ['abcd-efgh-ijkl-mnop'] };
    });
  const { page, context, faults } = await dashboard.visit('/account?view=tokens', api);
  await page.getByText('Your role requires two-factor authentication').waitFor();
  expect(await page.getByRole('navigation').count()).toBe(0);
  expect(api.requests.filter((one) => one.startsWith('GET /v1/admin/'))).toEqual([]);
  expect(await axeViolations(page)).toEqual([]);
  await page.getByRole('button', { name: 'Set up' }).click();
  await page.getByLabel('Code').fill('123456');
  await page.getByLabel('Your password').fill('right');
  await page.getByRole('button', { name: 'Turn on' }).click();
  await page.getByRole('button', { name: 'I have copied them' }).click();
  await page.getByRole('button', { name: 'Issue a token' }).waitFor();
  expect(new URL(page.url()).pathname).toBe('/dashboard/account');
  expect(faults).toEqual([]);
  await context.close();
});
