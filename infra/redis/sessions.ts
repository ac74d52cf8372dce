// Sign-in: sessions, one-time tokens, and limits of attempts.

import { hash } from 'node:crypto';
import type { RecordSeal } from '#infra/secrets/seal.ts';
import { createScript, withRedisErrors } from './client.ts';
import type { Redis } from './connection.ts';

/** A session as it is remembered. Its id is the SHA-256 of what the browser keeps, which nothing here can be turned back into. */
export interface Session {
  id: string;
  userId: string;
  /** Milliseconds since 1970 UTC. */
  createdMs: number;
  seenMs: number;
  /** When whoever began it proved who they are; null: they did not. */
  provenMs: number | null;
  /** Network of the address it began from. */
  network: string;
  /** Browser and system, in our words. */
  browser: string;
}

const MINUTE_MS = 60_000;
export const SESSION_IDLE_MS = 12 * 60 * MINUTE_MS;
export const SESSION_MS_MAX = 14 * 24 * 60 * MINUTE_MS;
/** When a session was seen is written no more often. */
const SEEN_EVERY_MS = MINUTE_MS;
/** The oldest make room. */
const SESSIONS_PER_USER_MAX = 50;

const sessionKey = (id: string): string => `session:${id}`;
/** Beside the session, whose own record each request may write. */
const proofOf = (id: string): string => `session_proof:${id}`;
const factorOf = (id: string): string => `session_factor:${id}`;
/** Score: when it began. Member: its id. */
const indexOf = (userId: string): string => `sessions:${userId}`;

/** Sessions of all control services together; every call throws RedisUnavailableError where Redis does not answer. */
export type SessionStore = ReturnType<typeof createSessionStore>;

/** @param seal Tells records of control services from what else somebody who may write Redis put there, which is no session. */
export function createSessionStore(redis: Redis, seal: RecordSeal, nowMs: () => number) {
  async function read(id: string): Promise<Session | null> {
    const sealed = await withRedisErrors(redis.get(sessionKey(id)));
    const text = sealed === null ? null : seal.open('session', id, sealed);
    const session: Session | null = text === null ? null : { ...JSON.parse(text), id };
    return session === null || leftMs(session, nowMs()) <= 0 ? null : session;
  }

  function write(session: Session, how: 'NX' | 'XX'): Promise<unknown> {
    const { id, ...rest } = session;
    const sealed = seal.seal('session', id, JSON.stringify(rest));
    const args = [sessionKey(id), sealed, 'PX', leftMs(session, nowMs())] as const;
    return withRedisErrors(how === 'NX' ? redis.set(...args, 'NX') : redis.set(...args, 'XX'));
  }

  /** Those of a user that go on, the newest first. */
  async function list(userId: string): Promise<Session[]> {
    const ids = await withRedisErrors(redis.zrevrange(indexOf(userId), 0, -1));
    const found = await Promise.all(ids.map(read));
    const over = ids.filter((_id, at) => found[at] === null);
    if (over.length > 0) await withRedisErrors(redis.zrem(indexOf(userId), ...over));
    return found.filter((session) => session !== null);
  }

  /** Whether there was one to end. */
  async function end(userId: string, id: string): Promise<boolean> {
    const session = await read(id);
    if (session !== null && session.userId !== userId) return false;
    await withRedisErrors(redis.del(factorOf(id)));
    await withRedisErrors(redis.zrem(indexOf(userId), id));
    return (await withRedisErrors(redis.del(sessionKey(id)))) === 1;
  }

  return {
    list,
    end,
    async begin(session: Session): Promise<void> {
      await write(session, 'NX');
      await withRedisErrors(redis.zadd(indexOf(session.userId), session.createdMs, session.id));
      await withRedisErrors(redis.pexpire(indexOf(session.userId), SESSION_MS_MAX));
      const surplus = (await list(session.userId)).slice(SESSIONS_PER_USER_MAX);
      for (const { id } of surplus) await end(session.userId, id);
    },
    /** A session that goes on, which is thereby seen; null: there is none, or it is over. */
    async find(id: string): Promise<Session | null> {
      const session = await read(id);
      if (session === null || nowMs() - session.seenMs < SEEN_EVERY_MS) return session;
      const seen = { ...session, seenMs: nowMs() };
      // Only where it still stands: it may have been ended since it was read.
      return (await write(seen, 'XX')) === null ? null : seen;
    },
    /** Notes for a while that whoever is in a session has proven who they are. */
    async prove(id: string, forMs: number): Promise<void> {
      await withRedisErrors(
        redis.set(proofOf(id), seal.seal('session_proof', id, String(nowMs() + forMs)), 'PX', forMs),
      );
    },
    async isRecentlyAuthenticated(id: string): Promise<boolean> {
      const sealed = await withRedisErrors(redis.get(proofOf(id)));
      const untilMs = sealed === null ? null : seal.open('session_proof', id, sealed);
      return untilMs !== null && nowMs() < Number(untilMs);
    },
    /** Keeps the sealed secret of a second factor that is being set up in a session, for a while; a newer one takes its place. */
    async holdFactor(id: string, sealed: string, forMs: number): Promise<void> {
      await withRedisErrors(redis.set(factorOf(id), sealed, 'PX', forMs));
    },
    /** What is kept so; null: nothing, or no more. */
    heldFactor: (id: string): Promise<string | null> => withRedisErrors(redis.get(factorOf(id))),
  };
}

