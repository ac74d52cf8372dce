import { hash } from 'node:crypto';
import type { Logger } from '#infra/log/logger.ts';
import { asked, type Redis } from './client.ts';

/** What each key last sent of each page, shared by all edges. */
export interface InventoryMemory {
  /** Whether this is what the key sent of the page last. */
  isKnown(keyHash: string, page: string, contentHash: string): Promise<boolean>;
  /** To be called when the content is stored, not before: content that was lost must be stored when it comes again. */
  remember(keyHash: string, page: string, contentHash: string): Promise<void>;
}

/** After this a page is stored again even if it is the same. */
const TTL_S = 7 * 86_400;

/** While Redis is away every inventory is new: the same page may then be stored more than once. */
export function createInventoryMemory(redis: Redis, logger: Logger): InventoryMemory {
  const warn = (error: unknown): void => logger.warn({ err: error }, 'inventories cannot be compared');
  return {
    async isKnown(keyHash, page, contentHash) {
      const known = await asked(redis.get(nameOf(keyHash, page))).catch(warn);
      return known === contentHash;
    },
    async remember(keyHash, page, contentHash) {
      await asked(redis.set(nameOf(keyHash, page), contentHash, 'EX', TTL_S)).catch(warn);
    },
  };
}

/** A digest, since a page's identifier is the sender's text. */
function nameOf(keyHash: string, page: string): string {
  return `inv:${hash('sha256', `${keyHash}\n${page}`, 'base64url')}`;
}
