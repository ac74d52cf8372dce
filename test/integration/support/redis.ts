import { afterAll, beforeAll } from 'vitest';
import { createRedis, type Redis } from '#infra/redis/client.ts';
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
