import { join } from 'node:path';
import { startClickhouseShards, stopShards } from '#test/harness/clickhouse_shards.ts';
import { startRedisCluster } from '#test/harness/redis_cluster.ts';
import { logTails } from '#test/harness/service.ts';
import { takeEarlierVersion } from './earlier_version.ts';
import { type Special, startWorld, type World, type WorldOptions } from './fault_world.ts';
import { type Layout, layoutFor, type PlaceKind } from './layout.ts';
import { startPlatforms, stopPlatforms } from './platforms.ts';
import { mountSmallDisk } from './small_disk.ts';

/** A world with what is special about it. */
export interface Place {
  world: World;
  close(): Promise<void>;
}

export interface PlaceOptions {
  /** What worlds are made of that need no more. */
  layout: Layout;
  /** What git calls the version that is upgraded; null for the last one. */
  from: string | null;
  say(line: string): void;
}

/** Opens a world; a reason in words where this machine does not permit it. */
export async function openPlace(
  kind: PlaceKind | undefined,
  dataDir: string,
  { layout: common, from, say }: PlaceOptions,
): Promise<Place | string> {
  const layout = layoutFor(kind, common);
  const ends: (() => unknown)[] = [];
  const close = async (): Promise<void> => {
    for (const end of ends.splice(0).reverse()) await end();
  };
  try {
    const special: Special = {};
    if (kind === 'small_disk') {
      const disk = mountSmallDisk(join(dataDir, 'kafka'));
      if (disk === null) return 'a file system of its own may not be mounted here';
      ends.push(disk.unmount);
      special.disk = disk;
    }
    if (kind === 'own_platforms') {
      const platforms = await startPlatforms();
      ends.push(() => stopPlatforms(platforms));
      special.platforms = platforms;
    }
    if (kind === 'earlier_version') {
      const earlier = await takeEarlierVersion(from);
      say(`the version before is ${earlier.commit.slice(0, 12)}`);
      special.earlier = earlier;
    }
    if (layout.redisCluster) {
      const redis = await startRedisCluster(join(dataDir, 'redis_cluster'));
      ends.push(() => redis.stop());
      special.redis = redis;
    }
    if (layout.shards) {
      const shards = await startClickhouseShards(join(dataDir, 'shards'));
      ends.push(() => stopShards(shards));
      special.shards = shards;
    }
    const world = await start({ dataDir, layout, special, onProgress: say });
    ends.push(() => world.stop());
    return { world, close };
  } catch (error) {
    await close();
    throw error;
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
