import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { NOWHERE } from './own_parts.ts';
import { type RedisCluster, startRedisCluster } from './redis_cluster.ts';

/** None is killed, and a busy machine is to look like no failure. */
const NEVER_MS = 600_000;

let cluster: RedisCluster;
let dataDir: string;

/** The tests of stores get a cluster for their Redis, and no other parts. */
export async function setup(project: TestProject): Promise<void> {
  dataDir = mkdtempSync(join(tmpdir(), 'cluster-'));
  cluster = await startRedisCluster(dataDir, NEVER_MS);
  project.provide('parts', { addresses: { ...NOWHERE, redisUrl: cluster.url }, dataDir });
}

export async function teardown(): Promise<void> {
  await cluster.stop();
  rmSync(dataDir, { recursive: true, force: true });
}
