import { expect, test } from 'vitest';
import { notedRecord } from '#pipelines/settings/journal.ts';
import { CHANGES_MAX, PROTECTING_MAX } from '#services/control/change_as.ts';
import { type Control, control, LABEL, NOW_MS } from './harness.ts';

const DAY_MS = 86_400_000;

async function written({ journal }: Control, count: number, by: string, kind: 'change' | 'access'): Promise<void> {
  for (let times = 0; times < count; times++) {
    await journal.change((view) => ({ records: [notedRecord(view, 'x', {}, by, NOW_MS, kind)], result: null }));
  }
}

test('who has changed as much in a day as one may is refused until the day has passed, and nobody else is', async () => {
  const world = await control();
  const create = (id: string) => world.call('POST', 'accounts', { body: { account_id: id, monthly_allowance: 5 } });
  await written(world, CHANGES_MAX - 1, LABEL, 'change');
  await written(world, 10, LABEL, 'access');
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
  const { token } = (await world.call('POST', 'tokens', { body: { label: 'stolen' } })).body;
  await written(world, CHANGES_MAX, LABEL, 'change');
  const patch = async (body: object) => (await world.call('PATCH', 'users/ada', { body })).status;
  expect(await patch({ name: 'Ada L' })).toBe(429);
  expect(await patch({ disabled: true, name: 'Ada L' })).toBe(429);
  expect(await patch({ disabled: true })).toBe(200);
  expect((await world.call('DELETE', 'users/ada/sessions')).status).toBe(200);
  expect((await world.call('POST', `tokens/${token.token_hash}/revoke`)).status).toBe(200);
  await written(world, PROTECTING_MAX, LABEL, 'change');
  expect((await world.call('DELETE', 'users/ada/sessions')).body.error.code).toBe('changes_limited');
});

test('what others have changed does not count', async () => {
  const world = await control();
  await written(world, CHANGES_MAX, 'another', 'change');
  expect((await world.call('POST', 'accounts', { body: { account_id: 'acme', monthly_allowance: 5 } })).status).toBe(
    201,
  );
});
