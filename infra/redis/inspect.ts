// What a Redis says of itself, for `svc doctor`.
import { infoFields, readClock, withRedisErrors } from './client.ts';
import type { Redis } from './connection.ts';

export type RedisFacts = Awaited<ReturnType<typeof inspectRedis>>;

/**
 * The fields of INFO, when it takes snapshots (null: this user may not ask), and by how many milliseconds the clock of this host is
 * ahead of that of Redis. @throws RedisUnavailableError
 */
export async function inspectRedis(redis: Pick<Redis, 'info' | 'time' | 'config'>, nowMs: () => number) {
  const fields = infoFields(await withRedisErrors(redis.info()));
  const { aheadMs } = await withRedisErrors(readClock(redis, nowMs));
  const savePoints = await redis.config('GET', 'save').then(
    (answer) => String((answer as string[])[1] ?? ''),
    () => null,
  );
  return { fields, aheadMs, savePoints };
}
