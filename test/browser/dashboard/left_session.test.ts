import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { withMembers } from './harness/member_answers.ts';
import { withAccount } from './harness/settings_answers.ts';
import { refusal, type StubApi, siteOf, startStubApi } from './harness/stub_api.ts';
import { openStubDashboard, type StubDashboard } from './harness/stub_dashboard.ts';

let dashboard: StubDashboard;
beforeAll(async () => {
  dashboard = await openStubDashboard();
});
afterAll(() => dashboard.close());

const { body: ana } = startStubApi().answer('GET', new URL('http://stub/v1/session'), null);
const people: Readonly<Record<string, object>> = {
  ana: ana as object,
  bob: { ...(ana as object), id: 'bob', name: 'Bob Ito' },
};

interface Signing {
  api: StubApi;
  /** Who is signed in; null: nobody, as the session has ended. */
  state: { user: string | null; tokens: object[] };
}

/** An API at which ana is signed in, bob can sign in, and tokens take a proof. */
function withTwoPeople(): Signing {
  const state: Signing['state'] = { user: 'ana', tokens: [] };
  const known = <Given extends object>(given: Given) => (state.user === null ? refusal(401, 'session_missing') : given);
  const api = withMembers(withAccount(startStubApi()));
  const sitesOf = (): object[] =>
    state.user === 'bob' ? [siteOf('bobs', 'Of Bob')] : [siteOf('shop', 'Corner shop'), siteOf('blog', 'blog')];
  api
    .on('GET', '/v1/session', () => known(people[state.user ?? ''] ?? {}))
    .on('GET', '/v1/admin/sites', () => known({ items: sitesOf(), next: null }))
    .on('GET', '/v1/admin/tokens', () => known({ items: [], next: null }))
    .on('POST', '/v1/admin/tokens', (body) => {
      if (state.user === null) return refusal(401, 'session_missing');
      state.tokens.push(body ?? {});
      return refusal(403, 'proof_needed');
    })
    .on('POST', '/v1/session/proof', () => known({}))
    .on('POST', '/v1/session', (body) => {
      state.user = (body as { user_id: string }).user_id;
      return people[state.user] ?? {};
    });
  return { api, state };
}

async function askForToken(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Issue a token' }).click();
  await page.getByLabel('Label').fill('of ana');
  await page.getByRole('button', { name: 'Add role' }).click();
  await page.getByRole('button', { name: 'Issue', exact: true }).click();
}

test('what somebody was about to do, their sites and what they were told are gone when somebody else signs in', async () => {
  const { api, state } = withTwoPeople();
  const { page, context, faults } = await dashboard.visit('/sites/shop/settings', api);
  await page.getByRole('combobox', { name: 'Site' }).waitFor();
  await page.getByRole('link', { name: 'Account', exact: true }).click();
  await page.getByRole('tab', { name: 'Tokens' }).click();
  await askForToken(page);
  const proof = page.getByRole('dialog', { name: 'Confirm your identity' });
  await proof.waitFor();
  state.user = null;
  await proof.getByLabel('Your password').fill('of ana');
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Sign in as another user' }).click();
  await page.getByLabel('User', { exact: true }).fill('bob');
  await page.getByLabel('Password').fill('of bob');
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Account of Bob Ito' }).waitFor();
  expect(await page.getByRole('dialog').count()).toBe(0);
  const overview = page.getByRole('link', { name: 'Overview' });
  await overview.waitFor();
  expect(await overview.getAttribute('href')).toContain('/sites/bobs/');
  expect(state.tokens).toHaveLength(1);
  expect(faults).toEqual([]);
  await context.close();
});

test('what was told to somebody who signs out is not told to who signs in after them', async () => {
  const { api } = withTwoPeople();
  api.on('DELETE', '/v1/session', refusal(503, 'sessions_unavailable', 'Redis is away.'));
  const { page, context } = await dashboard.visit('/account?view=tokens', api);
  await page.getByRole('button', { name: 'Account of Ana Lopes' }).click();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByText('You are still signed in').waitFor();
  api.on('DELETE', '/v1/session', {});
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByLabel('User', { exact: true }).fill('bob');
  await page.getByLabel('Password').fill('of bob');
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Account of Bob Ito' }).waitFor();
  expect(await page.getByText('You are still signed in').count()).toBe(0);
  await context.close();
});

test('whoever signs in again finds the page as it was, also where the service cannot be asked who they are', async () => {
  const { api, state } = withTwoPeople();
  const { page, context } = await dashboard.visit('/account?view=tokens', api);
  await page.getByRole('button', { name: 'Issue a token' }).click();
  await page.getByLabel('Label').fill('of ana');
  await page.getByRole('button', { name: 'Add role' }).click();
  state.user = null;
  await page.getByRole('button', { name: 'Issue', exact: true }).click();
  const dialog = page.getByRole('dialog', { name: 'Session expired' });
  await dialog.waitFor();
  api.on('GET', '/v1/session', refusal(503, 'sessions_unavailable'));
  await dialog.getByLabel('Password').fill('of ana');
  await page.keyboard.press('Enter');
  await dialog.waitFor({ state: 'detached' });
  expect(await page.getByLabel('Label').inputValue()).toBe('of ana');
  await context.close();
});
