import { beforeEach, describe, expect, it, test } from 'vitest';
import { CONTROL_ERRORS } from '#services/control/errors.ts';
import { errorsOf, ROUTES } from '#services/control/routes.ts';
import { type Answer, PASSWORD } from './harness.ts';
import { TRIES_MAX } from './memory_sessions.ts';
import { grantOf, type ScopedWorld, scopedWorld } from './scoped_world.ts';

const OWN = { host: 'localhost:8090', origin: 'http://localhost:8090', 'x-svc-csrf': '1' };
const ANY_VERSION = { 'if-match': '*' };
const QUARTER_MS = 15 * 60_000;
const GRANTS = [{ role: 'viewer', site_id: 'shop' }];

let world: ScopedWorld;
let cookie: string;
beforeEach(async () => {
  world = await scopedWorld();
  await world.addUser();
  for (const user_id of ['vera', 'vic']) await world.addUser({ user_id, grants: [grantOf('viewer')] });
  cookie = await signedIn();
});

async function signedIn(user_id = 'ada'): Promise<string> {
  const body = { user_id, password: PASSWORD };
  const answer = await world.call('POST', '/v1/session', { token: null, body, headers: OWN });
  return String(answer.headers['set-cookie']).split(';')[0] ?? '';
}
const codeOf = ({ status, body }: Answer): string => body?.error?.code ?? String(status);
const as = (method: string, path: string, body: object = {}, session = cookie): Promise<Answer> =>
  world.call(method, path, { token: null, headers: { ...OWN, ...ANY_VERSION, cookie: session }, body });
const prove = (password: string): Promise<Answer> => as('POST', '/v1/session/proof', { password });

/** What a session that was found open must not be enough for. */
const NEEDING: [what: string, method: string, path: string, body: object][] = [
  ['issuing a token', 'POST', 'tokens', { label: 'new' }],
  ['making a user', 'POST', 'users', { user_id: 'new', grants: GRANTS }],
  ['giving roles', 'PATCH', 'users/vera', { grants: GRANTS }],
  ['giving a password', 'PATCH', 'users/vera', { password: 'another long one' }],
  ['taking a password', 'PATCH', 'users/vera', { password: null }],
  ['removing a second factor', 'PATCH', 'users/vera', { second_factor: false }],
  ['unlinking accounts at providers', 'PATCH', 'users/vera', { provider_links: 0 }],
  ['enabling a user', 'PATCH', 'users/vera', { disabled: false }],
  ['inviting a user', 'POST', 'users/vera/invitation', {}],
  ['moving a site', 'PATCH', 'sites/shop', { account_id: 'rival' }],
  ['making a user of ClickHouse', 'POST', 'analysts', { analyst_id: 'ada', site_ids: ['shop'] }],
];

describe.each(NEEDING)('%s', (_what, method, path, body) => {
  it('takes a proof of the last quarter of an hour, which signing in is as well', async () => {
    world.clock.nowMs += QUARTER_MS + 1;
    const records = world.journal.records.length;
    expect(await as(method, path, body)).toMatchObject({ status: 403, body: { error: { code: 'proof_needed' } } });
    expect(world.journal.records).toHaveLength(records);
    expect(codeOf(await prove(PASSWORD))).toBe('200');
    expect((await as(method, path, body)).status).toBeLessThan(300);
  });

  it('goes on for as long, and not longer', async () => {
    world.clock.nowMs += QUARTER_MS;
    expect((await as(method, path, body)).status).toBeLessThan(300);
    await prove(PASSWORD);
    world.clock.nowMs += QUARTER_MS;
    expect(codeOf(await as(method, path, body))).toBe('proof_needed');
  });

  it('takes none of an admin token, and is not asked of who may not', async () => {
    world.clock.nowMs += QUARTER_MS + 1;
    expect((await world.call(method, path, { body, headers: ANY_VERSION })).status).toBeLessThan(300);
    const viewer = await signedIn('vic');
    world.clock.nowMs += QUARTER_MS + 1;
    expect(codeOf(await as(method, path, body, viewer))).toBe('permission_missing');
  });
});

