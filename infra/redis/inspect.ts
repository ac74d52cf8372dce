// What a Redis says of itself, for `svc doctor`.

import { repeat } from '#infra/concurrency/time_limits.ts';
import type { Metrics } from '#infra/metrics/metrics.ts';
import { infoFields, mastersOf, readClock, withRedisErrors } from './client.ts';
import type { Redis } from './connection.ts';
import { BUCKET_KEYS, PACKED_MAX } from './indexes/dedup_index.ts';

export type RedisFacts = Awaited<ReturnType<typeof inspectRedis>>;

/** Buckets that are looked at: enough for the mean of all, as ids are spread evenly over them. */
const SAMPLED = 32;
const KEYS_A_SCAN = 1_000;
const SCANS_MAX = 20;

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

const READ_MS = 30_000;

/**
 * Reads what INFO answers: memory used of what it may have, or of the machine's where it has no limit; and whether the last
 * writes to the append-only file and the last snapshot were stored, as on a full disk they are not. Null where it does not say.
 */
export function readServerHealth(info: string): { memoryRatio: number | null; isStoring: boolean | null } {
  const fields = infoFields(info);
  const used = Number(fields.get('used_memory') ?? Number.NaN);
  const limit = Number(fields.get('maxmemory') ?? 0) || Number(fields.get('total_system_memory') ?? 0);
  const writes = ['aof_last_write_status', 'rdb_last_bgsave_status'].flatMap((name) => fields.get(name) ?? []);
  return {
    memoryRatio: Number.isNaN(used) || limit === 0 ? null : used / limit,
    isStoring: writes.length === 0 ? null : writes.every((status) => status === 'ok'),
  };
}

/**
 * Asks Redis every half minute until it is stopped; of a cluster the fullest master is told, and whether all store. While one does
 * not answer nothing is told. Returns what stops it.
 */
export function watchServerHealth(redis: Redis, metrics: Pick<Metrics, 'read'>): () => void {
  let health: ReturnType<typeof readServerHealth> | null = null;
  const memoryHelp = 'Memory of Redis, as a share of maxmemory or else of the memory of its machine';
  metrics.read('svc_redis_memory_ratio', memoryHelp, [], () => told(health?.memoryRatio));
  metrics.read('svc_redis_storing', 'Whether Redis stored its last writes on disk', [], () =>
    told(health?.isStoring === undefined || health.isStoring === null ? null : Number(health.isStoring)),
  );
  async function read(): Promise<void> {
    const infos = await Promise.all((await mastersOf(redis)).map((node) => withRedisErrors(node.info())));
    const each = infos.map(readServerHealth);
    const ratios = each.flatMap(({ memoryRatio }) => memoryRatio ?? []);
    const storing = each.flatMap(({ isStoring }) => isStoring ?? []);
    health = {
      memoryRatio: ratios.length === 0 ? null : Math.max(...ratios),
      isStoring: storing.length === 0 ? null : storing.every(Boolean),
    };
  }
  // That it is away is told by whoever waits for it.
  const away = (): void => {
    health = null;
  };
  void read().catch(away);
  return repeat(read, () => READ_MS, away);
}

const told = (value: number | null | undefined): [Record<string, string>, number][] =>
  value === null || value === undefined ? [] : [[{}, value]];
