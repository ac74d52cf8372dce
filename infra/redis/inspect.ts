// What a Redis says of itself, for `svc doctor`.
import { asked } from './client.ts';
import type { Redis } from './connection.ts';

export type RedisFacts = Awaited<ReturnType<typeof inspectRedis>>;

/** The fields of INFO, when it takes snapshots (null: this user may not ask), and by how many milliseconds the clock of this host is ahead of that of Redis. @throws RedisUnavailableError */
export async function inspectRedis(redis: Pick<Redis, 'info' | 'time' | 'config'>, nowMs: () => number) {
  const info = await asked(redis.info());
  const askedMs = nowMs();
  const [seconds = 0, micros = 0] = (await asked(redis.time())).map(Number);
  const aheadMs = Math.round((askedMs + nowMs()) / 2 - (seconds * 1_000 + micros / 1_000));
  const fields = new Map([...info.matchAll(/^(\w+):(.*?)\s*$/gm)].map(([, name = '', value = '']) => [name, value]));
  const savePoints = await redis.config('GET', 'save').then(
    (answer) => String((answer as string[])[1] ?? ''),
    () => null,
  );
  return { fields, aheadMs, savePoints };
}
