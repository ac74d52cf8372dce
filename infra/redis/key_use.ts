import type { Logger } from '#infra/log/logger.ts';
import { asked, type Redis } from './client.ts';

/** When each key was last used, by the key's hash, in milliseconds since 1970 UTC. */
export type KeyUses = ReadonlyMap<string, number>;

/** Score: when. Member: the hash of a key. One set for all keys, of which there are as many as were ever issued. */
const NAME = 'keys.used';

/** Notes uses; a later time that is noted already stays. @throws RedisUnavailableError */
export async function noteKeyUses(redis: Redis, uses: KeyUses): Promise<void> {
  const pairs = [...uses].flatMap(([keyHash, usedAtMs]) => [usedAtMs, keyHash]);
  if (pairs.length > 0) await asked(redis.zadd(NAME, 'GT', ...pairs));
}

/** What is known of when keys were used. */
export interface KeyUseView {
  /** Reads anew, unless that was done just now. While Redis is away what was known stays. */
  refresh(): Promise<void>;
  /** When a key was last used, to the minute; null where that is not known. */
  lastUsed(keyHash: string): number | null;
}

/** A page of keys, and the next, are shown from one reading. */
const FRESH_MS = 500;

export function createKeyUseView(redis: Redis, logger: Logger, nowMs: () => number): KeyUseView {
  let uses: KeyUses = new Map();
  let readAtMs = Number.NEGATIVE_INFINITY;
  return {
    async refresh() {
      if (nowMs() - readAtMs < FRESH_MS) return;
      try {
        uses = readUses(await asked(redis.zrange(NAME, 0, '-1', 'WITHSCORES')));
        readAtMs = nowMs();
      } catch (error) {
        logger.warn({ err: error }, 'when keys were used is not known');
      }
    },
    lastUsed: (keyHash) => uses.get(keyHash) ?? null,
  };
}

function readUses(flat: readonly string[]): KeyUses {
  const uses = new Map<string, number>();
  for (let at = 0; at + 1 < flat.length; at += 2) uses.set(flat[at] as string, Number(flat[at + 1]));
  return uses;
}
