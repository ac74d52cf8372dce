import { hash } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import { WarehouseError } from '#infra/clickhouse/client.ts';
import { RedisUnavailableError } from '#infra/redis/client.ts';
import { totpCode } from '#pipelines/settings/dashboard_users.ts';
import { auditedRecords } from '#pipelines/settings/journal.ts';
import type { Grant } from '#schemas/setting.ts';
import { type Answer, NOW_MS, PASSWORD } from './harness.ts';
import { TRIES_MAX } from './memory_sessions.ts';
import { grantOf, type ScopedWorld, scopedWorld } from './scoped_world.ts';

const OWN = { host: 'localhost:8090', origin: 'http://localhost:8090', 'x-svc-csrf': '1' };
const ACME = { account_id: 'acme' };
const RIVAL = { account_id: 'rival' };
const NEW_PASSWORD = 'another long password';

let world: ScopedWorld;
beforeEach(async () => {
  world = await scopedWorld();
});

async function ask(grant: Grant, method: string, path: string, body?: object): Promise<Answer> {
  const token = await world.tokenOf(grant);
  return world.call(method, path, { token, ...(body === undefined ? {} : { body }) });
}
const codeOf = ({ status, body }: Answer): string => body?.error?.code ?? String(status);

function signIn(body: object = {}): Promise<Answer> {
  return world.call('POST', '/v1/session', {
    token: null,
    body: { user_id: 'ada', password: PASSWORD, ...body },
    headers: OWN,
  });
}
const cookieOf = (answer: Answer): string => String(answer.headers['set-cookie']).split(';')[0] ?? '';
const as = (cookie: string, method: string, path: string, body?: object): Promise<Answer> =>
  world.call(method, path, { token: null, headers: { ...OWN, cookie }, ...(body === undefined ? {} : { body }) });

/** What the audit says of users: about whom, what was done and why it was refused. */
function audited(): unknown[][] {
  return world.journal.records.flatMap(({ setting }) => {
    const { setting_key, after } = setting?.audit ?? { setting_key: '', after: null };
    const { done, reason } = JSON.parse(after ?? '{}');
    return done === undefined ? [] : [[setting_key, done, reason]];
  });
}

describe('making a user', () => {
  it('gives what the maker may give, and the user signs in with the password', async () => {
    const body = { user_id: 'ada', name: 'Ada', grants: [{ role: 'analyst', site_id: 'shop' }], password: PASSWORD };
    const made = await ask(grantOf('admin', ACME), 'POST', 'users', body);
    expect(made).toMatchObject({
      status: 201,
      body: {
        user_id: 'ada',
        name: 'Ada',
        has_password: true,
        second_factor: false,
        grants: [{ role: 'analyst', account_id: null, site_id: 'shop' }],
        has_other_grants: false,
      },
    });
    expect(made.etag).toBe(`"${made.body.version}"`);
    const cookie = cookieOf(await signIn());
    expect(codeOf(await as(cookie, 'GET', 'sites/shop'))).toBe('200');
    expect(codeOf(await as(cookie, 'GET', 'sites/other'))).toBe('permission_missing');
    const written = JSON.stringify(world.journal.records);
    expect(written).not.toContain(PASSWORD);
    expect(written).not.toContain('$scrypt');
    expect(codeOf(await ask(grantOf('owner'), 'POST', 'users', body))).toBe('user_exists');
  });

  it.each([
    ['owner of all', grantOf('owner'), [{ role: 'owner' }], '201'],
    ['admin of all', grantOf('admin'), [{ role: 'owner' }], 'permission_missing'],
    ['admin of all', grantOf('admin'), [{ role: 'admin' }], '201'],
    ['admin of an account', grantOf('admin', ACME), [{ role: 'viewer' }], 'permission_missing'],
    ['admin of an account', grantOf('admin', ACME), [{ role: 'viewer', site_id: 'other' }], 'permission_missing'],
    ['admin of an account', grantOf('admin', ACME), [{ role: 'owner', ...ACME }], 'permission_missing'],
    ['owner of an account', grantOf('owner', ACME), [{ role: 'owner', ...ACME }], '201'],
    ['analyst of all', grantOf('analyst'), [{ role: 'viewer', ...ACME }], 'permission_missing'],
    ['owner of all', grantOf('owner'), [{ role: 'viewer', site_id: 'none' }], 'settings_invalid'],
    ['owner of all', grantOf('owner'), [], 'settings_invalid'],
  ])('as an %s %j gives %j: %s', async (_who, own, grants, code) => {
    expect(codeOf(await ask(own, 'POST', 'users', { user_id: 'bob', grants }))).toBe(code);
  });

  it('takes no short password, and no name that is an e-mail address', async () => {
    const grants = [{ role: 'viewer' }];
    const answers = [
      await ask(grantOf('owner'), 'POST', 'users', { user_id: 'bob', grants, password: 'short' }),
      await ask(grantOf('owner'), 'POST', 'users', { user_id: 'bob', grants, name: 'bob@shop.example' }),
    ];
    expect(answers.map(codeOf)).toEqual(['settings_invalid', 'settings_invalid']);
  });

  it('takes no password of blanks or of one character, here or wherever one is chosen', async () => {
    const problems = [{ field: 'password', message: expect.stringContaining('12 characters that are drawn') }];
    await world.addUser({ user_id: 'eve' });
    for (const password of [' '.repeat(12), 'x'.repeat(12)]) {
      const body = { user_id: 'bob', grants: [{ role: 'viewer' }], password };
      expect((await ask(grantOf('owner'), 'POST', 'users', body)).body).toMatchObject({ problems });
      expect((await ask(grantOf('owner'), 'PATCH', 'users/eve', { password })).body).toMatchObject({ problems });
    }
    await world.addUser();
    const change = { password: PASSWORD, new_password: '\u00a0'.repeat(20) };
    const refused = await as(cookieOf(await signIn()), 'POST', '/v1/session/password', change);
    expect(refused.body.problems).toMatchObject([{ field: 'new_password' }]);
  });
});

