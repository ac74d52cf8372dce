import { asked } from '../client.ts';
import { nodesOf, type Redis } from '../connection.ts';
import { identityKeys } from './identity_keys.ts';

const KEYS_PER_SCAN = 1_000;

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

  async function eraseFrom(store: Redis, siteId: string, prefixes: readonly string[]): Promise<number> {
    // So that all nodes are known.
    await asked(store.ping());
    let erased = 0;
    for (const node of nodesOf(store, 'master')) {
      let cursor = '0';
      do {
        const [next, keys] = await asked(node.scan(cursor, 'MATCH', `*${siteId}*`, 'COUNT', KEYS_PER_SCAN));
        const theirs = keys.filter((key) => prefixes.some((prefix) => key.startsWith(prefix)));
        // One by one, as they lie in several slots.
        for (const gone of await Promise.all(theirs.map((key) => asked(store.unlink(key))))) erased += gone;
        cursor = next;
      } while (cursor !== '0');
    }
    return erased;
  }

  return async (siteId: string): Promise<number> => {
    const ofSite = ['engage:', 'refusals.', 'tag.'].map((of) => `${of}{${siteId}}`);
    const prefixes = [personsOf(siteId), memoriesOf(siteId), ...ofSite];
    const stores = secondary === redis ? [redis] : [redis, secondary];
    let erased = 0;
    for (const store of stores) erased += await eraseFrom(store, siteId, prefixes);
    return erased;
  };
}
