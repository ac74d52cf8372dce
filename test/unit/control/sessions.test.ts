import { describe, expect, it } from 'vitest';
import { type Answer, type Control, control, NOW_MS, PASSWORD, TOKEN } from './harness.ts';
import { TRIES_MAX } from './memory_sessions.ts';

const LOCAL = { host: 'localhost:8090', origin: 'http://localhost:8090', 'x-svc-csrf': '1' };
const PUBLIC = { host: 'control.example', origin: 'https://control.example', 'x-svc-csrf': '1' };
const HOUR_MS = 3_600_000;

function signIn(world: Control, body: object = {}, headers: Record<string, string> = LOCAL): Promise<Answer> {
  return world.call('POST', '/v1/session', {
    token: null,
    body: { user_id: 'ada', password: PASSWORD, ...body },
    headers,
  });
}

const cookieOf = (answer: Answer): string => String(answer.headers['set-cookie']).split(';')[0] ?? '';

/** A service with a user, and the cookie of their session. */
async function signedIn(): Promise<{ world: Control; cookie: string }> {
  const world = await control();
  await world.addUser();
  return { world, cookie: cookieOf(await signIn(world)) };
}

const ask = (world: Control, method: string, path: string, headers: Record<string, string>, body?: object) =>
  world.call(method, path, { token: null, headers, ...(body === undefined ? {} : { body }) });

/** What of the audit is about sign-ins, the oldest first. */
function audited(world: Control) {
  return world.journal.records.flatMap(({ setting }) => {
    const audit = setting?.audit;
    if (!audit) return [];
    return [{ by: setting.changed_by, about: audit.setting_key, ...JSON.parse(audit.after ?? '{}') }];
  });
}

describe('signing in', () => {
  it('takes no long body of somebody who has not signed in', async () => {
    const world = await control();
    expect(await signIn(world, { password: 'a'.repeat(16 * 1024) })).toMatchObject({ status: 413 });
    expect(await signIn(world, { password: 'a'.repeat(900) })).not.toMatchObject({ status: 413 });
  });

  it('answers who it is and what they may, and sets a cookie for this machine', async () => {
    const world = await control();
    await world.addUser();
    const answer = await signIn(world);
    expect(answer).toMatchObject({
      status: 200,
      body: { kind: 'user', id: 'ada', name: 'Ada', second_factor: false, session: { created_at: NOW_MS } },
    });
    expect(answer.body.grants[0]).toMatchObject({ role: 'owner', account_id: null, site_id: null });
    expect(answer.body.grants[0].permissions).toContain('users.manage');
    expect(answer.headers['set-cookie']).toMatch(
      /^svc_session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=1209600$/,
    );
    expect(audited(world)).toEqual([
      expect.objectContaining({ by: 'user:ada', about: 'user/ada', done: 'user.sign_in', network: '127.0.0.1' }),
    ]);
  });

  it('sets a cookie that only this host can set, where it is reached over HTTPS', async () => {
    const world = await control();
    await world.addUser();
    expect((await signIn(world, {}, PUBLIC)).headers['set-cookie']).toMatch(
      /^__Host-svc_session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=1209600; Secure$/,
    );
  });

  it('begins a session of its own whatever cookie was there, and ends the one before', async () => {
    const { world, cookie } = await signedIn();
    const fixed = `svc_session=${'A'.repeat(43)}`;
    expect(cookieOf(await signIn(world, {}, { ...LOCAL, cookie: fixed }))).not.toBe(fixed);
    await signIn(world, {}, { ...LOCAL, cookie });
    expect((await ask(world, 'GET', '/v1/session', { ...LOCAL, cookie })).body.error.code).toBe('session_over');
  });

  it('answers a wrong password, a user that there is not, one without a password and one disabled alike', async () => {
    const world = await control();
    await world.addUser();
    await world.addUser({ user_id: 'bob', disabled_at: NOW_MS });
    await world.addUser({ user_id: 'cy', password: null });
    const tries = [{ password: 'wrong' }, { user_id: 'nobody' }, { user_id: 'bob' }, { user_id: 'cy' }];
    const answers = await Promise.all(tries.map((body) => signIn(world, body)));
    for (const answer of answers) {
      expect(answer).toMatchObject({ status: 401, body: { error: { code: 'sign_in_refused' } } });
      expect(answer.text).toBe(answers[0]?.text);
      expect(answer.headers['set-cookie']).toBeUndefined();
    }
    expect(audited(world).map(({ about, reason }) => [about, reason])).toEqual(
      expect.arrayContaining([
        ['user/ada', 'password'],
        ['user', 'password'],
        ['user/bob', 'disabled'],
        ['user/cy', 'password'],
      ]),
    );
    expect(JSON.stringify(world.journal.records)).not.toContain('nobody');
  });

  it('is refused for a while after too many tries, also with the right password', async () => {
    const world = await control();
    await world.addUser();
    for (let tries = 0; tries < TRIES_MAX; tries += 1) await signIn(world, { password: 'wrong' });
    const answer = await signIn(world);
    expect(answer).toMatchObject({ status: 429, body: { error: { code: 'sign_in_limited' } } });
    expect(answer.headers['retry-after']).toBe('900');
    expect(audited(world).filter(({ reason }) => reason === 'password')).toHaveLength(1);
  });

  it('takes no password that would take long to hash, and no body of another type', async () => {
    const world = await control();
    await world.addUser();
    expect((await signIn(world, { password: 'x'.repeat(257) })).body.error.code).toBe('settings_invalid');
    const form = { ...LOCAL, 'content-type': 'text/plain' };
    expect((await signIn(world, {}, form)).body.error.code).toBe('content_type_unsupported');
  });

  it('needs Redis', async () => {
    const world = await control();
    await world.addUser();
    world.sessions.isAway = true;
    expect(await signIn(world)).toMatchObject({ status: 503, body: { error: { code: 'sessions_unavailable' } } });
  });
});