describe('changing a user', () => {
  const both = [grantOf('viewer', ACME), grantOf('analyst', RIVAL)];

  it('by who manages a part of what they may leaves the rest, and shows none of it', async () => {
    await world.addUser({ grants: both });
    const seen = await ask(grantOf('admin', ACME), 'GET', 'users/ada');
    expect(seen.body).toMatchObject({ grants: [both[0]], has_other_grants: true });
    const changed = await ask(grantOf('admin', ACME), 'PATCH', 'users/ada', {
      grants: [{ role: 'operator', ...ACME }],
    });
    expect(changed.body.grants).toEqual([grantOf('operator', ACME)]);
    expect((await ask(grantOf('admin'), 'GET', 'users/ada')).body.grants).toEqual([both[1], grantOf('operator', ACME)]);
  });

  it('as such is for who could give all that they may', async () => {
    await world.addUser({ grants: both });
    for (const body of [{ password: NEW_PASSWORD }, { disabled: true }, { name: 'X' }, { second_factor: false }]) {
      expect(codeOf(await ask(grantOf('owner', ACME), 'PATCH', 'users/ada', body))).toBe('permission_missing');
      expect(codeOf(await ask(grantOf('admin'), 'PATCH', 'users/ada', body))).toBe('200');
    }
    expect(codeOf(await ask(grantOf('owner', ACME), 'DELETE', 'users/ada/sessions'))).toBe('permission_missing');
    expect(codeOf(await ask(grantOf('owner', ACME), 'GET', 'users/ada/sessions'))).toBe('permission_missing');
  });

  it('in their own session does not change how they sign in: that takes the password there is', async () => {
    await world.addUser();
    const cookie = cookieOf(await signIn());
    for (const body of [{ password: NEW_PASSWORD }, { password: null }, { second_factor: false }]) {
      expect(await as(cookie, 'PATCH', 'users/ada', body)).toMatchObject({
        status: 400,
        body: { problems: [{ code: 'own_sign_in' }] },
      });
    }
    expect(codeOf(await as(cookie, 'PATCH', 'users/ada', { name: 'Ada L' }))).toBe('200');
  });

  it('does not take from the last owner what they sign in with', async () => {
    await world.addUser();
    expect(codeOf(await ask(grantOf('owner'), 'PATCH', 'users/ada', { password: null }))).toBe('owner_last');
  });

  it('of a place are 200 at most for who manages that alone', async () => {
    for (let at = 0; at < 200; at += 1) {
      await world.addUser({ user_id: `u${at}`, grants: [grantOf('viewer', ACME)] });
    }
    const body = { user_id: 'more', grants: [{ role: 'viewer', ...ACME }] };
    expect(codeOf(await ask(grantOf('owner', ACME), 'POST', 'users', body))).toBe('limit_reached');
    const elsewhere = { user_id: 'more', grants: [{ role: 'viewer', ...RIVAL }] };
    expect(codeOf(await ask(grantOf('owner', RIVAL), 'POST', 'users', elsewhere))).toBe('201');
  });

  it('of a place are no more for having no grant any more', async () => {
    const token = await world.tokenOf(grantOf('owner', ACME));
    const call = async (method: string, path: string, body: object) =>
      codeOf(await world.call(method, path, { token, body, ...(method === 'PATCH' ? { ifMatch: '*' } : {}) }));
    for (let at = 0; at < 200; at += 1) {
      const user_id = `u${at}`;
      expect(await call('POST', 'users', { user_id, grants: [{ role: 'viewer', ...ACME }] })).toBe('201');
      expect(await call('PATCH', `users/${user_id}`, { grants: [] })).toBe('200');
    }
    expect(await call('POST', 'users', { user_id: 'more', grants: [{ role: 'viewer', ...ACME }] })).toBe(
      'limit_reached',
    );
  });

  it('ends their sessions where a second factor is removed', async () => {
    await world.addUser({ grants: both });
    const cookie = cookieOf(await signIn());
    expect(codeOf(await ask(grantOf('owner'), 'PATCH', 'users/ada', { second_factor: false }))).toBe('200');
    expect(codeOf(await as(cookie, 'GET', '/v1/session'))).toBe('session_over');
  });

  it('who owns something is for owners: an admin does not become one by their password', async () => {
    await world.addUser();
    for (const body of [{ password: NEW_PASSWORD }, { disabled: true }, { grants: [] }]) {
      expect(codeOf(await ask(grantOf('admin'), 'PATCH', 'users/ada', body))).toBe('permission_missing');
    }
  });

  it('does not take the last owner away', async () => {
    await world.addUser();
    for (const body of [{ disabled: true }, { grants: [{ role: 'admin' }] }]) {
      expect(codeOf(await ask(grantOf('owner'), 'PATCH', 'users/ada', body))).toBe('owner_last');
    }
    await world.addUser({ user_id: 'eve' });
    expect(codeOf(await ask(grantOf('owner'), 'PATCH', 'users/ada', { disabled: true }))).toBe('200');
    expect(codeOf(await ask(grantOf('owner'), 'PATCH', 'users/eve', { disabled: true }))).toBe('owner_last');
  });

  it('that others have, or that there is not, is refused alike', async () => {
    await world.addUser({ grants: [grantOf('viewer', RIVAL)] });
    for (const path of ['users/ada', 'users/nobody']) {
      expect(codeOf(await ask(grantOf('owner', ACME), 'GET', path))).toBe('permission_missing');
      expect(codeOf(await ask(grantOf('owner', ACME), 'PATCH', path, { grants: [] }))).toBe('permission_missing');
    }
    expect(codeOf(await ask(grantOf('owner'), 'GET', 'users/nobody'))).toBe('user_unknown');
    expect((await ask(grantOf('owner', ACME), 'GET', 'users')).body.items).toEqual([]);
    expect((await ask(grantOf('admin', RIVAL), 'GET', 'users')).body.items).toHaveLength(1);
  });

  it('ends their sessions where they are disabled, get a password or are told to; and no former one comes back', async () => {
    await world.addUser({ grants: [grantOf('viewer')] });
    for (const body of [{ disabled: true }, { password: PASSWORD }]) {
      const cookie = cookieOf(await signIn());
      expect(codeOf(await as(cookie, 'GET', '/v1/session'))).toBe('200');
      await ask(grantOf('admin'), 'PATCH', 'users/ada', body);
      expect(codeOf(await as(cookie, 'GET', '/v1/session'))).toBe('session_over');
      await ask(grantOf('admin'), 'PATCH', 'users/ada', { disabled: false });
      expect(codeOf(await as(cookie, 'GET', '/v1/session'))).toBe('session_over');
      world.clock.nowMs += 1000;
    }
    const cookie = cookieOf(await signIn());
    expect((await ask(grantOf('admin'), 'GET', 'users/ada/sessions')).body.items).toHaveLength(1);
    expect(codeOf(await ask(grantOf('admin'), 'DELETE', 'users/ada/sessions'))).toBe('200');
    expect(codeOf(await as(cookie, 'GET', '/v1/session'))).toBe('session_over');
    expect((await ask(grantOf('admin'), 'GET', 'users/ada/sessions')).body.items).toEqual([]);
  });

  it('names the version it is of', async () => {
    await world.addUser({ grants: [grantOf('viewer')] });
    const answer = await world.call('PATCH', 'users/ada', { body: { name: 'X' }, ifMatch: '"stale"' });
    expect(codeOf(answer)).toBe('version_conflict');
  });
});

