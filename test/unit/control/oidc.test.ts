import { describe, expect, it, test } from 'vitest';
import type { OidcBinding, ProviderClient } from '#infra/oidc/provider_client.ts';
import { oidcSubject } from '#pipelines/settings/dashboard_users.ts';
import { type Answer, type Control, control, NOW_MS, PASSWORD } from './harness.ts';
import { TRIES_MAX } from './memory_sessions.ts';
import { grantOf } from './scoped_world.ts';

const LOCAL = { host: 'localhost:8090', origin: 'http://localhost:8090', 'x-svc-csrf': '1' };
const ISSUER = 'https://id.example';
const path = '/v1/session/oidc';

/** A provider that believes whatever the answer says; what it is bound to is checked in its own test. */
function memoryProvider(): ProviderClient & { bound: OidcBinding[]; isAway: boolean; authMs: number | null } {
  const provider = {
    ...{ id: 'acme', label: 'Acme', bound: [] as OidcBinding[], isAway: false, isTimeOptional: false },
    authMs: NOW_MS as number | null,
    async begin(binding: OidcBinding) {
      provider.bound.push(binding);
      return provider.isAway ? null : `${ISSUER}/authorize?state=${binding.state}`;
    },
    async finish(query: string, binding: OidcBinding) {
      const sent = new URLSearchParams(query);
      if (sent.get('state') !== binding.state) {
        return { ok: false, code: 'oidc_refused', detail: 'state' } as const;
      }
      return { ok: true, issuer: ISSUER, subject: sent.get('subject') ?? '', authMs: provider.authMs } as const;
    },
  };
  return provider;
}

const ask = (world: Control, method: string, to: string, body?: object, cookie = ''): Promise<Answer> =>
  world.call(method, to, {
    token: null,
    headers: { ...LOCAL, ...(cookie === '' ? {} : { cookie }) },
    ...(body === undefined ? {} : { body }),
  });

const cookiesOf = ({ headers }: Answer): string[] =>
  [headers['set-cookie'] ?? []].flat().map((one) => String(one).split(';')[0] ?? '');
const cookieOf = (answer: Answer, name: string): string =>
  cookiesOf(answer).find((one) => one.startsWith(`${name}=`)) ?? '';

async function installed() {
  const world = await control();
  const provider = memoryProvider();
  world.providers.push(provider);
  return { world, provider };
}

/** Begins a sign-in, and answers what its end takes. */
async function begun(world: Control, more: object = {}, start = 'start', cookie = '') {
  const answer = await ask(world, 'POST', `${path}/${start}`, { provider: 'acme', ...more }, cookie);
  expect(answer.status, answer.text).toBe(200);
  const state = new URL(answer.body.url).searchParams.get('state') ?? '';
  const flow = cookieOf(answer, 'svc_oidc');
  return {
    flow,
    answerOf: (subject: string, provider = 'acme') => ({
      provider,
      answer: new URLSearchParams({ state, subject }).toString(),
    }),
  };
}

async function signIn(world: Control, subject: string, more: object = {}): Promise<Answer> {
  const { flow, answerOf } = await begun(world, more);
  return ask(world, 'POST', `${path}/finish`, answerOf(subject), flow);
}

const passwordSession = async (world: Control, user_id = 'ada'): Promise<string> =>
  cookieOf(await ask(world, 'POST', '/v1/session', { user_id, password: PASSWORD }), 'svc_session');

test('whoever is linked signs in, with a session as by a password and without its second factor', async () => {
  const { world } = await installed();
  await world.addUser({ oidc_subjects: [oidcSubject(ISSUER, 'a-1')], totp: 'sealed' });
  expect((await ask(world, 'GET', path)).body).toEqual({ items: [{ id: 'acme', label: 'Acme' }] });
  const answer = await signIn(world, 'a-1');
  expect(answer.body).toMatchObject({ kind: 'user', id: 'ada', provider_links: 1, session: { created_at: NOW_MS } });
  expect(String(answer.headers['set-cookie'])).toContain('svc_oidc=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0');
  const session = cookieOf(answer, 'svc_session');
  expect((await ask(world, 'GET', '/v1/session', undefined, session)).body.id).toBe('ada');
  const done = world.journal.records.map(({ setting }) => JSON.parse(setting?.audit?.after ?? '{}').done);
  expect(done).toEqual(['user.sign_in']);
});

