import { hash } from 'node:crypto';
import { RedisUnavailableError } from '#infra/redis/client.ts';
import type { Session, SessionStore } from '#infra/redis/sessions.ts';
import type { RandomBytes } from '#pipelines/settings/random_text.ts';

/** Redis does not answer, and what was asked is not known without it. */
export class SessionsUnavailableError extends Error {
  readonly code = 'sessions_unavailable' as const;
}

/** Sessions by what browsers keep of them. Every call may throw SessionsUnavailableError. */
export interface SessionKeeper {
  /** Begins a session; its value is for the browser alone. Sessions from before `notBeforeMs` would be over. */
  begin(
    of: Pick<Session, 'userId' | 'network' | 'browser' | 'provenMs'>,
    notBeforeMs?: number,
  ): Promise<{ value: string; session: Session }>;
  /** The session of a value that goes on. Those seen in the last quarter of an hour are known without Redis. */
  find(value: string): Promise<Session | null>;
  list(userId: string): Promise<Session[]>;
  /** Notes for a while that whoever is in the session has proven who they are. */
  prove(id: string, forMs: number): Promise<void>;
  isProven(id: string): Promise<boolean>;
  /** Keeps the sealed secret of a second factor that is being set up in the session, for a while. */
  holdFactor(id: string, sealed: string, forMs: number): Promise<void>;
  heldFactor(id: string): Promise<string | null>;
  end(userId: string, id: string): Promise<boolean>;
}

const VALUE_BYTES = 32;
const VALUE_PATTERN = /^[A-Za-z0-9_-]{43}$/;
const REMEMBERED_MS = 15 * 60_000;
const REMEMBERED_MAX = 10_000;
/** After Redis did not answer, it is not waited for again so soon. */
const AWAY_MS = 2_000;

export function createSessionKeeper(store: SessionStore, randomBytes: RandomBytes, nowMs: () => number): SessionKeeper {
  /** Sessions with when Redis last said that they go on, the longest ago first. */
  const remembered = new Map<string, { session: Session; atMs: number }>();
  let awayMs = Number.NEGATIVE_INFINITY;
  /** The time of day may be set back: what seems to lie ahead is as old as it is far. */
  const spanTo = (atMs: number): number => Math.abs(nowMs() - atMs);

  const remember = (session: Session): void => {
    remembered.delete(session.id);
    remembered.set(session.id, { session, atMs: nowMs() });
    const [oldest] = remembered.keys();
    if (remembered.size > REMEMBERED_MAX && oldest !== undefined) remembered.delete(oldest);
  };
  const recall = (id: string): Session => {
    const known = remembered.get(id);
    if (known === undefined || spanTo(known.atMs) > REMEMBERED_MS) {
      throw new SessionsUnavailableError('redis does not answer');
    }
    return known.session;
  };

  return {
    async begin(of, notBeforeMs = 0) {
      const value = Buffer.from(randomBytes(VALUE_BYTES)).toString('base64url');
      const session = { ...of, id: hash('sha256', value), createdMs: Math.max(nowMs(), notBeforeMs), seenMs: nowMs() };
      await reached(store.begin(session));
      remember(session);
      return { value, session };
    },
    async find(value) {
      if (!VALUE_PATTERN.test(value)) return null;
      const id = hash('sha256', value);
      if (spanTo(awayMs) < AWAY_MS) return recall(id);
      try {
        const session = await store.find(id);
        if (session === null) remembered.delete(id);
        else remember(session);
        return session;
      } catch (error) {
        if (!(error instanceof RedisUnavailableError)) throw error;
        awayMs = nowMs();
        return recall(id);
      }
    },
    list: (userId) => reached(store.list(userId)),
    prove: (id, forMs) => reached(store.prove(id, forMs)),
    isProven: (id) => reached(store.isProven(id)),
    holdFactor: (id, sealed, forMs) => reached(store.holdFactor(id, sealed, forMs)),
    heldFactor: (id) => reached(store.heldFactor(id)),
    async end(userId, id) {
      // Also where Redis is away: then it ends here at least.
      if (remembered.get(id)?.session.userId === userId) remembered.delete(id);
      return reached(store.end(userId, id));
    },
  };
}

/** Turns the error of Redis into that of sessions. */
export async function reached<T>(asked: Promise<T>): Promise<T> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof RedisUnavailableError) throw new SessionsUnavailableError('redis does not answer');
    throw error;
  }
}