describe('a user', () => {
  it('lists their sessions, and ends one of them but none of others', async () => {
    await world.addUser();
    await world.addUser({ user_id: 'bob' });
    const [first, second, other] = [await signIn(), await signIn(), await signIn({ user_id: 'bob' })];
    const items = (await as(cookieOf(first), 'GET', '/v1/sessions')).body.items;
    expect(items.map(({ id, current }: { id: string; current: boolean }) => [id, current])).toEqual(
      expect.arrayContaining([
        [first.body.session.id, true],
        [second.body.session.id, false],
      ]),
    );
    const end = (id: string) => as(cookieOf(first), 'DELETE', `/v1/sessions/${id}`);
    expect(codeOf(await end(other.body.session.id))).toBe('session_unknown');
    expect(codeOf(await end(second.body.session.id))).toBe('200');
    expect(codeOf(await as(cookieOf(second), 'GET', '/v1/session'))).toBe('session_over');
    expect(codeOf(await as(cookieOf(other), 'GET', '/v1/session'))).toBe('200');
  });

  it('changes their password, whereupon all sessions but this one end', async () => {
    await world.addUser();
    const [first, second] = [cookieOf(await signIn()), cookieOf(await signIn())];
    const change = (password: string) =>
      as(first, 'POST', '/v1/session/password', { password, new_password: NEW_PASSWORD });
    expect(codeOf(await change('wrong'))).toBe('password_refused');
    const answer = await change(PASSWORD);
    expect(codeOf(answer)).toBe('200');
    for (const cookie of [first, second]) {
      expect(codeOf(await as(cookie, 'GET', '/v1/session'))).toBe('session_over');
    }
    expect(codeOf(await as(cookieOf(answer), 'GET', '/v1/session'))).toBe('200');
    expect(codeOf(await signIn())).toBe('sign_in_refused');
    expect(codeOf(await signIn({ password: NEW_PASSWORD }))).toBe('200');
  });

  it('cannot be guessed at from an open session, and a token has none', async () => {
    await world.addUser();
    const cookie = cookieOf(await signIn());
    const body = { password: 'wrong', new_password: NEW_PASSWORD };
    for (let tries = 0; tries < TRIES_MAX; tries += 1) await as(cookie, 'POST', '/v1/session/password', body);
    const right = { ...body, password: PASSWORD };
    expect(codeOf(await as(cookie, 'POST', '/v1/session/password', right))).toBe('sign_in_limited');
    expect(codeOf(await world.call('POST', '/v1/session/password', { body: right }))).toBe('session_needed');
  });
});