test('an account that is linked to nobody, or to one who is disabled, is refused alike', async () => {
  const { world } = await installed();
  await world.addUser({ user_id: 'bob', disabled_at: NOW_MS, oidc_subjects: [oidcSubject(ISSUER, 'subject-of-bob')] });
  for (const subject of ['nobody', 'subject-of-bob']) {
    const answer = await signIn(world, subject);
    expect([answer.status, answer.body.error.code]).toEqual([403, 'oidc_not_linked']);
    expect(cookieOf(answer, 'svc_session')).toBe('');
  }
  expect(JSON.stringify(world.journal.records)).not.toContain('subject-of-bob');
});

test('what was begun ends once, in the browser that began it, within ten minutes, and for what it was begun', async () => {
  const { world } = await installed();
  await world.addUser({ oidc_subjects: [oidcSubject(ISSUER, 'a-1')] });
  const codeOf = async (body: object, cookie: string, end = 'finish') =>
    (await ask(world, 'POST', `${path}/${end}`, body, cookie)).body?.error?.code ?? 'done';
  const first = await begun(world);
  const second = await begun(world);
  expect(await codeOf(first.answerOf('a-1'), '')).toBe('oidc_flow_over');
  expect(await codeOf(first.answerOf('a-1'), `svc_oidc=${'A'.repeat(43)}`)).toBe('oidc_flow_over');
  expect(await codeOf(first.answerOf('a-1'), second.flow)).toBe('oidc_refused');
  expect(await codeOf(second.answerOf('a-1'), second.flow)).toBe('oidc_flow_over');
  expect(await codeOf(first.answerOf('a-1'), first.flow)).toBe('done');
  expect(await codeOf(first.answerOf('a-1'), first.flow)).toBe('oidc_flow_over');
  const mixed = await begun(world);
  expect(await codeOf(mixed.answerOf('a-1', 'other'), mixed.flow)).toBe('oidc_flow_over');
  const late = await begun(world);
  world.clock.nowMs += 600_000;
  expect(await codeOf(late.answerOf('a-1'), late.flow)).toBe('oidc_flow_over');
  const session = await passwordSession(world);
  const other = await begun(world);
  expect(await codeOf(other.answerOf('x'), `${session}; ${other.flow}`, 'link/finish')).toBe('oidc_flow_over');
  const refused = world.journal.records.map(({ setting }) => JSON.parse(setting?.audit?.after ?? '{}'));
  expect(refused).toContainEqual({ done: 'user.sign_in_refused', reason: 'oidc_flow_over' });
});

test('a user links an account by the password, which signs in from then on, and unlinks it', async () => {
  const { world } = await installed();
  await world.addUser();
  const session = await passwordSession(world);
  const wrong = await ask(world, 'POST', `${path}/link/start`, { provider: 'acme', password: 'wrong' }, session);
  expect(wrong.body.error.code).toBe('password_refused');
  const { flow, answerOf } = await begun(world, { password: PASSWORD }, 'link/start', session);
  const linked = await ask(world, 'POST', `${path}/link/finish`, answerOf('a-1'), `${session}; ${flow}`);
  expect(linked.status).toBe(200);
  expect((await ask(world, 'GET', '/v1/session', undefined, session)).status).toBe(401);
  expect(world.journal.view().table.user('ada')?.oidc_subjects).toEqual([oidcSubject(ISSUER, 'a-1')]);
  expect((await signIn(world, 'a-1')).body.id).toBe('ada');
  const renewed = cookieOf(linked, 'svc_session');
  expect((await ask(world, 'POST', `${path}/unlink`, { password: PASSWORD }, renewed)).status).toBe(200);
  expect((await signIn(world, 'a-1')).body.error.code).toBe('oidc_not_linked');
});

