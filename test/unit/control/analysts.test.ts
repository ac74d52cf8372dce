import { hash } from 'node:crypto';
import { expect, test } from 'vitest';
import { WarehouseError } from '#infra/clickhouse/client.ts';
import { auditedRecords } from '#pipelines/settings/journal.ts';
import { LABEL, NOW_MS } from './harness.ts';
import { grantOf, scopedWorld } from './scoped_world.ts';

const SHOP = { site_id: 'shop' };

test('an analyst is made with a password that is shown once, listed and revoked, which the audit says', async () => {
  const world = await scopedWorld();
  const body = { analyst_id: 'ada', site_ids: ['shop', 'till', 'shop'] };
  const made = await world.call('POST', 'analysts', { body });
  const analyst = {
    ...{ analyst_id: 'ada', clickhouse_user: 'sql_user_ada', site_ids: ['shop', 'till'] },
    ...{ created_at: NOW_MS, created_by: LABEL, made_by: null, expires_at: NOW_MS + 90 * 86_400_000 },
  };
  expect(made.body).toEqual({ password: expect.stringMatching(/^[0-9A-Za-z]{20}$/), analyst });
  expect(world.analysts.users?.get('ada')?.passwordSha256).toBe(hash('sha256', made.body.password));
  expect((await world.call('GET', 'analysts')).body).toEqual({ items: [analyst] });
  expect((await world.call('POST', 'analysts', { body })).body.error.code).toBe('analyst_exists');
  expect((await world.call('DELETE', 'analysts/ada')).body).toEqual(analyst);
  expect((await world.call('DELETE', 'analysts/ada')).body.error.code).toBe('analyst_unknown');
  const { items } = (await world.call('GET', 'audit?setting_key=analyst/ada')).body;
  const done = items.map(({ after }: { after: { done: string } }) => after.done);
  expect(done).toEqual(['analyst.revoke', 'analyst.make']);
  expect(JSON.stringify(items)).not.toContain(made.body.password);
});

test('an analyst reads sites of who makes it, and is seen and revoked by who manages one of them', async () => {
  const world = await scopedWorld();
  const admin = await world.tokenOf(grantOf('admin', SHOP));
  const make = async (token: string, analyst_id: string, site_ids: string[]) =>
    (await world.call('POST', 'analysts', { token, body: { analyst_id, site_ids } })).body.error?.code ?? 'made';
  expect(await make(admin, 'one', ['shop'])).toBe('made');
  expect(await make(admin, 'two', ['shop', 'till'])).toBe('permission_missing');
  expect(await make(admin, 'two', ['none'])).toBe('permission_missing');
  const all = await world.tokenOf(grantOf('admin'));
  expect(await make(all, 'two', ['none'])).toBe('site_unknown');
  expect(await make(all, 'two', ['shop', 'till'])).toBe('made');
  world.analysts.users?.set('strange', {
    ...{ analystId: 'strange', user: 'sql_user_strange', siteIds: [], createdMs: null, createdBy: '', expiresMs: null },
    passwordSha256: '',
  });
  const seen = async (token: string) =>
    (await world.call('GET', 'analysts', { token })).body.items.map(
      ({ analyst_id, site_ids }: { analyst_id: string; site_ids: string[] }) => [analyst_id, ...site_ids],
    );
  expect(await seen(admin)).toEqual([
    ['one', 'shop'],
    ['two', 'shop'],
  ]);
  expect(await seen(all)).toEqual([['one', 'shop'], ['strange'], ['two', 'shop', 'till']]);
  expect((await world.call('DELETE', 'analysts/strange', { token: admin })).body.error.code).toBe('analyst_unknown');
  expect((await world.call('DELETE', 'analysts/two', { token: admin })).body.site_ids).toEqual(['shop']);
  expect([...(world.analysts.users?.keys() ?? [])]).toEqual(['one', 'strange']);
});

test('where no user of ClickHouse may make others the answer says so, and where it is away too', async () => {
  const world = await scopedWorld();
  const users = world.analysts.users;
  world.analysts.users = null;
  const answer = await world.call('GET', 'analysts');
  expect([answer.status, answer.body.error.code]).toEqual([501, 'analysts_not_set_up']);
  if (users === null) throw new Error('the world has users of analysts');
  users.values = () => {
    throw new WarehouseError('warehouse_unavailable', 'clickhouse: away');
  };
  world.analysts.users = users;
  const away = await world.call('DELETE', 'analysts/ada');
  expect([away.status, away.body.error.code]).toEqual([503, 'query_unavailable']);
});

test.for(['Ada', 'a_b', '-a', 'a-', '', 'a'.repeat(33), 'a`b'])('%j is no id of an analyst', async (analyst_id) => {
  const world = await scopedWorld();
  const answer = await world.call('POST', 'analysts', { body: { analyst_id, site_ids: ['shop'] } });
  expect(answer.body.problems[0]).toMatchObject({ code: 'id_malformed', field: 'analyst_id' });
});

test('an analyst names the user who made it, by themselves or by a token of theirs', async () => {
  const world = await scopedWorld();
  const issued = async (label: string, issuer: string | null, created_at: number, revoked_at: number | null) => {
    const token = { token_hash: hash('sha256', `${label}${created_at}`), shown_prefix: 'svc_at_1', label, created_at };
    const facts = [{ body: { admin_token: { ...token, expires_at: null, revoked_at, grants: null, issuer } } }];
    await world.journal.change((view) => ({ records: auditedRecords(view, facts, LABEL, NOW_MS), result: null }));
  };
  await issued('ci', 'user/ada', 10, 20);
  await issued('ci', 'user/eve', 30, null);
  const held = (analystId: string, createdBy: string, createdMs: number | null): void => {
    const rest = { user: `sql_user_${analystId}`, siteIds: ['shop'], passwordSha256: '', expiresMs: null };
    world.analysts.users?.set(analystId, { analystId, createdBy, createdMs, ...rest });
  };
  held('a', 'user:ada', 5);
  held('b', 'ci', 15);
  held('c', 'ci', 40);
  held('d', 'ci', 5);
  held('e', '', null);
  const { items } = (await world.call('GET', 'analysts')).body;
  expect(items.map(({ made_by }: { made_by: string | null }) => made_by)).toEqual(['ada', 'ada', 'eve', null, null]);
});

test.each([
  [{ expires_at: null }, null],
  [{ expires_at: NOW_MS + 1_000 }, NOW_MS + 1_000],
  [{}, NOW_MS + 90 * 86_400_000],
])('the logins of an analyst made with %o end then', async (said, expires_at) => {
  const world = await scopedWorld();
  const made = await world.call('POST', 'analysts', { body: { analyst_id: 'ada', site_ids: ['shop'], ...said } });
  expect(made.body.analyst.expires_at).toBe(expires_at);
  expect(world.analysts.users?.get('ada')?.expiresMs).toBe(expires_at);
  for (const wrong of [NOW_MS, Date.UTC(2100, 0, 2)]) {
    const body = { analyst_id: 'bo', site_ids: ['shop'], expires_at: wrong };
    const refused = await world.call('POST', 'analysts', { body });
    expect(refused.body.problems[0]).toMatchObject({ code: 'expiry_malformed', field: 'expires_at' });
  }
});
