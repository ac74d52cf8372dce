import { RedisUnavailableError } from '#infra/redis/client.ts';
import type { OneTimeTokens, Session, SessionStore, SignInLimits } from '#infra/redis/sessions.ts';
import type { LinkUse, ShareUse } from '#infra/redis/share_use.ts';

/** Sessions in memory, and a Redis that can be away. */
export interface MemorySessions {
  store: SessionStore;
  held: Map<string, Session>;
  isAway: boolean;
  /** Until when it is proven who is in a session. */
  proofs: Map<string, number>;
  /** Sealed secrets of second factors that are being set up. */
  factors: Map<string, { sealed: string; untilMs: number }>;
  /** Tries by user. */
  tries: Map<string, number>;
  codes: Map<string, number>;
}

const IDLE_MS = 12 * 3_600_000;
export const TRIES_MAX = 10;
const WAIT_MS = 900_000;

export function memorySessions(nowMs: () => number): MemorySessions {
  const held = new Map<string, Session>();
  const world: MemorySessions = {
    held,
    isAway: false,
    proofs: new Map(),
    factors: new Map(),
    tries: new Map(),
    codes: new Map(),
    store: {
      async begin(session) {
        reach(world);
        held.set(session.id, session);
      },
      async find(id) {
        reach(world);
        const session = held.get(id);
        if (session === undefined || nowMs() - session.seenMs >= IDLE_MS) return null;
        const seen = { ...session, seenMs: nowMs() };
        held.set(id, seen);
        return seen;
      },
      async list(userId) {
        reach(world);
        return [...held.values()].filter((session) => session.userId === userId);
      },
      async prove(id, forMs) {
        reach(world);
        world.proofs.set(id, nowMs() + forMs);
      },
      async isRecentlyAuthenticated(id) {
        reach(world);
        return (world.proofs.get(id) ?? 0) > nowMs();
      },
      async holdFactor(id, sealed, forMs) {
        reach(world);
        world.factors.set(id, { sealed, untilMs: nowMs() + forMs });
      },
      async heldFactor(id) {
        reach(world);
        const held = world.factors.get(id);
        return held !== undefined && held.untilMs > nowMs() ? held.sealed : null;
      },
      async end(userId, id) {
        reach(world);
        return held.get(id)?.userId === userId && held.delete(id);
      },
    },
  };
  return world;
}

export function memoryLimits(world: MemorySessions): SignInLimits {
  const steps = new Set<string>();
  const homes = new Set<string>();
  const count = (counts: Map<string, number>, userId: string): number => {
    reach(world);
    const before = counts.get(userId) ?? 0;
    if (before >= TRIES_MAX) return WAIT_MS;
    counts.set(userId, before + 1);
    return 0;
  };
  return {
    tryPassword: async (userId) => count(world.tries, userId),
    tryProvider: async (network) => count(world.tries, `provider ${network}`),
    tryCode: async (userId) => count(world.codes, userId),
    isKnown: async (userId, network) => homes.has(`${userId} ${network}`),
    async forget(userId, network) {
      homes.add(`${userId} ${network}`);
      world.tries.delete(userId);
      world.codes.delete(userId);
    },
    async useStep(userId, step) {
      const isNew = !steps.has(`${userId}/${step}`);
      steps.add(`${userId}/${step}`);
      return isNew;
    },
  };
}

/** Requests of one link or address that are let through; then none are for a minute. */
export const SHARED_MAX = 20;

/** How shared links are used, in the same Redis. */
export function memoryShareUse(world: MemorySessions): ShareUse {
  const asked = new Map<string, number>();
  const uses = new Map<string, LinkUse>();
  return {
    async admit(address, linkId) {
      reach(world);
      const counted = [address, ...(linkId === null ? [] : [linkId])];
      if (counted.some((one) => (asked.get(one) ?? 0) >= SHARED_MAX)) return 60_000;
      for (const one of counted) asked.set(one, (asked.get(one) ?? 0) + 1);
      return 0;
    },
    async opened(linkId, nowMs) {
      reach(world);
      const opened = (uses.get(linkId)?.opened ?? 0) + 1;
      uses.set(linkId, { opened, lastMs: nowMs });
      return opened;
    },
    async read() {
      reach(world);
      return uses;
    },
  };
}

/** Notes to be taken once, in the same Redis. */
export function memoryNotes(world: MemorySessions, nowMs: () => number): OneTimeTokens {
  const notes = new Map<string, { text: string; untilMs: number }>();
  return {
    async put(kind, secret, note, forMs) {
      reach(world);
      notes.set(`${kind}/${secret}`, { text: JSON.stringify(note), untilMs: nowMs() + forMs });
    },
    async take(kind, secret) {
      reach(world);
      const found = notes.get(`${kind}/${secret}`);
      notes.delete(`${kind}/${secret}`);
      return found === undefined || nowMs() >= found.untilMs ? null : JSON.parse(found.text);
    },
  };
}

function reach({ isAway }: MemorySessions): void {
  if (isAway) throw new RedisUnavailableError('redis: away');
}