test.each([
  ['disabling a user', 'PATCH', 'users/vera', { disabled: true }],
  ['a name', 'PATCH', 'users/vera', { name: 'V' }],
  ['another name of a site', 'PATCH', 'sites/shop', { name: 'S' }],
  ['ending sessions', 'DELETE', 'users/vera/sessions', {}],
])('%s takes no proof: it is done at once', async (_what, method, path, body) => {
  world.clock.nowMs += QUARTER_MS + 1;
  expect(codeOf(await as(method, path, body))).toBe('200');
});

describe('a proof', () => {
  it('is of one session alone, which stays the same', async () => {
    const other = await signedIn();
    world.clock.nowMs += QUARTER_MS + 1;
    const proven = await prove(PASSWORD);
    expect([codeOf(proven), proven.headers['set-cookie']]).toEqual(['200', undefined]);
    expect(codeOf(await as('POST', 'tokens', { label: 'a' }, other))).toBe('proof_needed');
    expect(codeOf(await as('POST', 'tokens', { label: 'a' }))).toBe('201');
  });

  it('that is refused stands in the audit and is limited, as tries to sign in are', async () => {
    world.clock.nowMs += QUARTER_MS + 1;
    expect(await prove('wrong')).toMatchObject({ status: 403, body: { error: { code: 'password_refused' } } });
    expect(codeOf(await as('POST', 'tokens', { label: 'a' }))).toBe('proof_needed');
    for (let tries = 1; tries < TRIES_MAX; tries += 1) await prove('wrong');
    const limited = await prove(PASSWORD);
    expect([codeOf(limited), limited.headers['retry-after']]).toEqual(['sign_in_limited', '900']);
    expect(rejections()).toEqual([
      ['user/ada', 'password_again'],
      ['user/ada', 'limited'],
    ]);
  });

  it('is none of a token, and there is none by the password of who has no password', async () => {
    const body = { password: PASSWORD };
    expect(codeOf(await world.call('POST', '/v1/session/proof', { body }))).toBe('session_needed');
    await world.addUser({ password: null });
    expect(codeOf(await prove(PASSWORD))).toBe('password_refused');
  });

  it('is not known while Redis is away, but for a session that is as young', async () => {
    world.sessions.isAway = true;
    expect(codeOf(await as('POST', 'tokens', { label: 'a' }))).toBe('201');
    world.sessions.isAway = false;
    world.clock.nowMs += QUARTER_MS + 1;
    await as('GET', '/v1/session');
    world.sessions.isAway = true;
    world.clock.nowMs += 5_000;
    expect(codeOf(await as('POST', 'tokens', { label: 'b' }))).toBe('sessions_unavailable');
  });
});

/** Of the audit, about whom and why a sign-in or a proof was refused. */
function rejections(): [string, string][] {
  return world.journal.records.flatMap(({ setting }): [string, string][] => {
    const audit = setting?.audit;
    const { done, reason } = JSON.parse(audit?.after ?? '{}');
    return done === 'user.sign_in_refused' && audit ? [[audit.setting_key, reason]] : [];
  });
}

test('routes that take a proof say so in the document, with a status of its own', () => {
  const saying = ROUTES.filter((route) => errorsOf(route).includes('proof_needed'));
  expect(saying.map(({ operationId }) => operationId).sort()).toEqual(
    [
      'createAlert',
      'replaceAlert',
      'changeDestination',
      'changeSite',
      'changeUser',
      'createDestination',
      'createReplay',
      'createShare',
      'createUser',
      'inviteUser',
      'issueToken',
      'makeAnalyst',
      'splitPerson',
      'erasePerson',
      'eraseSite',
      'startLink',
    ].sort(),
  );
  expect(CONTROL_ERRORS.proof_needed.status).toBe(403);
});
