import { asked, type Redis } from './client.ts';

const KEYS_PER_SCAN = 1_000;
/** Buckets of any prefix, as `d:b:NAME` and `d:{SHARD}:b:NAME`. */
const BUCKET_KEYS = 'd:*b:*';

/** Drops the buckets that claims of another layout lie in: nobody looks there any more, and nothing sweeps them. */
export async function dropOtherBuckets(redis: Redis, prefixes: readonly string[], bucketChars: number): Promise<void> {
  let cursor = '0';
  do {
    const [next, keys] = await asked(redis.scan(cursor, 'MATCH', BUCKET_KEYS, 'COUNT', KEYS_PER_SCAN));
    const others = keys.filter((key) => !isBucket(key, prefixes, bucketChars));
    await Promise.all(others.map((key) => asked(redis.unlink(key))));
    cursor = next;
  } while (cursor !== '0');
}

function isBucket(key: string, prefixes: readonly string[], bucketChars: number): boolean {
  const name = key.slice(-bucketChars);
  return prefixes.some((prefix) => key === `${prefix}b:${name}`);
}
