import { hash } from 'node:crypto';
import { asked, type Redis } from './client.ts';
import { createScript } from './lua_script.ts';

/** Counts tries to sign in, over all control services; every call throws RedisUnavailableError where Redis does not answer. */
export interface SignInLimits {
  /** Counts a try before its password is looked at. Returns 0, or for how many milliseconds no more may be made. */
  tryPassword(userId: string, network: string): Promise<number>;
  /** Whether somebody signed in from a network before. */
  isKnown(userId: string, network: string): Promise<boolean>;
  /** Counts a sign-in that is begun at a provider. */
  tryProvider(network: string): Promise<number>;
  /** Counts a try of a second factor, whose password was right. */
  tryCode(userId: string): Promise<number>;
  /** Forgets the tries of somebody from where they have signed in now, and remembers the network; those from elsewhere may be another's. */
  forget(userId: string, network: string): Promise<void>;
  /** Whether a code of that step was not used before; it is used now. */
  useStep(userId: string, step: number): Promise<boolean>;
}

const MINUTE_MS = 60_000;
/**
 * Tries of a user from one network are few; those from everywhere else are more, and still so few that no password of twelve
 * characters is found. From a network where they signed in before, what others try elsewhere does not count: nobody locks
 * another out by failing for them.
 */
const LIMITS = {
  userFromNetwork: { max: 10, windowMs: 15 * MINUTE_MS },
  network: { max: 50, windowMs: 15 * MINUTE_MS },
  user: { max: 200, windowMs: 60 * MINUTE_MS },
  /** Of a million codes three are right at a time. */
  code: { max: 10, windowMs: 60 * MINUTE_MS },
};
const KNOWN_MS = 90 * 24 * 60 * MINUTE_MS;
/** A code is right for a minute and a half. */
const STEP_MS = 3 * MINUTE_MS;

export function createSignInLimits(redis: Redis): SignInLimits {
  const script = createScript(redis, 'sign_in_count.lua');
  const count = async (
    counted: (readonly [key: string, limit: { max: number; windowMs: number }])[],
  ): Promise<number> => {
    const maxima = counted.map(([, { max }]) => max);
    const windows = counted.map(([, { windowMs }]) => windowMs);
    return Number(
      await script.run(
        counted.map(([key]) => key),
        [...maxima, ...windows],
      ),
    );
  };
  const isKnown = async (userId: string, network: string): Promise<boolean> =>
    (await asked(redis.exists(keyOf('known', userId, network)))) === 1;
  return {
    isKnown,
    async tryPassword(userId, network) {
      const isHome = await isKnown(userId, network);
      return count([
        [keyOf('from', userId, network), LIMITS.userFromNetwork],
        [keyOf('network', network), LIMITS.network],
        ...(isHome ? [] : [[keyOf('user', userId), LIMITS.user] as const]),
      ]);
    },
    tryProvider: (network) => count([[keyOf('provider', network), LIMITS.network]]),
    tryCode: (userId) => count([[keyOf('code', userId), LIMITS.code]]),
    async forget(userId, network) {
      await asked(redis.del(keyOf('from', userId, network), keyOf('code', userId)));
      await asked(redis.set(keyOf('known', userId, network), '1', 'PX', KNOWN_MS));
    },
    async useStep(userId, step) {
      return (await asked(redis.set(keyOf('step', userId, String(step)), '1', 'PX', STEP_MS, 'NX'))) !== null;
    },
  };
}

/** In one slot of a cluster, and of a known length. */
function keyOf(kind: string, ...of: string[]): string {
  return `{sign_in}:${kind}:${hash('sha256', JSON.stringify(of)).slice(0, 32)}`;
}
