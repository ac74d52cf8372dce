import { hash } from 'node:crypto';
import { expect, test } from 'vitest';
import { changesMadeRecord } from '#pipelines/settings/journal.ts';
import { CHANGES_MAX, PROTECTING_MAX, PROTECTING_OF_TOKENS_MAX } from '#services/control/changes.ts';
import { type Control, control, NOW_MS, PASSWORD, TOKEN } from './harness.ts';
import { grantOf, scopedWorld } from './scoped_world.ts';

const DAY_MS = 86_400_000;

/** Has somebody use up as many changes of their day. */
async function written({ journal }: Control, count: number, by: string): Promise<void> {
  await journal.change((view) => {
    const made = view.record(`changes_made/${by}`)?.changes_made ?? { by, since: NOW_MS, count: 0 };
    return { records: [changesMadeRecord({ ...made, count: made.count + count }, by, NOW_MS)], result: null };
  });
}

const FIRST = `admin_token/${hash('sha256', TOKEN)}`;

test('who has changed as much in a day as one may is refused until the day has passed, and nobody else is', async () => {
  const world = await control();
  const create = (id: string) => world.call('POST', 'accounts', { body: { account_id: id, monthly_allowance: 5 } });
  await written(world, CHANGES_MAX - 1, FIRST);
  expect((await create('acme')).status).toBe(201);
  const beyond = await create('other');
  expect([beyond.status, beyond.body.error.code]).toEqual([429, 'changes_limited']);
  expect(world.journal.view().table.account('other')).toBeUndefined();
  expect((await world.call('GET', 'accounts')).status).toBe(200);
  const { body } = await world.call('POST', 'accounts', { body: { account_id: 'acme', monthly_allowance: 5 } });
  expect(body.error.code).toBe('account_exists');
  world.clock.nowMs += DAY_MS;
  expect((await create('other')).status).toBe(201);
});

test('who has used up the day can still lock a thief out, and not without end', async () => {
  const world = await control();
  await world.addUser({ user_id: 'eve' });
  await world.addUser();
  // The last owner cannot be disabled at all.
  await world.addUser({ user_id: 'eve' });
  const { token } = (await world.call('POST', 'tokens', { body: { label: 'stolen' } })).body;
  await written(world, CHANGES_MAX, FIRST);
  const patch = async (body: object) => (await world.call('PATCH', 'users/ada', { body })).status;
  expect(await patch({ name: 'Ada L' })).toBe(429);
  expect(await patch({ disabled: true, name: 'Ada L' })).toBe(429);
  expect(await patch({ disabled: true })).toBe(200);
  expect((await world.call('DELETE', 'users/ada/sessions')).status).toBe(200);
  expect((await world.call('POST', `tokens/${token.token_hash}/revoke`)).status).toBe(200);
  await written(world, PROTECTING_MAX, FIRST);
  expect((await world.call('DELETE', 'users/ada/sessions')).body.error.code).toBe('changes_limited');
});

test('tokens count with those who issued them, also by another token and after their end, and others do not', async () => {
  const world = await control();
  const issue = async (label: string, by?: string) =>
    (await world.call('POST', 'tokens', { body: { label }, ...(by === undefined ? {} : { token: by }) })).body;
  const first = await issue('first');
  const second = await issue('second', first.secret);
  const create = async (id: string, token?: string) =>
    (
      await world.call('POST', 'accounts', {
        body: { account_id: id, monthly_allowance: 5 },
        ...(token ? { token } : {}),
      })
    ).status;
  await written(world, CHANGES_MAX - 4, FIRST);
  expect([await create('a', second.secret), await create('b', first.secret)]).toEqual([201, 201]);
  expect([await create('c', second.secret), await create('d', first.secret), await create('e')]).toEqual([
    429, 429, 429,
  ]);
  await written(world, PROTECTING_OF_TOKENS_MAX, FIRST);
  const revoke = async (token?: string) =>
    (await world.call('POST', `tokens/${first.token.token_hash}/revoke`, token === undefined ? {} : { token })).status;
  expect([await revoke(first.secret), await revoke()]).toEqual([429, 200]);
  expect(await create('f')).toBe(429);
  await world.addUser();
  const headers = { host: 'localhost:8090', origin: 'http://localhost:8090', 'x-svc-csrf': '1' };
  const body = { user_id: 'ada', password: PASSWORD };
  const session = await world.call('POST', '/v1/session', { token: null, body, headers });
  const cookie = String(session.headers['set-cookie']).split(';')[0] ?? '';
  const asAda = { token: null, headers: { ...headers, cookie } };
  world.clock.nowMs += 1;
  // A label that somebody has after another is theirs from then on.
  const again = (await world.call('POST', 'tokens', { ...asAda, body: { label: 'first' } })).body;
  expect(await create('g', again.secret)).toBe(201);
  await written(world, CHANGES_MAX - 2, 'user/ada');
  expect(await create('h', again.secret)).toBe(429);
});

test('what others have changed does not count', async () => {
  const world = await control();
  await written(world, CHANGES_MAX, 'user/another');
  expect((await world.call('POST', 'accounts', { body: { account_id: 'acme', monthly_allowance: 5 } })).status).toBe(
    201,
  );
});

test('users count with whoever made them in an account, and a turn of its audit resets nothing', async () => {
  const world = await scopedWorld();
  const manager = await world.tokenOf(grantOf('admin', { account_id: 'acme' }));
  const body = { user_id: 'helper', password: PASSWORD, grants: [{ role: 'admin', account_id: 'acme' }] };
  expect((await world.call('POST', 'users', { token: manager, body })).status).toBe(201);
  const own = { host: 'localhost:8090', origin: 'http://localhost:8090', 'x-svc-csrf': '1' };
  const session = await world.call('POST', '/v1/session', {
    token: null,
    body: { user_id: 'helper', password: PASSWORD },
    headers: own,
  });
  const headers = { ...own, cookie: String(session.headers['set-cookie']).split(';')[0] ?? '' };
  const rename = async (name: string, who: object) =>
    (await world.call('PATCH', 'sites/shop', { body: { name }, ifMatch: '*', ...who })).status;
  await written(world, CHANGES_MAX - 3, `admin_token/${hash('sha256', manager)}`);
  expect(await rename('One', { token: null, headers })).toBe(200);
  expect(await rename('Two', { token: manager })).toBe(200);
  expect([await rename('Three', { token: null, headers }), await rename('Three', { token: manager })]).toEqual([
    429, 429,
  ]);
  expect(await rename('Three', {})).toBe(200);
});