test('an account is of one user, and a link that another one began is not taken', async () => {
  const { world } = await installed();
  await world.addUser();
  await world.addUser({ user_id: 'bob', oidc_subjects: [oidcSubject(ISSUER, 'subject-of-bob')] });
  const [ada, bob] = [await passwordSession(world), await passwordSession(world, 'bob')];
  const { flow, answerOf } = await begun(world, { password: PASSWORD }, 'link/start', ada);
  const taken = await ask(world, 'POST', `${path}/link/finish`, answerOf('subject-of-bob'), `${ada}; ${flow}`);
  expect(taken.body.error.code).toBe('oidc_linked_elsewhere');
  const again = await begun(world, { password: PASSWORD }, 'link/start', ada);
  const crossed = await ask(world, 'POST', `${path}/link/finish`, again.answerOf('c'), `${bob}; ${again.flow}`);
  expect(crossed.body.error.code).toBe('oidc_flow_over');
});

test('an invitation links the account of whoever has it, once, and ends with the user’s sessions', async () => {
  const { world } = await installed();
  await world.addUser({ password: null });
  const invite = async (): Promise<string> =>
    (await world.call('POST', 'users/ada/invitation', { body: {} })).body.invitation;
  const invitation = await invite();
  expect(invitation).toMatch(/^[\w-]{43}$/);
  expect((await signIn(world, 'a-1', { invitation })).body.id).toBe('ada');
  expect((await signIn(world, 'a-2', { invitation })).body.error.code).toBe('invitation_over');
  expect((await signIn(world, 'a-1')).status).toBe(200);
  const second = await invite();
  await world.call('DELETE', 'users/ada/sessions');
  expect((await signIn(world, 'a-2', { invitation: second })).body.error.code).toBe('invitation_over');
  const third = await invite();
  world.clock.nowMs += 73 * 3_600_000;
  expect((await signIn(world, 'a-2', { invitation: third })).body.error.code).toBe('invitation_over');
  expect(JSON.stringify(world.journal.records)).not.toContain(invitation);
});

test('an invitation is over when another was used, when its user became more, and when who made it may not any more', async () => {
  const { world } = await installed();
  await world.addUser({ password: null, grants: [grantOf('viewer')] });
  await world.addUser({ user_id: 'eve' });
  await world.addUser({ user_id: 'bob' });
  const bob = await passwordSession(world, 'bob');
  const invite = async (): Promise<string> =>
    (await ask(world, 'POST', '/v1/admin/users/ada/invitation', {}, bob)).body.invitation;
  const codeOf = async (invitation: string, subject: string) =>
    (await signIn(world, subject, { invitation })).body?.error?.code ?? 'done';
  const [first, second] = [await invite(), await invite()];
  expect([await codeOf(first, 'a-1'), await codeOf(second, 'a-2')]).toEqual(['done', 'invitation_over']);
  const before = await invite();
  await world.call('PATCH', 'users/ada', { body: { grants: [grantOf('admin')] } });
  expect(await codeOf(before, 'a-2')).toBe('invitation_over');
  const left = await invite();
  await world.call('PATCH', 'users/bob', { body: { disabled: true } });
  expect(await codeOf(left, 'a-2')).toBe('invitation_over');
});

test('an invitation made with a token is over when the token is revoked', async () => {
  const { world } = await installed();
  await world.addUser({ password: null });
  const { secret, token } = (await world.call('POST', 'tokens', { body: { label: 'onboarding' } })).body;
  const invite = async (): Promise<string> =>
    (await world.call('POST', 'users/ada/invitation', { token: secret, body: {} })).body.invitation;
  const [used, left] = [await invite(), await invite()];
  expect((await signIn(world, 'a-1', { invitation: used })).body.id).toBe('ada');
  const late = await invite();
  expect((await world.call('POST', `tokens/${token.token_hash}/revoke`)).status).toBe(200);
  for (const invitation of [left, late]) {
    expect((await signIn(world, 'a-2', { invitation })).body.error.code).toBe('invitation_over');
  }
});

