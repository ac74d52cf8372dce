import { afterAll, beforeAll } from 'vitest';
import { createRedis, type Redis } from '#infra/redis/client.ts';
import type { Epoch } from '#infra/redis/epoch.ts';
import { quiet } from './kafka.ts';
import { useParts } from './parts.ts';

/** A Redis for the tests of one file. */
export function useRedis(): () => Redis {
  const parts = useParts('redis');
  let redis: Redis;
  beforeAll(() => {
    redis = createRedis(parts().addresses.redisUrl, quiet);
  });
  afterAll(() => redis.disconnect());
  return () => redis;
}

/** Makes an index whole as it is, for a test that has nothing to rebuild. */
export async function beginEpoch(epoch: Epoch): Promise<void> {
  const state = await epoch.state();
  if (state.kind === 'whole') return;
  await epoch.take('test', 5_000);
  await epoch.complete('test', state.runIds, Date.now());
}
