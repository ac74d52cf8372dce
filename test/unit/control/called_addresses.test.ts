import { expect, test } from 'vitest';
import { NOW_MS } from './harness.ts';
import { grantOf, type ScopedWorld, scopedWorld } from './scoped_world.ts';

const base = 'sites/till/destinations';
const crm = (url: string) => ({ name: 'crm', settings: { url }, secrets: { token: 'x' } });
const days = { from: NOW_MS - 9 * 86_400_000, to: NOW_MS };

const codeOf = ({ status, body }: { status: number; body: { error?: { code: string } } }): string | number =>
  body.error?.code ?? status;

async function patched(world: ScopedWorld, token: string, body: object): Promise<string | number> {
  return codeOf(await world.call('PATCH', `${base}/crm`, { token, body, ifMatch: '*' }));
}

test('a new address that is called, and a replay to it, take query.persons, which an operator lacks', async () => {
  const world = await scopedWorld();
  const operator = await world.tokenOf(grantOf('operator', { site_id: 'till' }));
  const admin = await world.tokenOf(grantOf('admin', { site_id: 'till' }));
  const create = async (token: string) =>
    codeOf(await world.call('POST', base, { token, body: crm('https://a.example/') }));
  const replay = async (token: string, changes = {}) =>
    codeOf(
      await world.call('POST', 'replays', {
        token,
        body: { destination: 'crm', site_id: 'till', ...days, ...changes },
      }),
    );
  expect([await create(operator), await create(admin)]).toEqual(['permission_missing', 201]);
  const elsewhere = { settings: { url: 'https://b.example/' }, secrets: { token: 'y' } };
  expect(await patched(world, operator, elsewhere)).toBe('permission_missing');
  expect(await patched(world, operator, { enabled: false })).toBe(200);
  expect(await patched(world, admin, elsewhere)).toBe(200);
  expect([await replay(operator), await replay(operator, { dry_run: true }), await replay(admin)]).toEqual([
    'permission_missing',
    201,
    201,
  ]);
});

test('so does to go on with one that was asked for before there was an address', async () => {
  const world = await scopedWorld();
  const [operator, admin] = [
    await world.tokenOf(grantOf('operator', { site_id: 'till' })),
    await world.tokenOf(grantOf('admin', { site_id: 'till' })),
  ];
  const { body } = await world.call('POST', 'replays', {
    token: admin,
    body: { destination: 'crm', site_id: 'till', ...days },
  });
  await world.call('POST', base, { token: admin, body: crm('https://a.example/') });
  const wanted = async (token: string, state: string) =>
    codeOf(await world.call('PATCH', `replays/${body.replay_id}`, { token, body: { wanted: state } }));
  expect([await wanted(operator, 'paused'), await wanted(operator, 'running'), await wanted(admin, 'running')]).toEqual(
    [200, 'permission_missing', 200],
  );
});

test('more than a thousand requests in ten seconds is given to a key in the installation alone', async () => {
  const world = await scopedWorld();
  const owner = await world.tokenOf(grantOf('owner', { account_id: 'acme' }));
  const issue = async (rate_limit: number, token?: string) =>
    codeOf(
      await world.call('POST', 'keys', {
        body: { site_id: 'shop', caller: 'server', rate_limit },
        ...(token === undefined ? {} : { token }),
      }),
    );
  expect([await issue(1_000, owner), await issue(1_001, owner), await issue(1_001)]).toEqual([
    201,
    'permission_missing',
    201,
  ]);
  const change = async (rate_limit: number, token?: string) =>
    codeOf(
      await world.call('PATCH', `keys/${world.keys.shop}`, {
        body: { rate_limit },
        ifMatch: '*',
        ...(token === undefined ? {} : { token }),
      }),
    );
  expect([await change(9_000), await change(9_001, owner), await change(5_000, owner)]).toEqual([
    200,
    'permission_missing',
    200,
  ]);
});
