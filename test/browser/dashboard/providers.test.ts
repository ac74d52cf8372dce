import { afterAll, beforeAll, expect, test } from 'vitest';
import { withMembers } from './harness/member_answers.ts';
import { withAccount } from './harness/settings_answers.ts';
import { refusal, type StubApi, startStubApi } from './harness/stub_api.ts';
import { openStubDashboard, type StubDashboard } from './harness/stub_dashboard.ts';

let dashboard: StubDashboard;
beforeAll(async () => {
  dashboard = await openStubDashboard();
});
afterAll(() => dashboard.close());

/** An API with a provider that sends the browser straight back; `isKnown` says whether somebody is signed in. */
function withProvider(isKnown: boolean): { api: StubApi; bodies: (object | null)[] } {
  const bodies: (object | null)[] = [];
  let who = isKnown;
  const ana = { id: 'ana', name: 'Ana Lopes', kind: 'user', second_factor: false, provider_links: 0, session: null };
  const grants = startStubApi().answer('GET', new URL('http://stub/v1/session'), null).body as { grants: object[] };
  const returned = (kind: string) => (body: object | null) => {
    bodies.push(body);
    return { url: `${dashboard.url}/dashboard/signed-in/acme?code=c&state=${kind}.s` };
  };
  const api = withMembers(withAccount(startStubApi()))
    .on('GET', '/v1/session', () => (who ? { ...ana, ...grants } : refusal(401, 'token_missing')))
    .on('GET', '/v1/session/oidc', { items: [{ id: 'acme', label: 'Acme' }] })
    .on('POST', '/v1/session/oidc/start', returned('sign_in'))
    .on('POST', '/v1/session/oidc/link/start', returned('link'))
    .on('POST', '/v1/session/oidc/link/finish', (body) => {
      bodies.push(body);
      return {};
    })
    .on('POST', '/v1/session/oidc/finish', (body) => {
      bodies.push(body);
      if (bodies.length < 4) return refusal(403, 'oidc_not_linked', 'No user is linked to your account.');
      who = true;
      return {};
    });
  return { api, bodies };
}

test('somebody goes to a provider and comes back, is refused, is invited and is in', async () => {
  const { api, bodies } = withProvider(false);
  const { page, context } = await dashboard.visit('/', api);
  await page.getByRole('button', { name: 'Acme' }).click();
  await page.getByText('No user is linked to your account.').waitFor();
  expect(new URL(page.url()).search).toBe('');
  const invitation = 'I'.repeat(43);
  await page.goto(`${dashboard.url}/dashboard/#invitation=${invitation}`);
  await page.reload();
  await page.getByText('You were invited').waitFor();
  await page.getByRole('button', { name: 'Acme' }).click();
  await page.getByRole('navigation').waitFor();
  const returned = { provider: 'acme', answer: 'code=c&state=sign_in.s' };
  expect(bodies).toEqual([{ provider: 'acme' }, returned, { provider: 'acme', invitation }, returned]);
  await context.close();
});

test('somebody links an account, and makes an address by which another one does', async () => {
  const { api, bodies } = withProvider(true);
  api.on('POST', '/v1/admin/users/bea/invitation', {
    status: 201,
    body: { invitation: 'J'.repeat(43), expires_at: 1 },
  });
  const { page, context, faults } = await dashboard.visit('/account?view=you', api);
  await page.getByText('No account is linked.').waitFor();
  const panel = page.getByRole('region', { name: 'Single sign-on' });
  await panel.getByLabel('Your password').fill('right');
  await panel.getByRole('button', { name: 'Link your Acme account' }).click();
  await page.getByText('Your provider account was linked').waitFor();
  expect(bodies).toEqual([
    { provider: 'acme', password: 'right' },
    { provider: 'acme', answer: 'code=c&state=link.s' },
  ]);
  await page.getByRole('tab', { name: 'Members' }).click();
  await page.getByRole('button', { name: 'bea', exact: true }).click();
  await page.getByRole('button', { name: 'Invite to single sign-on' }).click();
  await page.getByText(`/dashboard/#invitation=${'J'.repeat(43)}`).waitFor();
  expect(faults).toEqual([]);
  await context.close();
});
