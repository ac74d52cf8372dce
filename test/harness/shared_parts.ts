import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import type { Cluster } from '#infra/clickhouse/cluster.ts';
import { type LocalAddresses, type LocalParts, startParts } from '#services/local/parts/parts.ts';
import { discard } from './parts.ts';

/**
 * The one set of real parts that the tests of a whole run share: Kafka, the registry, Redis and ClickHouse. Files keep apart by
 * topics and groups of names of their own, a Redis database each (`useRedis`), and ClickHouse databases of their worker's
 * (`useClickhouse`); what needs the service's own names has them alone (`useInstallation`). What kills, starves or reconfigures a part starts its own (`useOwnParts`), and is in `test/kill`.
 */
export interface SharedParts {
  addresses: LocalAddresses;
  /** The folder in which the parts write: passwords and logs are there. */
  dataDir: string;
  /** Where ClickHouse is several servers, what they are together. */
  clickhouseCluster?: Cluster;
}

declare module 'vitest' {
  export interface ProvidedContext {
    parts: SharedParts;
  }
}

/** A database of Redis for each file, and some for files that want several; the last one holds who has what. */
export const REDIS_DATABASES = 1_000;

interface Running extends SharedParts {
  local: LocalParts;
}

/**
 * A run of tests is several runs of the runner, one after the other in one process, and the parts outlive each of them. The runner
 * loads this file anew each time, so what runs is kept where all of them see it.
 */
const kept = globalThis as { sharedTestParts?: Promise<Running> };

async function start(onProgress: (line: string) => void): Promise<Running> {
  const dataDir = mkdtempSync(join(tmpdir(), 'shared-parts-'));
  const local = await startParts({
    dataDir,
    external: {},
    onProgress,
    onPartExit(name, detail) {
      if (kept.sharedTestParts !== undefined) onProgress(`${name} ended: ${detail}`);
    },
    redisDatabases: REDIS_DATABASES,
  });
  return { dataDir, local, addresses: local.addresses };
}

/** Starts the parts where they do not run yet. They end with `endSharedParts`, or with the process. */
export function startSharedParts(onProgress: (line: string) => void): Promise<SharedParts> {
  kept.sharedTestParts ??= start(onProgress);
  return kept.sharedTestParts;
}

/** Gives the parts to the tests of a project. */
export async function setup(project: TestProject): Promise<void> {
  const { addresses, dataDir } = await startSharedParts((line) => project.vitest.logger.log(`  ${line}`));
  project.provide('parts', { addresses, dataDir });
}

/** Ends the parts at once, if they were started. */
export async function endSharedParts(): Promise<void> {
  const running = await kept.sharedTestParts;
  delete kept.sharedTestParts;
  if (running === undefined) return;
  await discard(running.local);
  rmSync(running.dataDir, { recursive: true, force: true, maxRetries: 5 });
}
