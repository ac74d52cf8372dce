import { expect, test } from 'vitest';
import { hashKey } from '#pipelines/settings/callers.ts';
import { principalOfUser, stillKnown } from '#services/control/auth.ts';
import { control, NOW_MS } from './harness.ts';
import { grantOf, scopedWorld } from './scoped_world.ts';

const SESSION = { userId: 'ada', createdMs: NOW_MS };

test('whoever is disabled while their request arrives is not known any more, and has what they may do then', async () => {
  const world = await control();
  await world.addUser({ user_id: 'eve' });
  const user = await world.addUser({ grants: [grantOf('owner')] });
  const caller = { principal: principalOfUser(user), session: SESSION as never };
  const known = () => stillKnown(world.journal.view().table, caller, NOW_MS);
  expect(known()).toMatchObject({ ok: true });
  await world.call('PATCH', 'users/ada', { body: { grants: [grantOf('viewer')] } });
  expect(known()).toMatchObject({
    ok: true,
    caller: { principal: { grants: [{ role: 'viewer' }] } },
  });
  await world.call('PATCH', 'users/ada', { body: { disabled: true } });
  expect(known()).toEqual({ ok: false, code: 'session_over' });
});

test('a token that is revoked while its request arrives opens nothing any more', async () => {
  const world = await scopedWorld();
  const hash = hashKey(await world.tokenOf(grantOf('admin')));
  const { table } = world.journal.view();
  const principal = { kind: 'token', id: hash, name: 'ci', actor: 'ci', grants: [] } as const;
  const known = stillKnown(table, { principal, session: null }, NOW_MS);
  expect(known).toMatchObject({ ok: true, caller: { principal: { grants: [{ role: 'admin' }] } } });
  await world.call('POST', `tokens/${hash}/revoke`, { body: {} });
  expect(stillKnown(table, { principal, session: null }, NOW_MS)).toEqual({ ok: false, code: 'token_revoked' });
});
