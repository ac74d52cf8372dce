import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import type { Passwords } from '#infra/secrets/password.ts';
import type { KnownAsked } from '#services/control/route.ts';
import { proven } from '#services/control/users/own_session.ts';
import { createSessionKeeper, type SignInParts, signIn } from '#services/control/users/sign_in.ts';
import { type Control, control, PASSWORD } from './harness.ts';
import { memoryLimits, memoryNotes, memorySessions } from './memory_sessions.ts';

const HOME = '127.0.0.1';
const TRY = { userId: 'ada', password: PASSWORD, code: null, network: HOME, browser: 'Firefox' };

function partsWith(world: Control, verify: Passwords['verify']): SignInParts {
  const nowMs = (): number => world.clock.nowMs;
  const sessions = memorySessions(nowMs);
  return {
    journal: world.journal,
    sessions: createSessionKeeper(sessions.store, randomBytes, nowMs),
    limits: memoryLimits(sessions),
    passwords: { verify, hash: async () => 'x' },
    userSecrets: { seal: () => 'x', open: () => 'x' },
    signInAudit: {
      signedIn: () => undefined,
      signInRefused: () => undefined,
      codeAsked: () => undefined,
      permissionRefused: () => undefined,
      shareOpened: () => undefined,
    },
    oidc: { providers: [], notes: memoryNotes(sessions, nowMs) },
    secondFactorRoles: [],
    randomBytes,
    nowMs,
  };
}

/** Signs in while `meanwhile` happens: the password is right, and looking at it takes that long. */
function signInWhile(world: Control, meanwhile: () => Promise<unknown>) {
  const parts = partsWith(world, async () => {
    await meanwhile();
    world.clock.nowMs += 1_000;
    return true;
  });
  return signIn(parts, TRY);
}

it.each([
  ['nothing changes', null, true],
  ['the password changes', { password: 'another long password' }, false],
  ['the user is disabled', { disabled: true }, false],
  ['the name changes', { name: 'Ada L' }, true],
])('who signs in while %s', async (_what, change, isIn) => {
  const world = await control();
  await world.addUser();
  await world.addUser({ user_id: 'bob' });
  const result = await signInWhile(world, async () => {
    if (change === null) return;
    expect((await world.call('PATCH', 'users/ada', { body: change })).status).toBe(200);
  });
  expect(result).toMatchObject(isIn ? { ok: true } : { ok: false, code: 'sign_in_refused' });
});

it('waits with those who are known where the user signed in from that network before', async () => {
  const world = await control();
  await world.addUser();
  const lines: string[] = [];
  const parts = partsWith(world, async (_password, _stored, line) => lines.push(line) > 0);
  await signIn(parts, TRY);
  await signIn(parts, TRY);
  await signIn(parts, { ...TRY, network: '192.0.2.1' });
  await signIn(parts, { ...TRY, userId: 'bob' });
  expect(lines).toEqual(['anybody', 'known', 'anybody', 'anybody']);
});

it('proves who is in a session with those who are known, wherever it is', async () => {
  const world = await control();
  const user = await world.addUser();
  const lines: string[] = [];
  const parts = partsWith(world, async (_password, _stored, line) => lines.push(line) < 0);
  const asked = { parts, network: '192.0.2.1', caller: { session: { userId: user.user_id } } } as unknown as KnownAsked;
  const answer = await proven(asked, { password: PASSWORD }, () =>
    Promise.reject(new Error('the password is not right')),
  );
  expect(answer).toMatchObject({ kind: 'refused', code: 'password_refused' });
  expect(lines).toEqual(['known']);
});
