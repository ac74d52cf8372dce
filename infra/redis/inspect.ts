// What a Redis says of itself, for `svc doctor`.
import { infoFields, readClock, withRedisErrors } from './client.ts';
import type { Redis } from './connection.ts';
import { BUCKET_KEYS } from './indexes/dedup_index.ts';

export type RedisFacts = Awaited<ReturnType<typeof inspectRedis>>;

/** Buckets that are looked at: enough for the mean of all, as ids are spread evenly over them. */
const SAMPLED = 32;
const KEYS_A_SCAN = 1_000;
const SCANS_MAX = 20;
/** Redis' own, where it may not be asked. */
const PACKED_MAX = 512;

/**
 * The fields of INFO, when it takes snapshots (null: this user may not ask), by how many milliseconds the clock of this host is
 * ahead of that of Redis, and how full the buckets of event ids are (null: there are none, or it may not ask).
 * @throws RedisUnavailableError
 */
export async function inspectRedis(
  redis: Pick<Redis, 'info' | 'time' | 'config' | 'scan' | 'hlen'>,
  nowMs: () => number,
) {
  const fields = infoFields(await withRedisErrors(redis.info()));
  const { aheadMs } = await withRedisErrors(readClock(redis, nowMs));
  const setting = (name: string): Promise<string | null> =>
    redis.config('GET', name).then(
      (answer) => String((answer as string[])[1] ?? ''),
      () => null,
    );
  const savePoints = await setting('save');
  const packedMax = Number((await setting('hash-max-listpack-entries')) || PACKED_MAX);
  const idsInBucket = await meanBucket(redis).catch(() => null);
  return { fields, aheadMs, savePoints, buckets: idsInBucket === null ? null : { idsInBucket, packedMax } };
}

/** Event ids in a bucket, as the mean of some; null where there are no buckets. */
async function meanBucket(redis: Pick<Redis, 'scan' | 'hlen'>): Promise<number | null> {
  const keys: string[] = [];
  let cursor = '0';
  for (let scans = 0; scans < SCANS_MAX && keys.length < SAMPLED; scans++) {
    const [next, found] = await redis.scan(cursor, 'MATCH', BUCKET_KEYS, 'COUNT', KEYS_A_SCAN);
    keys.push(...found.slice(0, SAMPLED - keys.length));
    cursor = next;
    if (cursor === '0') break;
  }
  const sizes = await Promise.all(keys.map((key) => redis.hlen(key)));
  return sizes.length === 0 ? null : sizes.reduce((sum, size) => sum + size, 0) / sizes.length;
}
