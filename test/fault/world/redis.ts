import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import type { World } from './fault_world.ts';

/** Runs a command such as FLUSHALL in the world's Redis. */
export async function redisCommand({ addresses }: World, name: string, ...words: string[]): Promise<unknown> {
  const redis = new Redis(addresses.redisUrl, { maxRetriesPerRequest: 3 });
  redis.on('error', () => undefined);
  try {
    return await redis.call(name, ...words);
  } finally {
    redis.disconnect();
  }
}

/** Takes away everything that a Redis which does not run has kept. */
export function emptyRedisFolder({ dataDir }: World): void {
  rmSync(join(dataDir, 'redis', 'appendonlydir'), { recursive: true, force: true });
}
