// Shared links: how often they are asked, which is limited, and when they were opened.

import { hash } from 'node:crypto';
import { createScript, withRedisErrors } from './client.ts';
import type { Redis } from './connection.ts';

/** How often a link was opened, and when it was last; in milliseconds since 1970 UTC. */
export interface LinkUse {
  opened: number;
  lastMs: number;
}

/** Of all control services together; every call throws RedisUnavailableError where Redis does not answer. */
export type ShareUse = ReturnType<typeof createShareUse>;

const MINUTE_MS = 60_000;
/** Requests in a minute. A board has up to 50 questions, and one request more. */
const PER_ADDRESS_MAX = 300;
const PER_LINK_MAX = 1_200;
/** Longer than a link may last. */
const KEPT_MS = 400 * 24 * 60 * MINUTE_MS;

/** In one slot of a cluster. */
const askedKey = (kind: string, of: string): string => `{share}:${kind}:${hash('sha256', of).slice(0, 32)}`;
const usedKey = (linkId: string): string => `{share}:used:${linkId}`;

export function createShareUse(redis: Redis) {
  const script = createScript(redis, 'sign_in_count.lua');
  const readOne = async (linkId: string): Promise<LinkUse | null> => {
    const { opened, last } = await withRedisErrors(redis.hgetall(usedKey(linkId)));
    return opened === undefined || last === undefined ? null : { opened: Number(opened), lastMs: Number(last) };
  };
  return {
    /**
     * Counts a request, also one whose link is none. Answers 0, or for how many milliseconds no more may be made.
     *
     * @param linkId Null where the request has no link that works: what was asked for is anybody's choice.
     */
    async admit(address: string, linkId: string | null): Promise<number> {
      const keys = [askedKey('address', address), ...(linkId === null ? [] : [askedKey('link', linkId)])];
      const maxima = [PER_ADDRESS_MAX, PER_LINK_MAX].slice(0, keys.length);
      return Number(await script.run(keys, [...maxima, ...keys.map(() => MINUTE_MS)]));
    },
    /** Counts that a link was opened; answers how often it was. */
    async opened(linkId: string, nowMs: number): Promise<number> {
      const key = usedKey(linkId);
      const [count] = await withRedisErrors(
        Promise.all([redis.hincrby(key, 'opened', 1), redis.hset(key, 'last', nowMs), redis.pexpire(key, KEPT_MS)]),
      );
      return count;
    },
    /** By their ids; those that were never opened are left out. */
    async read(linkIds: readonly string[]): Promise<ReadonlyMap<string, LinkUse>> {
      const uses = await Promise.all(linkIds.map(readOne));
      return new Map(linkIds.flatMap((id, at) => (uses[at] ? [[id, uses[at]]] : [])));
    },
  };
}
