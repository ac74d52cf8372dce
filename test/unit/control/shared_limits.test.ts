import { beforeEach, expect, it } from 'vitest';
import { inPhase, newProgress } from '#pipelines/redelivery/replay.ts';
import { auditedRecords } from '#pipelines/settings/journal.ts';
import type { Replay } from '#schemas/setting.ts';
import { REPLAYS_MAX } from '#services/control/redelivery/replay_routes.ts';
import { type Answer, NOW_MS } from './harness.ts';
import { grantOf, type ScopedWorld, scopedWorld } from './scoped_world.ts';

const EACH = 100;

let world: ScopedWorld;
beforeEach(async () => {
  world = await scopedWorld();
});
const codeOf = ({ status, body }: Answer): string => body?.error?.code ?? String(status);

it('tokens are limited for each account that they may something in, and for the installation', async () => {
  const issue = async (label: string, ...grants: object[]): Promise<string> =>
    codeOf(await world.call('POST', 'tokens', { body: { label, ...(grants.length > 0 && { grants }) } }));
  const active = world.journal.view().table.adminTokens();
  const ofAcme = active.filter(({ grants }) => grants?.some(({ site_id }) => site_id === 'shop'));
  for (let count = ofAcme.length; count < EACH; count += 1) {
    await world.tokenOf(grantOf('viewer', count % 2 === 0 ? { site_id: 'shop' } : { account_id: 'acme' }));
  }
  const till = { role: 'viewer', site_id: 'till' };
  const other = { role: 'viewer', site_id: 'other' };
  expect(await issue('a', till)).toBe('limit_reached');
  expect(await issue('b', other, till)).toBe('limit_reached');
  expect(await issue('c', other)).toBe('201');
  expect(await issue('d')).toBe('201');
  for (let count = 2; count < EACH; count += 1) await world.tokenOf(grantOf('viewer'));
  expect(await issue('e')).toBe('limit_reached');
  expect(await issue('f', { role: 'owner' })).toBe('limit_reached');
  expect(await issue('g', other)).toBe('201');
});

it('tokens of all accounts together are limited, revoked ones left out', async () => {
  for (let account = 0; account < 9; account += 1) {
    const id = `account-${account}`;
    await world.call('POST', 'accounts', { body: { account_id: id, monthly_allowance: 1 } });
    for (let count = 0; count < EACH; count += 1) await world.tokenOf(grantOf('viewer', { account_id: id }));
  }
  const left = 10 * EACH - world.journal.view().table.adminTokens().length;
  for (let count = 0; count < left; count += 1) await world.tokenOf(grantOf('viewer', { account_id: 'rival' }));
  const grants = [{ role: 'viewer', site_id: 'shop' }];
  expect(codeOf(await world.call('POST', 'tokens', { body: { label: 'a', grants } }))).toBe('limit_reached');
  await world.call('POST', `tokens/${world.tokens.other}/revoke`);
  expect(codeOf(await world.call('POST', 'tokens', { body: { label: 'a', grants } }))).toBe('201');
});

it('users of ClickHouse are limited for each account whose sites they read', async () => {
  const make = async (analyst_id: string, ...site_ids: string[]): Promise<string> =>
    codeOf(await world.call('POST', 'analysts', { body: { analyst_id, site_ids } }));
  const held = (id: string, siteIds: string[]): void => {
    const rest = { user: `sql_user_${id}`, createdMs: NOW_MS, createdBy: 'x', passwordSha256: '', expiresMs: null };
    world.analysts.users?.set(id, { analystId: id, siteIds, ...rest });
  };
  for (let count = 0; count < 200; count += 1) held(`a${count}`, [count % 2 === 0 ? 'shop' : 'till']);
  expect(await make('one', 'till')).toBe('limit_reached');
  expect(await make('one', 'other', 'shop')).toBe('limit_reached');
  expect(await make('one', 'other')).toBe('201');
  for (let count = 201; count < 2_000; count += 1) held(`a${count}`, ['gone']);
  expect(await make('two', 'other')).toBe('limit_reached');
});

/** Puts replays of a site there, which are under way. */
async function hold(siteId: string | null, count: number, prefix: string): Promise<void> {
  const replays = Array.from(
    { length: count },
    (_, at): Replay => ({
      ...{
        replay_id: `${prefix}${String(at).padStart(4, '0')}`,
        destination: 'crm',
        site_id: siteId,
        source: 'events',
      },
      ...{ from: 0, to: 1, rate: 1, dry_run: false, force: false, wanted: 'running', created_at: NOW_MS },
    }),
  );
  const facts = replays.map((replay) => ({ body: { replay } }));
  await world.journal.change((view) => ({ records: auditedRecords(view, facts, 'test', NOW_MS), result: null }));
}
const replay = async (site_id?: string): Promise<string> => {
  const body = { destination: 'crm', from: NOW_MS - 1000, to: NOW_MS, ...(site_id !== undefined && { site_id }) };
  return codeOf(await world.call('POST', 'replays', { body }));
};
const idsLeft = (): string[] =>
  world.journal
    .view()
    .table.replays()
    .map(({ replay_id }) => replay_id);
const end = (id: string): void => void world.replays.set(id, inPhase(newProgress(id, NOW_MS), 'done', '', NOW_MS));

it('replays are limited for each account and for the installation, and make room for their own alone', async () => {
  await hold('shop', REPLAYS_MAX - 1, 'a');
  expect(await replay('till')).toBe('limit_reached');
  expect([await replay('other'), await replay()]).toEqual(['201', '201']);
  end(world.replayIds.other);
  expect(await replay('till')).toBe('limit_reached');
  end('a0007');
  expect(await replay('till')).toBe('201');
  expect(idsLeft()).not.toContain('a0007');
  expect(idsLeft()).toContain(world.replayIds.other);
});

it('where the installation is full, those of the account that are over make room, and then those of others', async () => {
  for (let account = 0; account < 9; account += 1) {
    await world.call('POST', 'accounts', { body: { account_id: `account-${account}`, monthly_allowance: 1 } });
    await world.call('POST', 'sites', { body: { site_id: `site-${account}`, account_id: `account-${account}` } });
    await hold(`site-${account}`, REPLAYS_MAX, `b${account}-`);
  }
  await hold('other', 10 * REPLAYS_MAX - idsLeft().length, 'c');
  expect(await replay('shop')).toBe('limit_reached');
  end('b3-0001');
  end(world.replayIds.shop);
  expect(await replay('shop')).toBe('201');
  expect(idsLeft()).toContain('b3-0001');
  expect(await replay('shop')).toBe('201');
  expect(idsLeft()).not.toContain('b3-0001');
  expect(idsLeft()).toHaveLength(10 * REPLAYS_MAX);
});
