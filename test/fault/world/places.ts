import { join } from 'node:path';
import { startRedisCluster } from '#test/harness/redis_cluster.ts';
import { logTails } from '#test/harness/service.ts';
import { startWorld, type World, type WorldOptions } from './fault_world.ts';
import { platformEnvironment, startPlatforms, stopPlatforms } from './platforms.ts';
import { mountSmallDisk, type SmallDisk } from './small_disk.ts';

/** Which kind of world a row needs. Most share the first. */
export type PlaceKind = 'one_broker' | 'growing' | 'own_platforms' | 'three_brokers' | 'redis_cluster' | 'small_disk';

/** A world with what is special about it. */
export interface Place {
  world: World;
  close(): Promise<void>;
}

/** Opens a world; a reason in words where this machine does not permit it. */
export function openPlace(kind: PlaceKind, dataDir: string, say: (line: string) => void): Promise<Place | string> {
  switch (kind) {
    case 'one_broker':
    // Its topics get more partitions, which cannot be taken from them again.
    case 'growing':
      return withoutMore({ dataDir, onProgress: say });
    case 'own_platforms':
      return ownPlatforms(dataDir, say);
    case 'three_brokers':
      return withoutMore({ dataDir, onProgress: say, brokers: 3 });
    case 'redis_cluster':
      return redisCluster(dataDir, say);
    case 'small_disk':
      return smallDisk(dataDir, say);
  }
}

async function start(options: WorldOptions): Promise<World> {
  try {
    return await startWorld(options);
  } catch (error) {
    options.onProgress(logTails(options.dataDir));
    throw error;
  }
}

async function withoutMore(options: WorldOptions): Promise<Place> {
  const world = await start(options);
  return { world, close: () => world.stop() };
}

/** As in production, but for the platforms' addresses: an outage is a whole destination's. */
async function ownPlatforms(dataDir: string, say: (line: string) => void): Promise<Place> {
  const platforms = await startPlatforms();
  try {
    const world = await start({ dataDir, onProgress: say, env: platformEnvironment(platforms) });
    const close = async (): Promise<void> => {
      await world.stop();
      await stopPlatforms(platforms);
    };
    const standins = { meta: platforms.meta.url, webhook: platforms.webhook.url };
    return { world: { ...world, standins, platforms }, close };
  } catch (error) {
    await stopPlatforms(platforms);
    throw error;
  }
}

async function redisCluster(dataDir: string, say: (line: string) => void): Promise<Place> {
  const redis = await startRedisCluster(join(dataDir, 'redis_cluster'));
  try {
    const world = await start({ dataDir, onProgress: say, external: { redisUrl: redis.url } });
    const close = async (): Promise<void> => {
      await world.stop();
      await redis.stop();
    };
    return { world: { ...world, redis }, close };
  } catch (error) {
    await redis.stop();
    throw error;
  }
}

async function smallDisk(dataDir: string, say: (line: string) => void): Promise<Place | string> {
  const disk: SmallDisk | null = mountSmallDisk(join(dataDir, 'kafka'));
  if (disk === null) return 'a file system of its own may not be mounted here';
  try {
    const world = await start({ dataDir, onProgress: say });
    const close = async (): Promise<void> => {
      await world.stop();
      disk.unmount();
    };
    return { world: { ...world, disk }, close };
  } catch (error) {
    disk.unmount();
    throw error;
  }
}