test('an invitation of a former version works as long as the user it names may invite, and one by any token is over', async () => {
  const { world } = await installed();
  await world.addUser({ password: null, grants: [grantOf('viewer')] });
  await world.addUser({ user_id: 'eve' });
  await world.addUser({ user_id: 'bob' });
  const codeOf = async (inviter: string | null, subject: string) => {
    const { invitation } = (await world.call('POST', 'users/ada/invitation', { body: {} })).body;
    const note = (await world.notes.take('invitation', invitation)) as object;
    await world.notes.put('invitation', invitation, { ...note, inviter }, 60_000);
    return (await signIn(world, subject, { invitation })).body?.error?.code ?? 'done';
  };
  expect(await codeOf(null, 'a-1')).toBe('invitation_over');
  expect(await codeOf('bob', 'a-1')).toBe('done');
  await world.call('PATCH', 'users/bob', { body: { disabled: true } });
  expect(await codeOf('bob', 'a-2')).toBe('invitation_over');
});

test('without a password an account is linked soon after signing in, and not by a session that was found open', async () => {
  const { world } = await installed();
  await world.addUser({ password: null, oidc_subjects: [oidcSubject(ISSUER, 'a-1')] });
  const session = cookieOf(await signIn(world, 'a-1'), 'svc_session');
  const start = (): Promise<Answer> => ask(world, 'POST', `${path}/link/start`, { provider: 'acme' }, session);
  expect((await start()).status).toBe(200);
  world.clock.nowMs += 900_001;
  expect((await start()).body.error.code).toBe('proof_needed');
});

describe('a sign-in at a provider', () => {
  const QUARTER_MS = 900_000;
  const SUBJECTS = { oidc_subjects: [oidcSubject(ISSUER, 'a-1')] };

  /** Signs in, and says of the session whether it may do what takes a proof. */
  async function provenBy(world: Control, more: object = {}) {
    const answer = await signIn(world, 'a-1', more);
    const session = cookieOf(answer, 'svc_session');
    const codeOf = async (): Promise<string> => {
      const body = { label: `t${world.journal.records.length}` };
      const issued = await ask(world, 'POST', '/v1/admin/tokens', body, session);
      return issued.body?.error?.code ?? 'done';
    };
    return { code: answer.body?.error?.code ?? 'done', session, codeOf };
  }

  it.each([
    ['with a password', {}],
    ['without one', { password: null }],
  ])(
    'proves who somebody %s is for a quarter of an hour from when the provider had them prove it',
    async (_who, of) => {
      const { world, provider } = await installed();
      await world.addUser({ ...SUBJECTS, ...of });
      provider.authMs = NOW_MS - QUARTER_MS + 1_000;
      const { codeOf } = await provenBy(world);
      expect(await codeOf()).toBe('done');
      world.clock.nowMs += 1_001;
      expect(await codeOf()).toBe('proof_needed');
      for (const authMs of [NOW_MS - QUARTER_MS - 1, null]) {
        provider.authMs = authMs;
        const anew = await provenBy(world);
        expect([anew.code, await anew.codeOf()]).toEqual(['done', 'proof_needed']);
      }
    },
  );

  it('proves no more by a clock that is ahead', async () => {
    const { world, provider } = await installed();
    await world.addUser(SUBJECTS);
    provider.authMs = NOW_MS + 3_600_000;
    const { codeOf } = await provenBy(world);
    world.clock.nowMs += QUARTER_MS + 1;
    expect(await codeOf()).toBe('proof_needed');
  });

  it('as a proof asks the provider for one, and is none where it had them prove it before that or does not say', async () => {
    const { world, provider } = await installed();
    await world.addUser(SUBJECTS);
    world.clock.nowMs += 3_600_000;
    const askedMs = world.clock.nowMs;
    for (const authMs of [askedMs - 60_001, null]) {
      provider.authMs = authMs;
      const refused = await provenBy(world, { proof: true });
      expect([refused.code, refused.session]).toEqual(['oidc_not_proven', '']);
    }
    const audited = world.journal.records.map(({ setting }) => JSON.parse(setting?.audit?.after ?? '{}').reason);
    expect(audited).toContain('acme: oidc_not_proven');
    provider.authMs = askedMs - 60_000;
    const proven = await provenBy(world, { proof: true });
    expect([proven.code, await proven.codeOf()]).toEqual(['done', 'done']);
    await provenBy(world);
    expect(provider.bound.map(({ isAgain }) => isAgain)).toEqual([true, true, true, false]);
  });

  it('where the provider is known to say no time is a proof when asked for as one, of who has no password alone', async () => {
    const { world, provider } = await installed();
    Object.assign(provider, { isTimeOptional: true, authMs: null });
    await world.addUser({ ...SUBJECTS, password: null });
    expect(await (await provenBy(world)).codeOf()).toBe('proof_needed');
    const proven = await provenBy(world, { proof: true });
    expect([proven.code, await proven.codeOf()]).toEqual(['done', 'done']);
    await world.addUser(SUBJECTS);
    expect((await provenBy(world, { proof: true })).code).toBe('oidc_not_proven');
  });

  it('that links another account makes the session no younger', async () => {
    const { world } = await installed();
    await world.addUser({ ...SUBJECTS, password: null });
    const { session } = await provenBy(world);
    world.clock.nowMs += QUARTER_MS - 1_000;
    const { flow, answerOf } = await begun(world, {}, 'link/start', session);
    world.clock.nowMs += 2_000;
    const linked = await ask(world, 'POST', `${path}/link/finish`, answerOf('a-2'), `${session}; ${flow}`);
    expect(linked.status).toBe(200);
    const again = await ask(world, 'POST', `${path}/link/start`, { provider: 'acme' }, cookieOf(linked, 'svc_session'));
    expect(again.body.error.code).toBe('proof_needed');
  });
});