/** How long a session goes on if it is not seen again. */
function leftMs({ createdMs, seenMs }: Session, now: number): number {
  return Math.min(seenMs + SESSION_IDLE_MS, createdMs + SESSION_MS_MAX) - now;
}

/** Notes under secrets, each to be taken once; every call throws RedisUnavailableError where Redis does not answer. */
export type OneTimeTokens = ReturnType<typeof createOneTimeNotes>;

/** A sign-in that is under way at a provider; an invitation to link an account. */
type NoteKind = 'oidc' | 'invitation';

/** Whoever reads Redis finds no secret. */
const idOf = (secret: string): string => hash('sha256', secret);
const noteKey = (kind: NoteKind, id: string): string => `once:${kind}:${id}`;

/** @param seal Tells notes of control services from what else somebody who may write Redis put there, which is no note. */
export function createOneTimeNotes(redis: Redis, seal: RecordSeal, nowMs: () => number) {
  return {
    async put(kind: NoteKind, secret: string, note: object, forMs: number): Promise<void> {
      const id = idOf(secret);
      const text = JSON.stringify({ note, untilMs: nowMs() + forMs });
      await withRedisErrors(redis.set(noteKey(kind, id), seal.seal(`once:${kind}`, id, text), 'PX', forMs));
    },
    /** The note, which is gone then; null where there is none, or no more. */
    async take(kind: NoteKind, secret: string): Promise<unknown> {
      const id = idOf(secret);
      const sealed = await withRedisErrors(redis.getdel(noteKey(kind, id)));
      const text = sealed === null ? null : seal.open(`once:${kind}`, id, sealed);
      const { note, untilMs } = text === null ? { note: null, untilMs: 0 } : JSON.parse(text);
      return nowMs() < untilMs ? note : null;
    },
  };
}

/** Counts tries to sign in, over all control services; every call throws RedisUnavailableError where Redis does not answer. */
export type SignInLimits = ReturnType<typeof createSignInLimits>;
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

export function createSignInLimits(redis: Redis) {
  const script = createScript(redis, 'sign_in_count.lua');
  const count = async (
    counted: (readonly [key: string, limit: (typeof LIMITS)[keyof typeof LIMITS]])[],
  ): Promise<number> => {
    const keys = counted.map(([key]) => key);
    const maxima = counted.map(([, { max }]) => max);
    const windows = counted.map(([, { windowMs }]) => windowMs);
    return Number(await script.run(keys, [...maxima, ...windows]));
  };
  const isKnown = async (userId: string, network: string): Promise<boolean> =>
    (await withRedisErrors(redis.exists(limitKey('known', userId, network)))) === 1;
  return {
    isKnown,
    /** Counts a try before its password is looked at. Returns 0, or for how many milliseconds no more may be made. */
    async tryPassword(userId: string, network: string): Promise<number> {
      const isHome = await isKnown(userId, network);
      return count([
        [limitKey('from', userId, network), LIMITS.userFromNetwork],
        [limitKey('network', network), LIMITS.network],
        ...(isHome ? [] : [[limitKey('user', userId), LIMITS.user] as const]),
      ]);
    },
    /** Counts a sign-in that is begun at a provider. */
    tryProvider: (network: string): Promise<number> => count([[limitKey('provider', network), LIMITS.network]]),
    /** Counts a try of a second factor, whose password was right. */
    tryCode: (userId: string): Promise<number> => count([[limitKey('code', userId), LIMITS.code]]),
    /**
     * Forgets the tries of somebody from where they have signed in now, and remembers the network; those from elsewhere may
     * be another's.
     */
    async forget(userId: string, network: string): Promise<void> {
      await withRedisErrors(redis.del(limitKey('from', userId, network), limitKey('code', userId)));
      await withRedisErrors(redis.set(limitKey('known', userId, network), '1', 'PX', KNOWN_MS));
    },
    /** Whether a code of that step was not used before; it is used now. */
    async useStep(userId: string, step: number): Promise<boolean> {
      return (
        (await withRedisErrors(redis.set(limitKey('step', userId, String(step)), '1', 'PX', STEP_MS, 'NX'))) !== null
      );
    },
  };
}

/** In one slot of a cluster, and of a known length. */
function limitKey(kind: string, ...of: string[]): string {
  return `{sign_in}:${kind}:${hash('sha256', JSON.stringify(of)).slice(0, 32)}`;
}
