import { beforeEach, expect, test } from 'vitest';
import { WarehouseError } from '#infra/clickhouse/client.ts';
import type { Grant } from '#schemas/setting.ts';
import type { Answer } from './harness.ts';
import { grantOf, type ScopedWorld, scopedWorld } from './scoped_world.ts';

const SHOP = { site_id: 'shop' };
const MOVE = { account_id: 'rival' };
const ALL = ['grants', 'tokens', 'keys', 'analysts'];

let world: ScopedWorld;
beforeEach(async () => {
  world = await scopedWorld();
  await world.addUser({ user_id: 'vera', grants: [grantOf('viewer', SHOP), grantOf('viewer', { site_id: 'till' })] });
  await world.addUser({ user_id: 'boss', grants: [grantOf('admin', { account_id: 'acme' })] });
  await world.addUser({ user_id: 'gone', grants: [grantOf('admin', SHOP)], disabled_at: 1 });
  await world.tokenOf(grantOf('viewer', { account_id: 'acme' }));
  for (const [analystId, siteIds] of [
    ['ada', ['shop', 'till']],
    ['bo', ['till']],
  ] as const) {
    const rest = { user: `sql_user_${analystId}`, createdMs: 5, createdBy: 'x', expiresMs: null, passwordSha256: '' };
    world.analysts.users?.set(analystId, { analystId, siteIds, ...rest });
  }
});

const change = async (body: object, ...grants: Grant[]): Promise<Answer> =>
  world.call('PATCH', 'sites/shop', { body, ifMatch: '*', token: await world.tokenOf(...grants) });
const both = [grantOf('admin', { account_id: 'acme' }), grantOf('admin', MOVE)];
/** What works on in the site, by its names. */
const left = ({ body }: Answer): Record<string, string[] | null> => ({
  grants: body.still_works.grants.map(({ user_id, role }: Record<string, string>) => `${user_id} ${role}`),
  tokens: body.still_works.tokens.map(({ label }: { label: string }) => label),
  keys: body.still_works.keys.map(({ key_hash }: { key_hash: string }) => key_hash),
  analysts: body.still_works.analysts?.map(({ analyst_id }: { analyst_id: string }) => analyst_id) ?? null,
});

test('a site that moves answers what was given in it and still works, and nothing of its account', async () => {
  const moved = await change(MOVE, ...both);
  expect(moved.body.account_id).toBe('rival');
  expect(left(moved)).toEqual({ grants: ['vera viewer'], tokens: ['t1'], keys: [world.keys.shop], analysts: ['ada'] });
  expect((await change({ name: 'Shop' }, grantOf('owner'))).body.still_works).toBeUndefined();
});

test('it ends with the move where that is asked for, by kind', async () => {
  const some = await change({ ...MOVE, end_access: ['tokens', 'keys'] }, ...both);
  expect(left(some)).toEqual({ grants: ['vera viewer'], tokens: [], keys: [], analysts: ['ada'] });
  const rest = await change({ end_access: ALL }, grantOf('owner'));
  expect(left(rest)).toEqual({ grants: [], tokens: [], keys: [], analysts: [] });
  const { table } = world.journal.view();
  expect(table.user('vera')?.grants).toEqual([grantOf('viewer', { site_id: 'till' })]);
  expect(table.user('boss')?.grants).toHaveLength(1);
  expect([...(world.analysts.users?.keys() ?? [])]).toEqual(['bo']);
  expect((await world.call('GET', 'audit?setting_key=analyst/ada')).body.items[0].after).toEqual({
    done: 'analyst.revoke',
  });
});

test('what who asks may not take back stays, and is listed', async () => {
  await world.addUser({ user_id: 'own', grants: [grantOf('owner', SHOP)] });
  await world.tokenOf(grantOf('viewer', SHOP), grantOf('viewer', { site_id: 'other' }));
  const ended = await change({ end_access: ALL }, grantOf('admin', { account_id: 'acme' }));
  expect(left(ended)).toEqual({ grants: ['own owner'], tokens: ['t4'], keys: [], analysts: [] });
});

test('where ClickHouse is away the site moves, and the answer says that some may be left', async () => {
  const users = world.analysts.users;
  if (users === null) throw new Error('the world has users of analysts');
  users.values = () => {
    throw new WarehouseError('warehouse_unavailable', 'clickhouse: away');
  };
  const moved = await change({ ...MOVE, end_access: ALL }, ...both);
  expect(left(moved)).toEqual({ grants: [], tokens: [], keys: [], analysts: null });
});

test('nothing ends where the move is refused', async () => {
  const refused = await change({ ...MOVE, end_access: ALL }, grantOf('admin', { account_id: 'acme' }));
  expect(refused.body.error.code).toBe('permission_missing');
  expect(world.journal.view().table.user('vera')?.grants).toHaveLength(2);
  expect(world.analysts.users?.has('ada')).toBe(true);
});
