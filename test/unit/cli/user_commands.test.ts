import { expect, test } from 'vitest';
import { PASSWORD } from '../control/harness.ts';
import { expectDone, installedShop } from './harness.ts';

const OWN_PAGE = { host: 'localhost:8090', origin: 'http://localhost:8090', 'x-svc-csrf': '1' };

test('users are made, listed, changed, disabled and enabled', async () => {
  const shop = await installedShop();
  const made = await expectDone(shop.svc('user add ada --name Ada --grant analyst@site/shop'));
  const [password = ''] = /^ {2}([0-9A-Za-z]{20})$/m.exec(made)?.slice(1) ?? [];
  expect(password).not.toBe('');
  const list = await expectDone(shop.svc('user list'));
  expect(list).toMatch(/^ada +Ada +active +no +analyst@site\/shop /m);
  expect(list).not.toContain(password);
  expect(await expectDone(shop.svc('user change ada --grant viewer --grant admin@site/shop'))).toBe(
    'User ada has these roles now: viewer, admin@site/shop\n',
  );
  expect(await expectDone(shop.svc('user disable ada'))).toBe('User ada is disabled.\n');
  expect(shop.store.table.user('ada')).toMatchObject({ disabled_at: expect.any(Number) });
  expect(await expectDone(shop.svc('user enable ada'))).toBe('User ada is enabled.\n');
  expect(await expectDone(shop.svc('user password ada'))).toMatch(/^User ada has a new password\.\n\n {2}\w{20}\n/);
});

test.each([
  ['user add ada --grant root@galaxy/9', 'grant_malformed'],
  ['user change ada', 'nothing_to_change'],
  ['user disable nobody', 'user_unknown'],
])('%s is %s', async (line, code) => {
  const shop = await installedShop();
  const result = await shop.svc(line);
  expect(result).toMatchObject({ exitCode: 2, stderr: expect.stringMatching(new RegExp(`^svc: ${code}: `)) });
});

test('whoever is disabled leaves tokens behind, which are named', async () => {
  const shop = await installedShop();
  const signIn = { token: null, body: { user_id: 'ada', password: PASSWORD }, headers: OWN_PAGE };
  for (const user_id of ['ada', 'eve']) await shop.control.addUser({ user_id });
  const cookie = String((await shop.control.call('POST', '/v1/session', signIn)).headers['set-cookie']).split(';')[0];
  const headers = { ...OWN_PAGE, cookie: cookie ?? '' };
  for (const label of ['left', 'revoked']) {
    await shop.control.call('POST', 'tokens', { token: null, headers, body: { label } });
  }
  await expectDone(shop.svc('token revoke revoked'));
  const said = await expectDone(shop.svc('user disable ada'));
  expect(said).toMatch(
    /^User ada is disabled\.\nTokens that they issued still work:\n\nLABEL +TOKEN +MAY\nleft +svc_at_\w+ +everything\n/,
  );
  expect(said).not.toContain('revoked');
});

test('whoever is disabled with what they issued leaves nothing behind', async () => {
  const shop = await installedShop();
  await shop.control.addUser({ user_id: 'ada' });
  await shop.control.addUser({ user_id: 'eve' });
  const signIn = { token: null, body: { user_id: 'ada', password: PASSWORD }, headers: OWN_PAGE };
  const cookie = String((await shop.control.call('POST', '/v1/session', signIn)).headers['set-cookie']).split(';')[0];
  const asAda = { token: null, headers: { ...OWN_PAGE, cookie: cookie ?? '' } };
  await shop.control.call('POST', 'tokens', { ...asAda, body: { label: 'left' } });
  await shop.control.call('POST', 'analysts', { ...asAda, body: { analyst_id: 'bi', site_ids: ['shop'] } });
  expect(await expectDone(shop.svc('user disable ada --revoke-issued'))).toBe(
    'User ada is disabled.\nTokens revoked: left\nClickHouse users revoked: bi\n',
  );
});

test('a hash is made of no password that the service would not take', async () => {
  const shop = await installedShop();
  const hashed = (password: string) => {
    shop.stdin = `${password}\n`;
    return shop.svc('user hash');
  };
  for (const weak of ['short', ' '.repeat(12), 'x'.repeat(20)]) {
    expect(await hashed(weak)).toMatchObject({ exitCode: 2, stderr: expect.stringMatching(/^svc: password_weak: /) });
  }
  expect(await expectDone(hashed('twelve or more'))).toMatch(/^\$scrypt\$/);
});

test('a token with grants is of their kind, and the list says what each may', async () => {
  const shop = await installedShop();
  expect(await expectDone(shop.svc('token create reports --grant viewer@site/shop'))).toMatch(/svc_st_\w{32}/);
  expect(await expectDone(shop.svc('token list'))).toMatch(/^reports +svc_st_\w{4} +active +viewer@site\/shop /m);
});

test('a user is invited', async () => {
  const shop = await installedShop();
  await expectDone(shop.svc('user add ada --grant viewer'));
  expect(await expectDone(shop.svc('user invite ada'))).toMatch(/^ {2}\/dashboard\/#invitation=[\w-]{43}$/m);
});

test('users of ClickHouse are made, listed and revoked', async () => {
  const shop = await installedShop();
  const made = await expectDone(shop.svc('analyst add ada --site shop'));
  expect(made).toMatch(/^sql_user_ada reads shop in the database of its own name\. Its password:\n\n {2}\w{20}\n/);
  expect(made).toContain('Its logins end: 2027-02-19T12:00:00Z.');
  expect(await expectDone(shop.svc('analyst list'))).toMatch(/^ada +sql_user_ada +shop .*2027-02-19/m);
  const ends = await expectDone(shop.svc('analyst add bo --site shop --expires never'));
  expect(ends).toContain('Its logins end: never.');
  expect(await expectDone(shop.svc('analyst revoke ada'))).toBe('sql_user_ada is revoked.\n');
  expect(await shop.svc('analyst add ada')).toMatchObject({ stderr: expect.stringMatching(/^svc: flag_missing: /) });
});
