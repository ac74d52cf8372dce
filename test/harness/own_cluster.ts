import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { type RedisCluster, startRedisCluster } from './redis_cluster.ts';

/** A cluster for one file, which may kill its servers. */
export function useRedisCluster(): () => RedisCluster {
  let cluster: RedisCluster | undefined;
  let dataDir = '';
  beforeAll(async () => {
    dataDir = mkdtempSync(join(tmpdir(), 'cluster-'));
    cluster = await startRedisCluster(dataDir);
  });
  afterAll(async () => {
    await cluster?.stop();
    rmSync(dataDir, { recursive: true, force: true });
  });
  return () => {
    if (cluster === undefined) throw new Error('the cluster runs only inside tests');
    return cluster;
  };
}