describe('a session', () => {
  it('does what its user may, and names them in changes', async () => {
    const { world, cookie } = await signedIn();
    const body = { account_id: 'acme', monthly_allowance: 1 };
    expect((await ask(world, 'POST', 'accounts', { ...LOCAL, cookie }, body)).status).toBe(201);
    expect((await world.call('GET', 'accounts/acme')).body.changed_by).toBe('user:ada');
  });

  it('ends by signing out, and its cookie goes', async () => {
    const { world, cookie } = await signedIn();
    const answer = await ask(world, 'DELETE', '/v1/session', { ...LOCAL, cookie });
    expect(answer.headers['set-cookie']).toMatch(/^svc_session=; .*Max-Age=0$/);
    expect((await ask(world, 'GET', '/v1/session', { ...LOCAL, cookie })).body.error.code).toBe('session_over');
  });

  it('ends when nothing is asked for twelve hours', async () => {
    const { world, cookie } = await signedIn();
    world.clock.nowMs += 11 * HOUR_MS;
    expect((await ask(world, 'GET', '/v1/session', { ...LOCAL, cookie })).status).toBe(200);
    world.clock.nowMs += 12 * HOUR_MS;
    expect((await ask(world, 'GET', '/v1/session', { ...LOCAL, cookie })).body.error.code).toBe('session_over');
  });

  it('ends at once when its user is disabled, is gone, or ends all that began before', async () => {
    for (const changes of [{ disabled_at: NOW_MS }, { sessions_from: NOW_MS + 1 }]) {
      const { world, cookie } = await signedIn();
      await world.addUser(changes);
      expect((await ask(world, 'GET', 'sites', { ...LOCAL, cookie })).body.error.code).toBe('session_over');
    }
  });

  it('goes on for a quarter of an hour without Redis', async () => {
    const { world, cookie } = await signedIn();
    world.sessions.isAway = true;
    expect((await ask(world, 'GET', 'sites', { ...LOCAL, cookie })).status).toBe(200);
    world.clock.nowMs += 16 * 60_000;
    expect(await ask(world, 'GET', 'sites', { ...LOCAL, cookie })).toMatchObject({
      status: 503,
      body: { error: { code: 'sessions_unavailable' } },
    });
  });

  it('is none where its cookie is there twice, as one may be set by a neighbour', async () => {
    const { world, cookie } = await signedIn();
    const tossed = `${cookie}; svc_session=${'B'.repeat(43)}`;
    expect((await ask(world, 'GET', 'sites', { ...LOCAL, cookie: tossed })).body.error.code).toBe('token_missing');
  });

  it('is not asked for where a token is sent', async () => {
    const { world, cookie } = await signedIn();
    const headers = { ...LOCAL, cookie, authorization: 'Bearer nonsense' };
    expect((await ask(world, 'GET', 'sites', headers)).body.error.code).toBe('token_invalid');
    const byToken = { host: LOCAL.host, cookie, authorization: `Bearer ${TOKEN}` };
    expect((await ask(world, 'GET', '/v1/session', byToken)).body).toMatchObject({ kind: 'token', session: null });
    expect((await ask(world, 'DELETE', '/v1/session', byToken)).body.error.code).toBe('session_needed');
  });
});

