import { afterAll, beforeAll, inject } from 'vitest';
import { createRedis, type Redis } from '#infra/redis/client.ts';
import type { IndexEpoch } from '#infra/redis/indexes/rebuildable_index.ts';
import { quiet } from './kafka.ts';
import { REDIS_DATABASES } from './shared_parts.ts';

/** Counts, in the last database of the shared Redis, how many of the others are taken. */
const TAKEN = 'taken';

/** An empty database of the shared Redis for the tests of one file. `flushdb` empties it; `flushall` would empty everybody's. */
export function useRedis(): () => Redis {
  let redis: Redis;
  beforeAll(async () => {
    redis = createRedis(await takeRedisDatabase(), quiet);
  });
  afterAll(() => redis.disconnect());
  return () => redis;
}

/** The address of a database of the shared Redis that nobody else has. */
async function takeRedisDatabase(): Promise<string> {
  const { redisUrl } = inject('parts').addresses;
  const counter = createRedis(`${redisUrl}/${REDIS_DATABASES - 1}`, quiet);
  const number = await counter.incr(TAKEN);
  counter.disconnect();
  return `${redisUrl}/${number}`;
}

/** Makes an index whole as it is, for a test that has nothing to rebuild. */
export async function beginIncarnation(epoch: IndexEpoch): Promise<void> {
  const state = await epoch.state();
  if (state.kind === 'whole') return;
  await epoch.take('test', 5_000);
  await epoch.complete('test', state.servers);
}
