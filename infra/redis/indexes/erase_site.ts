import { asked, type Redis } from '../client.ts';
import { personsPrefix } from './identity_index.ts';

const KEYS_PER_SCAN = 1_000;

export type SiteKeyEraser = ReturnType<typeof createSiteKeyEraser>;

/**
 * Deletes what Redis has of a site: who belongs to whom, what visitors saw of surveys and banners, rejected events, health of the
 * tag. All keys are looked through, once. Throws RedisUnavailableError; to repeat it is safe.
 *
 * @returns How many keys went.
 */
export function createSiteKeyEraser(redis: Redis) {
  return async (siteId: string): Promise<number> => {
    const prefixes = [personsPrefix(siteId), ...['engage:', 'refusals.', 'tag.'].map((of) => `${of}{${siteId}}`)];
    let erased = 0;
    let cursor = '0';
    do {
      const [next, keys] = await asked(redis.scan(cursor, 'MATCH', `*{${siteId}}*`, 'COUNT', KEYS_PER_SCAN));
      const theirs = keys.filter((key) => prefixes.some((prefix) => key.startsWith(prefix)));
      if (theirs.length > 0) erased += await asked(redis.unlink(...theirs));
      cursor = next;
    } while (cursor !== '0');
    return erased;
  };
}
