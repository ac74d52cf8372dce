import { describe, expect, it } from 'vitest';
import { hashKey } from '#pipelines/settings/callers.ts';
import { auditedRecords, type Fact } from '#pipelines/settings/journal.ts';
import type { AdminToken, User } from '#schemas/setting.ts';
import { bodyFor, filled, operations } from './every_request.ts';
import { NOW_MS, PASSWORD } from './harness.ts';
import { grantOf, type ScopedWorld, scopedWorld } from './scoped_world.ts';

/** Every operation that changes settings or notes what it does, but those of somebody's own session. */
const WRITING =
  `createAccount changeAccount createSite changeSite claimDomain verifyDomain releaseDomain chooseLoaderPrefix
  removeLoaderPrefix createEventDefinition replaceEventDefinition deleteEventDefinition createSurvey replaceSurvey deleteSurvey
  createPromo replacePromo deletePromo createForm replaceForm deleteForm createQuestion replaceQuestion deleteQuestion
  createBoard replaceBoard deleteBoard issueKey changeKey revokeKey rotateKey createReplay changeReplay createDestination
  changeDestination retryDestination deleteDestination testDestination resendDeadLetters resolveDeadLetters reopenDeadLetters createUser
  changeUser endUserSessions inviteUser issueToken revokeToken makeAnalyst`.split(/\s+/);

/** These look first whether there is what they are about. */
const LOOKING = ['revokeAnalyst', 'cancelQuery'];
const QUERY_ID = '5fd2b51c-21a5-4d27-8b0b-2fb43d2e8a01';

async function write(world: ScopedWorld, facts: Fact[]): Promise<void> {
  await world.journal.change((view) => ({ records: auditedRecords(view, facts, 'test', NOW_MS), result: null }));
  world.journal.records.length = 0;
}

function revoke(world: ScopedWorld, secret: string): Promise<void> {
  const token = world.journal.view().table.adminToken(hashKey(secret)) as AdminToken;
  return write(world, [{ body: { admin_token: { ...token, revoked_at: NOW_MS } } }]);
}

async function worldOfWrites(): Promise<ScopedWorld> {
  const world = await scopedWorld();
  await world.addUser({ user_id: 'vera', grants: [grantOf('viewer', { site_id: 'shop' })] });
  const analyst = {
    analystId: 'reader',
    user: 'sql_user_reader',
    siteIds: ['shop'],
    createdMs: NOW_MS,
    createdBy: 'x',
    expiresMs: null,
  };
  world.analysts.users?.set('reader', { ...analyst, passwordSha256: '' });
  const figures = { kind: 'top', askedBy: 'x', runningMs: 1, rowsRead: 1, memoryBytes: 1 };
  world.running.push({ id: QUERY_ID, siteId: 'shop', ...figures } as never);
  return world;
}

describe('a token that is revoked while its change waits for its turn', () => {
  it.each([...WRITING, ...LOOKING])('does not get %s done', async (operationId) => {
    const world = await worldOfWrites();
    const { path, method } = operations.find((one) => one.operationId === operationId) ?? { path: '', method: 'GET' };
    const token = await world.tokenOf(grantOf('owner'));
    world.journal.before = () => revoke(world, token);
    const to = filled(path, world).replace('analysts/none', 'analysts/reader');
    const answer = await world.call(method, to, { token, ifMatch: '*', ...bodyFor(operationId) });
    expect(answer.body?.error?.code).toBe('token_revoked');
    expect(world.journal.records).toEqual([]);
    expect(world.tried).toEqual([]);
    expect(
      world.deadLetters.deadLetters.every(({ resentAtMs, resolution }) => resentAtMs === null && resolution === null),
    ).toBe(true);
    expect([world.running.length, world.analysts.users?.size]).toEqual([1, 1]);
  });

  it('is told so too where the last moment is after what was noted', async () => {
    const world = await worldOfWrites();
    const token = await world.tokenOf(grantOf('operator', { account_id: 'acme' }));
    const { read } = world.deadLetters;
    world.deadLetters.read = async (places) => {
      await revoke(world, token);
      return read(places);
    };
    const answer = await world.call('POST', 'dead-letters/resend', { token, body: { ids: ['dedup-0-0'] } });
    expect(answer.body.error.code).toBe('token_revoked');
    expect(world.deadLetters.deadLetters[0]?.resentAtMs).toBeNull();
  });
});

describe('who may less when it is their turn', () => {
  it('writes nothing in a site that has gone to others meanwhile, and the audit has who tried', async () => {
    const world = await worldOfWrites();
    const token = await world.tokenOf(grantOf('admin', { account_id: 'acme' }));
    const site = world.journal.view().table.site('shop');
    if (site === undefined) throw new Error('there is a shop');
    world.journal.before = () => write(world, [{ body: { site: { ...site, account_id: 'rival' } } }]);
    const answer = await world.call('PATCH', 'sites/shop', { token, ifMatch: '*', body: { name: 'Mine' } });
    expect(answer.body.error.code).toBe('permission_missing');
    expect(world.journal.view().table.site('shop')?.name).not.toBe('Mine');
    expect(world.journal.records.map(({ setting }) => setting?.audit?.after)).toEqual([
      expect.stringContaining('permission.refused'),
    ]);
  });

  it('makes no user, as the grants are judged by what the maker has then', async () => {
    const world = await worldOfWrites();
    const own = { host: 'localhost:8090', origin: 'http://localhost:8090', 'x-svc-csrf': '1' };
    const ada = await world.addUser({ grants: [grantOf('owner')] });
    const signedIn = await world.call('POST', '/v1/session', {
      token: null,
      headers: own,
      body: { user_id: 'ada', password: PASSWORD },
    });
    const headers = { ...own, cookie: String(signedIn.headers['set-cookie']).split(';')[0] ?? '' };
    const become = (change: Partial<User>) => () => write(world, [{ body: { user: { ...ada, ...change } } }]);
    const make = (user_id: string) =>
      world.call('POST', 'users', { token: null, headers, body: { user_id, grants: [{ role: 'admin' }] } });
    world.journal.before = become({ grants: [grantOf('admin', { account_id: 'acme' })] });
    expect((await make('eve')).body.error.code).toBe('permission_missing');
    world.journal.before = become({ disabled_at: NOW_MS, sessions_from: NOW_MS + 1 });
    expect((await make('eve')).body.error.code).toBe('session_over');
    expect(world.journal.view().table.user('eve')).toBeUndefined();
  });
});
