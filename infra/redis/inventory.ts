import { hash } from 'node:crypto';
import type { Logger } from '#infra/log/logger.ts';
import { withRedisErrors } from './client.ts';
import type { Redis } from './connection.ts';

/**
 * How content stands to what is kept of its page: `known` is what the key sent of it last, of a `new` one it may be stored, and
 * of a `full` one not, as the key has sent so many others today.
 */
type InventoryStanding = 'known' | 'new' | 'full';

/** What each key last sent of each page, shared by all edges. */
export type InventoryMemory = ReturnType<typeof createInventoryMemory>;

/** Pages of one key that change or are new in a day: what they are called is the sender's to choose. */
export const INVENTORY_PAGES_MAX = 2_000;
const DAY_MS = 86_400_000;
/** After this a page is stored again even if it is the same. */
const DAYS = 7;

/**
 * A hash for each key and day, which ends with its week. While Redis is away every inventory is new: the same page may then
 * be stored more than once.
 */
export function createInventoryMemory(redis: Redis, logger: Logger, nowMs: () => number) {
  const warn = (error: unknown): void => logger.warn({ err: error }, 'inventories cannot be compared');
  const today = (): number => Math.floor(nowMs() / DAY_MS);
  return {
    async look(keyHash: string, page: string, contentHash: string): Promise<InventoryStanding> {
      const field = digestOf(page);
      const days = Array.from({ length: DAYS }, (_, back) => nameOf(keyHash, today() - back));
      const found = await withRedisErrors(
        Promise.all([redis.hlen(days[0] ?? ''), ...days.map((name) => redis.hget(name, field))]),
      ).catch(warn);
      if (found === undefined) return 'new';
      const [pages, ...kept] = found as [number, ...(string | null)[]];
      if (kept.find((one) => one !== null) === contentHash) return 'known';
      return pages < INVENTORY_PAGES_MAX || kept[0] !== null ? 'new' : 'full';
    },
    /** To be called when the content is stored, not before: content that was lost must be stored when it comes again. */
    async remember(keyHash: string, page: string, contentHash: string): Promise<void> {
      const name = nameOf(keyHash, today());
      const kept = Promise.all([
        redis.hset(name, digestOf(page), contentHash),
        redis.expire(name, (DAYS * DAY_MS) / 1000),
      ]);
      await withRedisErrors(kept).catch(warn);
    },
  };
}

function nameOf(keyHash: string, day: number): string {
  return `inv:{${keyHash}}:${day}`;
}

/** Of a page's identifier, which is the sender's text. */
function digestOf(page: string): string {
  return hash('sha256', page, 'base64url');
}
