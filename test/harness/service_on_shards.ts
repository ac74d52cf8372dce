import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { startClickhouseShards, stopShards } from './clickhouse_shards.ts';
import { startService } from './service.ts';
import type {} from './shared_service.ts';

/** Starts the service with two shards for its ClickHouse and parts of its own; the returned function ends it. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const dataDir = mkdtempSync(join(tmpdir(), 'on-shards-'));
  const shards = await startClickhouseShards(join(dataDir, 'shards'));
  const { url, cluster } = shards;
  const end = async (): Promise<void> => {
    await stopShards(shards);
    rmSync(dataDir, { recursive: true, force: true, maxRetries: 5 });
  };
  try {
    const env = {
      ...{ RATE_LIMIT_IP: '0', RATE_LIMIT_KEY: '0' },
      ...{ CLICKHOUSE_URL: url, CLICKHOUSE_CLUSTER: cluster.name, CLICKHOUSE_REPLICATED: String(cluster.isReplicated) },
    };
    const onProgress = (line: string): void => project.vitest.logger.log(`  ${line}`);
    const service = await startService(join(dataDir, 'service'), { env, onProgress });
    project.provide('service', { pid: service.pid, dataDir: join(dataDir, 'service'), ready: service.ready });
    return async () => {
      await service.stop();
      await end();
    };
  } catch (error) {
    await end();
    throw error;
  }
}
