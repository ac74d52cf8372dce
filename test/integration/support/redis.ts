import { afterAll, beforeAll } from 'vitest';
import { createRedis, type Redis } from '#infra/redis/client.ts';
import type { Incarnation } from '#infra/redis/incarnation.ts';
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
export async function beginIncarnation(incarnation: Incarnation): Promise<void> {
  const state = await incarnation.state();
  if (state.kind === 'whole') return;
  await incarnation.take('test', 5_000);
  await incarnation.complete('test', state.runIds, Date.now());
}
