import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { type ClickhouseShards, startClickhouseShards, stopShards } from './clickhouse_shards.ts';
import { NOWHERE } from './own_parts.ts';
import type {} from './shared_parts.ts';

let shards: ClickhouseShards;
let dataDir: string;

/** The tests of tables and questions get two shards for their ClickHouse, and no other parts. */
export async function setup(project: TestProject): Promise<void> {
  dataDir = mkdtempSync(join(tmpdir(), 'shards-'));
  shards = await startClickhouseShards(dataDir);
  const addresses = { ...NOWHERE, clickhouseUrl: shards.url };
  project.provide('parts', { addresses, dataDir: shards.dataDir, clickhouseCluster: shards.cluster });
}

export async function teardown(): Promise<void> {
  await stopShards(shards);
  rmSync(dataDir, { recursive: true, force: true });
}
