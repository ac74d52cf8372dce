import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import type { World } from './fault_world.ts';

/** Runs a command such as FLUSHALL in the world's Redis, of a cluster on every master. */
export async function redisCommand({ addresses, special }: World, name: string, ...words: string[]): Promise<unknown> {
  if (special.redis !== undefined) {
    const masters = await special.redis.masters();
    return Promise.all(masters.map(({ client }) => client.call(name, ...words)));
  }
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