it('answers alike of a user elsewhere and of one that there is not, also without a proof', async () => {
  await world.addUser({ user_id: 'ada', grants: [grantOf('admin', ACME)] });
  await world.addUser({ user_id: 'ceo', grants: [grantOf('owner', RIVAL)] });
  const cookie = cookieOf(await signIn());
  world.clock.nowMs += 16 * 60_000;
  for (const [method, path, body] of [
    ['GET', '', undefined],
    ['PATCH', '', { password: NEW_PASSWORD }],
    ['GET', '/sessions', undefined],
    ['DELETE', '/sessions', undefined],
    ['POST', '/invitation', {}],
  ] as const) {
    const [there, nobody] = await Promise.all(
      ['ceo', 'nobody'].map((id) => as(cookie, method, `/v1/admin/users/${id}${path}`, body)),
    );
    expect([method, path, there?.status, there?.text]).toEqual([method, path, 403, nobody?.text]);
  }
});

describe('a second factor', () => {
  const STEP_MS = 30_000;
  const codeNow = (secret: string, offset = 0): string =>
    totpCode(secret, Math.floor(world.clock.nowMs / STEP_MS) + offset);

  /** A user with a second factor: its secret, recovery codes and the session they have. */
  async function withFactor() {
    await world.addUser();
    const cookie = cookieOf(await signIn());
    const { secret, uri } = (await as(cookie, 'POST', '/v1/session/totp/begin', {})).body;
    expect(uri).toContain(`secret=${secret}`);
    const body = { code: codeNow(secret), password: PASSWORD };
    const confirmed = await as(cookie, 'POST', '/v1/session/totp/confirm', body);
    expect(codeOf(confirmed)).toBe('200');
    world.clock.nowMs += STEP_MS;
    return { secret, codes: confirmed.body.recovery_codes as string[], cookie: cookieOf(confirmed), before: cookie };
  }

  it('is asked for from then on, each code once', async () => {
    const { secret, before } = await withFactor();
    expect(codeOf(await as(before, 'GET', '/v1/session'))).toBe('session_over');
    expect(codeOf(await signIn())).toBe('second_factor_needed');
    expect(codeOf(await signIn({ password: 'wrong', code: codeNow(secret) }))).toBe('sign_in_refused');
    expect(codeOf(await signIn({ code: codeNow(secret, 7) }))).toBe('second_factor_refused');
    const code = codeNow(secret);
    expect((await signIn({ code })).body.second_factor).toBe(true);
    expect(codeOf(await signIn({ code }))).toBe('second_factor_refused');
    expect(codeOf(await signIn({ code: codeNow(secret, 1) }))).toBe('200');
  });

  it('is not confirmed without a right code and the password', async () => {
    await world.addUser();
    const cookie = cookieOf(await signIn());
    const { secret } = (await as(cookie, 'POST', '/v1/session/totp/begin', {})).body;
    const confirm = (body: object) => as(cookie, 'POST', '/v1/session/totp/confirm', body);
    expect(codeOf(await confirm({ code: codeNow(secret, 9), password: PASSWORD }))).toBe('second_factor_refused');
    expect(codeOf(await confirm({ code: codeNow(secret), password: 'wrong' }))).toBe('password_refused');
    expect((await signIn()).body.second_factor).toBe(false);
    expect(codeOf(await confirm({ code: codeNow(secret), password: PASSWORD }))).toBe('200');
  });

  it('is of the secret that was made in the same session last, a quarter of an hour ago at the most', async () => {
    await world.addUser();
    const [cookie, other] = [cookieOf(await signIn()), cookieOf(await signIn())];
    const begin = async () => (await as(cookie, 'POST', '/v1/session/totp/begin', {})).body.secret as string;
    const confirm = (code: string, session = cookie, more: object = {}) =>
      as(session, 'POST', '/v1/session/totp/confirm', { code, password: PASSWORD, ...more });
    expect(codeOf(await confirm('123456'))).toBe('second_factor_not_begun');
    const [before, secret] = [await begin(), await begin()];
    expect(codeOf(await confirm(codeNow(before)))).toBe('second_factor_refused');
    expect(codeOf(await confirm(codeNow(secret), other))).toBe('second_factor_not_begun');
    expect(codeOf(await confirm(codeNow(before), cookie, { secret: before }))).toBe('settings_invalid');
    world.clock.nowMs += 15 * 60_000;
    expect(codeOf(await confirm(codeNow(secret)))).toBe('second_factor_not_begun');
    expect(codeOf(await confirm(codeNow(await begin())))).toBe('200');
  });

  it('is held in Redis sealed, and neither begun nor confirmed while Redis is away', async () => {
    await world.addUser();
    const cookie = cookieOf(await signIn());
    const { secret } = (await as(cookie, 'POST', '/v1/session/totp/begin', {})).body;
    expect(world.sessions.factors.size).toBe(1);
    expect(JSON.stringify([...world.sessions.factors])).not.toContain(secret);
    world.sessions.isAway = true;
    expect(codeOf(await as(cookie, 'POST', '/v1/session/totp/begin', {}))).toBe('sessions_unavailable');
    const body = { code: codeNow(secret), password: PASSWORD };
    expect(codeOf(await as(cookie, 'POST', '/v1/session/totp/confirm', body))).toBe('sessions_unavailable');
  });

  it('answers the recovery codes, which are shown this once, where Redis fails after it is confirmed', async () => {
    await world.addUser();
    const cookie = cookieOf(await signIn());
    const { secret } = (await as(cookie, 'POST', '/v1/session/totp/begin', {})).body;
    const { begin } = world.sessions.store;
    world.sessions.store.begin = () => Promise.reject(new RedisUnavailableError('redis: away'));
    const body = { code: codeNow(secret), password: PASSWORD };
    const confirmed = await as(cookie, 'POST', '/v1/session/totp/confirm', body);
    expect(confirmed).toMatchObject({ status: 200, body: { recovery_codes: { length: 10 } } });
    expect(confirmed.headers['set-cookie']).toBeUndefined();
    world.sessions.store.begin = begin;
    expect(codeOf(await signIn({ code: confirmed.body.recovery_codes[0] }))).toBe('200');
  });

  it('leaves in the audit that a code was asked for, and which were wrong', async () => {
    const { secret, cookie } = await withFactor();
    await world.addUser({ user_id: 'bob' });
    await signIn();
    await as(cookie, 'POST', '/v1/session/totp/remove', { password: PASSWORD, code: codeNow(secret, 9) });
    const bob = cookieOf(await signIn({ user_id: 'bob' }));
    await as(bob, 'POST', '/v1/session/totp/begin', {});
    await as(bob, 'POST', '/v1/session/totp/confirm', { password: PASSWORD, code: '000000' });
    await expect
      .poll(() => audited())
      .toEqual([
        ['user/ada', 'user.code_asked', undefined],
        ['user/ada', 'user.sign_in_refused', 'code'],
        ['user/bob', 'user.sign_in', undefined],
        ['user/bob', 'user.sign_in_refused', 'code'],
      ]);
  });

  it('is replaced by a recovery code once, as it is typed', async () => {
    const { codes } = await withFactor();
    expect(codes).toHaveLength(10);
    expect(codes[0]).toMatch(/^([a-z2-7]{4}-){3}[a-z2-7]{4}$/);
    const typed = codes[0]?.toUpperCase().replaceAll('-', ' ');
    expect(codeOf(await signIn({ code: typed }))).toBe('200');
    expect(codeOf(await signIn({ code: codes[0] }))).toBe('second_factor_refused');
    expect((await ask(grantOf('owner'), 'GET', 'users/ada')).body.recovery_codes_left).toBe(9);
    expect(JSON.stringify(world.journal.records)).not.toContain(codes[1]);
  });

  it('cannot be guessed', async () => {
    const { secret } = await withFactor();
    for (let tries = 0; tries < TRIES_MAX; tries += 1) {
      await signIn({ code: '000000' });
      world.sessions.tries.clear();
    }
    expect(codeOf(await signIn({ code: codeNow(secret) }))).toBe('sign_in_limited');
  });

  it('is removed with the password and a code, or by who manages the user', async () => {
    const { secret, cookie } = await withFactor();
    const remove = (body: object) => as(cookie, 'POST', '/v1/session/totp/remove', body);
    expect(codeOf(await remove({ password: 'wrong', code: codeNow(secret) }))).toBe('password_refused');
    expect(codeOf(await remove({ password: PASSWORD, code: codeNow(secret, 9) }))).toBe('second_factor_refused');
    const removed = await remove({ password: PASSWORD, code: codeNow(secret) });
    expect(codeOf(removed)).toBe('200');
    expect((await as(cookieOf(removed), 'GET', '/v1/session')).body.second_factor).toBe(false);
    expect((await signIn()).body.second_factor).toBe(false);
  });

  it.each([
    ['/v1/session/proof', {}],
    ['/v1/session/password', { new_password: NEW_PASSWORD }],
    ['/v1/session/oidc/link/start', { provider: 'none' }],
    ['/v1/session/oidc/unlink', {}],
  ])('is asked for where %s takes the password again', async (path, body) => {
    const { secret, cookie, codes } = await withFactor();
    const send = async (more: object) =>
      codeOf(await as(cookie, 'POST', path, { ...body, password: PASSWORD, ...more }));
    expect(await send({})).toBe('second_factor_needed');
    expect(await send({ code: codeNow(secret, 9) })).toBe('second_factor_refused');
    expect(await send({ password: 'wrong', code: codeNow(secret) })).toBe('password_refused');
    expect(await send({ code: codes[0] })).toBe(path.endsWith('start') ? 'provider_unknown' : '200');
  });

  it('cannot be guessed where the password is sent again', async () => {
    const { codes, cookie } = await withFactor();
    const prove = async (code = '000000') =>
      codeOf(await as(cookie, 'POST', '/v1/session/proof', { password: PASSWORD, code }));
    for (let tries = 0; tries < TRIES_MAX; tries += 1) {
      await prove();
      world.sessions.tries.clear();
    }
    expect(await prove(codes[0])).toBe('sign_in_limited');
  });

  it('may be required by role: until it is there nothing else is answered, and it is not removed', async () => {
    world.secondFactorRoles.push('owner');
    await world.addUser();
    await world.addUser({ user_id: 'vic', grants: [grantOf('viewer')] });
    const signed = await signIn();
    expect(signed.body).toMatchObject({ second_factor: false, second_factor_required: true });
    const cookie = cookieOf(signed);
    expect(codeOf(await as(cookie, 'GET', '/v1/admin/sites'))).toBe('second_factor_required');
    expect(codeOf(await as(cookie, 'POST', '/v1/admin/tokens', { label: 'a' }))).toBe('second_factor_required');
    expect(codeOf(await as(cookie, 'GET', '/v1/sessions'))).toBe('200');
    const vic = await signIn({ user_id: 'vic' });
    expect(vic.body).toMatchObject({ second_factor_required: false });
    expect(codeOf(await as(cookieOf(vic), 'GET', '/v1/admin/sites'))).toBe('200');
    const { secret } = (await as(cookie, 'POST', '/v1/session/totp/begin', {})).body;
    const confirmed = await as(cookie, 'POST', '/v1/session/totp/confirm', {
      code: codeNow(secret),
      password: PASSWORD,
    });
    const now = cookieOf(confirmed);
    expect((await as(now, 'GET', '/v1/session')).body).toMatchObject({ second_factor_required: false });
    expect(codeOf(await as(now, 'GET', '/v1/admin/sites'))).toBe('200');
    const code = confirmed.body.recovery_codes[0];
    const removed = await as(now, 'POST', '/v1/session/totp/remove', { password: PASSWORD, code });
    expect(codeOf(removed)).toBe('second_factor_required');
    expect(codeOf(await world.call('GET', 'sites'))).toBe('200');
  });

  it('is the provider’s for who has no password', async () => {
    world.secondFactorRoles.push('owner');
    await world.addUser();
    const cookie = cookieOf(await signIn());
    await world.addUser({ password: null });
    expect(codeOf(await as(cookie, 'GET', '/v1/admin/sites'))).toBe('200');
  });

  it('that is lost is removed by who manages the user', async () => {
    await withFactor();
    await ask(grantOf('owner'), 'PATCH', 'users/ada', { second_factor: false });
    expect((await signIn()).body.second_factor).toBe(false);
  });
});