test('only who could give all that a user may invites them, and unlinks what they have linked', async () => {
  const { world } = await installed();
  await world.addUser({ oidc_subjects: [oidcSubject(ISSUER, 'a-1')] });
  await world.addUser({ user_id: 'bob', grants: [grantOf('admin')] });
  const bob = await passwordSession(world, 'bob');
  const refused = await ask(world, 'POST', '/v1/admin/users/ada/invitation', {}, bob);
  expect(refused.body.error.code).toBe('permission_missing');
  const changed = await world.call('PATCH', 'users/ada', { body: { provider_links: 0 } });
  expect(changed.body.provider_links).toBe(0);
  expect((await signIn(world, 'a-1')).body.error.code).toBe('oidc_not_linked');
});

test('sign-ins at providers are limited, need a page of our own, a provider that there is, and Redis', async () => {
  const { world, provider } = await installed();
  const foreign = { ...LOCAL, origin: 'https://evil.example' };
  const codeOf = async (body: object, headers: Record<string, string> = LOCAL) =>
    (await world.call('POST', `${path}/start`, { token: null, body, headers })).body?.error?.code ?? 'done';
  expect(await codeOf({ provider: 'acme' }, foreign)).toBe('origin_foreign');
  expect(await codeOf({ provider: 'acme' }, { host: LOCAL.host, origin: LOCAL.origin })).toBe('csrf_missing');
  expect(await codeOf({ provider: 'other' })).toBe('provider_unknown');
  provider.isAway = true;
  expect(await codeOf({ provider: 'acme' })).toBe('oidc_unavailable');
  const audited = world.journal.records.map(({ setting }) => JSON.parse(setting?.audit?.after ?? '{}').reason);
  expect(audited).toContain('acme: oidc_unavailable');
  provider.isAway = false;
  world.sessions.isAway = true;
  expect(await codeOf({ provider: 'acme' })).toBe('sessions_unavailable');
  world.sessions.isAway = false;
  for (let tried = 2; tried < TRIES_MAX; tried += 1) expect(await codeOf({ provider: 'acme' })).toBe('done');
  expect(await codeOf({ provider: 'acme' })).toBe('sign_in_limited');
  const values = provider.bound.flatMap(({ state, nonce, verifier }) => [state, nonce, verifier]);
  expect(new Set(values).size).toBe(values.length);
});
