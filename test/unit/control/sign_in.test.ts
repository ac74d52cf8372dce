import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { createSessionKeeper } from '#services/control/session_keeper.ts';
import { type SignInParts, signIn } from '#services/control/sign_in.ts';
import { type Control, control, PASSWORD } from './harness.ts';
import { memoryLimits, memoryNotes, memorySessions } from './memory_sessions.ts';

/** Signs in while `meanwhile` happens: the password is right, and looking at it takes that long. */
function signInWhile(world: Control, meanwhile: () => Promise<unknown>) {
  const nowMs = (): number => world.clock.nowMs;
  const sessions = memorySessions(nowMs);
  const parts: SignInParts = {
    journal: world.journal,
    sessions: createSessionKeeper(sessions.store, randomBytes, nowMs),
    limits: memoryLimits(sessions),
    passwords: {
      async verify() {
        await meanwhile();
        world.clock.nowMs += 1_000;
        return true;
      },
      hash: async () => 'x',
    },
    userSecrets: { seal: () => 'x', open: () => 'x' },
    signInAudit: {
      signedIn: () => undefined,
      signInRefused: () => undefined,
      codeAsked: () => undefined,
      permissionRefused: () => undefined,
    },
    oidc: { providers: [], notes: memoryNotes(sessions, nowMs) },
    randomBytes,
    nowMs,
  };
  return signIn(parts, { userId: 'ada', password: PASSWORD, code: null, network: '127.0.0.1', browser: 'Firefox' });
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
