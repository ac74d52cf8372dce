import { expect, test } from 'vitest';
import type { AuditItem } from '#services/control_api/audit.ts';
import { LABEL, NOW_MS, PASSWORD } from './harness.ts';
import { grantOf, type ScopedWorld, scopedWorld } from './scoped_world.ts';

const HOUR_MS = 3_600_000;

const listed = async (world: ScopedWorld, query: string): Promise<AuditItem[]> =>
  (await world.call('GET', `audit?limit=1000&${query}`)).body.items;

/** Somebody who signed in, was refused a sign-in and a permission, and changed something, an hour apart. */
async function eventful(): Promise<ScopedWorld> {
  const world = await scopedWorld();
  await world.addUser({ user_id: 'vera', grants: [grantOf('viewer', { site_id: 'shop' })] });
  const signIn = (password: string) =>
    world.app.inject({
      method: 'POST',
      url: '/v1/session',
      headers: { 'x-svc-csrf': '1', 'sec-fetch-site': 'same-origin' },
      payload: { user_id: 'vera', password },
    });
  expect((await signIn(`${PASSWORD}!`)).statusCode).toBe(401);
  world.clock.nowMs += HOUR_MS;
  expect((await signIn(PASSWORD)).statusCode).toBe(200);
  world.clock.nowMs += HOUR_MS;
  const token = await world.tokenOf(grantOf('viewer', { site_id: 'shop' }));
  await world.call('PATCH', 'sites/shop', { token, body: { name: 'Mine' } });
  world.clock.nowMs += HOUR_MS;
  return world;
}

test('sign-ins, refusals and changes are told apart, and asked for by their kind', async () => {
  const world = await eventful();
  const done = async (kind: string) => (await listed(world, `kind=${kind}`)).map(({ after }) => after?.['done']);
  expect(await done('sign_in')).toEqual(['user.sign_in']);
  expect(await done('refusal')).toEqual(['permission.refused', 'user.sign_in_refused']);
  expect(new Set(await done('change'))).toEqual(new Set([undefined]));
  expect((await world.call('GET', 'audit?kind=other')).status).toBe(400);
});

test('what was done is asked for by when, and by whom: a user by the id as well', async () => {
  const world = await eventful();
  const from = NOW_MS + HOUR_MS;
  const kinds = async (query: string) => (await listed(world, query)).map(({ after }) => after?.['done'] ?? 'change');
  expect(await kinds(`since=${from}&until=${from + HOUR_MS}`)).toEqual(['user.sign_in']);
  expect(await kinds(`since=${from + 9 * HOUR_MS}`)).toEqual([]);
  expect(await kinds('changed_by=vera')).toEqual(['user.sign_in']);
  expect(await kinds('changed_by=user:vera')).toEqual(['user.sign_in']);
  expect((await kinds(`changed_by=${LABEL}&kind=change`)).length).toBeGreaterThan(0);
});
