import { createIndexScript, unlinkWhere, withRedisErrors } from '../client.ts';
import type { Redis } from '../connection.ts';
import { identityKeys, separateMemory } from './identity_index.ts';

/** What came of erasing persons: how many keys went, or with whom else they have become one, and nothing is erased; nor where it is too late. */
export type IndexErased = { ok: true; keys: number } | { ok: false; others: string[] };

/** Asks only, erases with what is remembered in the same Redis, or without it. */
type Mode = '0' | '1' | '2';

export type PersonIndexEraser = ReturnType<typeof createPersonIndexEraser>;

/**
 * Erases persons from the identity graph, and what is remembered of surveys and banners they saw, which may be in another Redis. Everything throws
 * RedisUnavailableError, and IndexLostError while the graph is being made anew.
 */
export function createPersonIndexEraser(redis: Redis, secondary: Redis = redis) {
  const script = createIndexScript(redis, 'indexes/erase_persons.lua');
  const keys = identityKeys(redis.isCluster);
  // Who only asks need not have the right to what is remembered of visitors.
  const keysOf = (siteId: string, mode: Mode): string[] => [
    ...[keys.indexOf(siteId), keys.personsOf(siteId)],
    ...(mode === '1' ? [keys.memoriesOf(siteId)] : []),
  ];
  const call = (siteId: string, persons: readonly string[], nodes: readonly string[], mode: Mode, ...until: number[]) =>
    script.run(keysOf(siteId, mode), [JSON.stringify(persons), JSON.stringify(nodes), mode, ...until]);
  return {
    /** Milliseconds since 1970 UTC by the clock of Redis. */
    async nowMs(): Promise<number> {
      const [atSeconds = 0, micros = 0] = (await withRedisErrors(redis.time())).map(Number);
      return atSeconds * 1_000 + Math.floor(micros / 1_000);
    },
    /** Who of a site holds each keyed identifier; null where nobody does. */
    async holdersOf(siteId: string, nodes: readonly string[]): Promise<(string | null)[]> {
      if (nodes.length === 0) return [];
      return ((await call(siteId, [], nodes, '0')) as string[]).map((holder) => holder || null);
    },
    /**
     * @param persons All who are one, as derived from distinct ids.
     * @param nodes All keyed identifiers that they were seen with.
     * @param until After which nothing is erased, by the clock of Redis: what was decided may be wrong by then. Left out: it never is.
     */
    async erase(
      siteId: string,
      persons: readonly string[],
      nodes: readonly string[],
      ...until: [] | [untilMs: number]
    ): Promise<IndexErased> {
      const mode = secondary === redis ? '1' : '2';
      type Outcome = ['grown', string[]] | ['erased', number] | ['late'];
      const [outcome, found] = (await call(siteId, persons, nodes, mode, ...until)) as Outcome;
      if (outcome !== 'erased') return { ok: false, others: found ?? [] };
      let keys = Number(found);
      if (secondary !== redis) {
        // Last: whoever is interrupted erases both again.
        for (const person of persons) keys += await withRedisErrors(secondary.del(separateMemory(siteId, person)));
      }
      return { ok: true, keys };
    },
  };
}

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