describe('revoking what a user issued', () => {
  const issued = async (issuer: string | null, label: string, grants: Grant[] | null): Promise<void> => {
    const admin_token = {
      ...{ token_hash: hash('sha256', label), shown_prefix: 'svc_at_1', label, created_at: 1, expires_at: null },
      ...{ revoked_at: null, grants, issuer },
    };
    const facts = [{ body: { admin_token } }];
    await world.journal.change((view) => ({ records: auditedRecords(view, facts, 'test', NOW_MS), result: null }));
  };
  const made = (analystId: string, createdBy: string, siteIds: string[]): void => {
    const rest = { user: `sql_user_${analystId}`, createdMs: 5, expiresMs: null, passwordSha256: '' };
    world.analysts.users?.set(analystId, { analystId, createdBy, siteIds, ...rest });
  };
  /** Ada's are: a token of the shop, one of the rival's site, one that a token of hers issued; and two users of ClickHouse. */
  const fill = async (): Promise<void> => {
    await world.addUser({ grants: [grantOf('admin', { site_id: 'shop' })] });
    await issued('user/ada', 'own', [grantOf('viewer', { site_id: 'shop' })]);
    await issued('user/ada', 'elsewhere', [grantOf('viewer', { site_id: 'other' })]);
    await issued(`admin_token/${hash('sha256', 'own')}`, 'next', [grantOf('viewer', { site_id: 'till' })]);
    await issued('user/eve', 'of-eve', [grantOf('viewer', { site_id: 'shop' })]);
    made('mine', 'user:ada', ['shop']);
    made('by-token', 'own', ['till']);
    made('far', 'user:ada', ['other']);
    made('of-eve', 'user:eve', ['shop']);
  };
  const working = (): string[] =>
    world.journal
      .view()
      .table.adminTokens()
      .filter(({ revoked_at, label }) => revoked_at === null && !/^t\d|^tester$/.test(label))
      .map(({ label }) => label)
      .sort();

  it('ends the tokens and users of ClickHouse that they made, by a token of theirs too, and nobody else’s', async () => {
    await fill();
    const change = { disabled: true, revoke_issued: true };
    const answer = await ask(grantOf('owner'), 'PATCH', 'users/ada', change);
    expect(answer.body).toMatchObject({
      disabled_at: NOW_MS,
      revoked_issued: { tokens: ['elsewhere', 'next', 'own'], tokens_left: false, analysts_left: false },
    });
    expect(answer.body.revoked_issued.analysts).toEqual(['by-token', 'far', 'mine']);
    expect(working()).toEqual(['of-eve']);
    expect([...(world.analysts.users?.keys() ?? [])]).toEqual(['of-eve']);
    expect(audited().map((entry) => entry.slice(0, 2).join(' '))).toEqual(
      expect.arrayContaining(['analyst/mine analyst.revoke', 'analyst/by-token analyst.revoke']),
    );
  });

  it('ends what who asks may, and says that some of it stays', async () => {
    await fill();
    const answer = await ask(grantOf('admin', ACME), 'PATCH', 'users/ada', { revoke_issued: true });
    expect(answer.body).toMatchObject({
      disabled_at: null,
      revoked_issued: {
        tokens: ['next', 'own'],
        tokens_left: true,
        analysts: ['by-token', 'mine'],
        analysts_left: true,
      },
    });
    expect(working()).toEqual(['elsewhere', 'of-eve']);
  });

  it('disables them where ClickHouse is away, and says that some may be left; without it nothing else ends', async () => {
    await fill();
    expect((await ask(grantOf('owner'), 'PATCH', 'users/ada', { disabled: true })).body.revoked_issued).toBeUndefined();
    expect(working()).toEqual(['elsewhere', 'next', 'of-eve', 'own']);
    const users = world.analysts.users;
    if (users === null) throw new Error('the world has users of analysts');
    users.values = () => {
      throw new WarehouseError('warehouse_unavailable', 'clickhouse: away');
    };
    const away = await ask(grantOf('owner'), 'PATCH', 'users/ada', { revoke_issued: true });
    expect(away.body.revoked_issued).toMatchObject({ analysts: null, analysts_left: true });
    expect(working()).toEqual(['of-eve']);
    expect(users.size).toBe(4);
  });

  it('leaves the last token that may do everything', async () => {
    await fill();
    const [tester] = world.journal
      .view()
      .table.adminTokens()
      .filter(({ label }) => label === 'tester');
    await issued('user/ada', 'all', null);
    await world.call('POST', `tokens/${tester?.token_hash}/revoke`);
    const answer = await ask(grantOf('owner'), 'PATCH', 'users/ada', { disabled: true, revoke_issued: true });
    expect(answer.body.revoked_issued).toMatchObject({ tokens_left: true });
    expect(working()).toEqual(['all', 'of-eve']);
  });
});
