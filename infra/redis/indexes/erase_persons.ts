import { createIndexScript, type Redis } from '../client.ts';
import { IDENTITY_PREFIX, personsPrefix } from './identity_index.ts';

/** What came of erasing persons: how many keys went, or with whom else they have become one, and nothing is erased. */
export type IndexErased = { ok: true; keys: number } | { ok: false; others: string[] };

export type PersonIndexEraser = ReturnType<typeof createPersonIndexEraser>;

/**
 * Erases persons from the identity graph, and what is remembered of surveys and banners they saw. Everything throws
 * RedisUnavailableError, and IndexLostError while the graph is being made anew.
 */
export function createPersonIndexEraser(redis: Redis) {
  const script = createIndexScript(redis, 'indexes/erase_persons.lua');
  // Who only asks need not have the right to what is remembered of visitors.
  const keysOf = (siteId: string, mode: '0' | '1'): string[] => [
    ...[IDENTITY_PREFIX, personsPrefix(siteId)],
    ...(mode === '1' ? [`engage:{${siteId}}:`] : []),
  ];
  const call = (siteId: string, persons: readonly string[], nodes: readonly string[], mode: '0' | '1') =>
    script.run(keysOf(siteId, mode), [JSON.stringify(persons), JSON.stringify(nodes), mode]);
  return {
    /** Who of a site holds each keyed identifier; null where nobody does. */
    async holdersOf(siteId: string, nodes: readonly string[]): Promise<(string | null)[]> {
      if (nodes.length === 0) return [];
      return ((await call(siteId, [], nodes, '0')) as string[]).map((holder) => holder || null);
    },
    /**
     * @param persons All who are one, as derived from distinct ids.
     * @param nodes All keyed identifiers that they were seen with.
     */
    async erase(siteId: string, persons: readonly string[], nodes: readonly string[]): Promise<IndexErased> {
      const [outcome, found] = (await call(siteId, persons, nodes, '1')) as ['grown', string[]] | ['erased', number];
      return outcome === 'grown' ? { ok: false, others: found } : { ok: true, keys: Number(found) };
    },
  };
}
