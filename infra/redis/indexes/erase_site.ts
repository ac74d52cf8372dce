import { unlinkWhere } from '../client.ts';
import type { Redis } from '../connection.ts';
import { identityKeys } from './identity_keys.ts';

export type SiteKeyEraser = ReturnType<typeof createSiteKeyEraser>;

/**
 * Deletes what Redis has of a site: who belongs to whom, what visitors saw of surveys and banners, rejected events, health of the
 * tag. All keys are looked through, once. Throws RedisUnavailableError; to repeat it is safe.
 *
 * @param secondary Where all but who belongs to whom is, if not in the same Redis.
 * @returns How many keys went.
 */
export function createSiteKeyEraser(redis: Redis, secondary: Redis = redis) {
  const { personsOf, memoriesOf } = identityKeys(redis.isCluster);

  return async (siteId: string): Promise<number> => {
    const ofSite = ['engage:', 'refusals.', 'tag.'].map((of) => `${of}{${siteId}}`);
    const prefixes = [personsOf(siteId), memoriesOf(siteId), ...ofSite];
    const stores = secondary === redis ? [redis] : [redis, secondary];
    let erased = 0;
    const isTheirs = (key: string): boolean => prefixes.some((prefix) => key.startsWith(prefix));
    for (const store of stores) erased += await unlinkWhere(store, `*${siteId}*`, isTheirs);
    return erased;
  };
}