/** Headers of a change with a cookie, and what comes of it. */
const crossings: [string, Record<string, string>, string | null][] = [
  ['a page of our own', LOCAL, null],
  ['a page of our own whose browser names no origin', { ...LOCAL, origin: '', 'sec-fetch-site': 'same-origin' }, null],
  ['a page without the header', { ...LOCAL, 'x-svc-csrf': '' }, 'csrf_missing'],
  ['nobody says what', { ...LOCAL, origin: '' }, 'csrf_missing'],
  ['a page elsewhere', { ...LOCAL, origin: 'https://evil.example' }, 'origin_foreign'],
  ['a page of another port of this machine', { ...LOCAL, origin: 'http://localhost:9000' }, 'origin_foreign'],
  ['a page of our host without TLS', { ...PUBLIC, origin: 'http://control.example' }, 'origin_foreign'],
  ['a page without an origin', { ...LOCAL, origin: 'null' }, 'origin_foreign'],
  ['a page whose origin looks like ours', { ...LOCAL, origin: 'http://localhost:8090.evil.example' }, 'origin_foreign'],
  ['a page of a neighbour', { ...LOCAL, origin: '', 'sec-fetch-site': 'same-site' }, 'origin_foreign'],
  [
    'a name that leads here',
    { ...LOCAL, host: 'evil.example:8090', origin: 'http://evil.example:8090' },
    'host_unknown',
  ],
  ['our name as a part of another', { ...PUBLIC, host: 'control.example.evil.example' }, 'host_unknown'],
];

describe('a request across sites', () => {
  const sent = (headers: Record<string, string>) =>
    Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== ''));

  it.each(crossings)('from %s', async (_from, headers, code) => {
    const { world, cookie } = await signedIn();
    const body = { account_id: 'acme', monthly_allowance: 1 };
    const change = await ask(world, 'POST', 'accounts', { ...sent(headers), cookie }, body);
    expect(change.body.error?.code ?? null).toBe(code);
    const login = await signIn(world, {}, sent(headers));
    expect(login.body.error?.code ?? null).toBe(code);
  });

  it('reads nothing either, with a cookie or a token', async () => {
    const { world, cookie } = await signedIn();
    const foreign = { host: LOCAL.host, origin: 'https://evil.example' };
    expect((await ask(world, 'GET', 'sites', { ...foreign, cookie })).body.error.code).toBe('origin_foreign');
    expect((await world.call('GET', 'sites', { headers: foreign })).body.error.code).toBe('origin_foreign');
    const fetched = { host: LOCAL.host, 'sec-fetch-site': 'same-site', cookie };
    expect((await ask(world, 'GET', 'sites', fetched)).body.error.code).toBe('origin_foreign');
  });

  it('has no session under hosts that programs use, and nobody signs in there', async () => {
    const { world, cookie } = await signedIn();
    const host = 'control.internal:8090';
    expect((await world.call('GET', 'sites', { headers: { host } })).status).toBe(200);
    expect((await ask(world, 'GET', 'sites', { host, cookie })).body.error.code).toBe('token_missing');
    expect(
      (await signIn(world, {}, { host, 'sec-fetch-site': 'same-origin', 'x-svc-csrf': '1' })).body.error.code,
    ).toBe('host_unknown');
  });

  it('asks for health under any host, and for nothing else', async () => {
    const world = await control();
    const headers = { host: '10.0.0.7:8090' };
    expect((await world.call('GET', 'health', { token: null, headers })).status).toBe(200);
    for (const path of ['/docs', '/docs/openapi.json', '/nothing', '/v1/admin/sites']) {
      expect((await world.call('GET', path, { headers })).body.error.code).toBe('host_unknown');
    }
  });
});
