import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { partsConfig } from '#infra/config/service_config.ts';
import { createLogger } from '#infra/log/logger.ts';
import { type LocalAddresses, type LocalPart, startParts } from '#services/local/parts/parts.ts';
import { localAdminToken, serviceEnvironment } from '#services/local/start/config.ts';
import { type DemoSite, ensureDemo } from '#services/local/start/demo_settings.ts';
import { provision } from '#services/stage/provision.ts';
import { openControl } from '#test/harness/control_in_process.ts';
import { say } from './results.ts';

/** What an edge that is measured alone is started with. */
export interface EdgeAlone {
  env: Awaited<ReturnType<typeof serviceEnvironment>>;
  addresses: LocalAddresses;
  dataDir: string;
  shop: DemoSite;
  /** The processes of the parts by name. */
  partPids: Record<string, number>;
}

/** What can be made before anything is measured. */
export interface Preparation {
  client: Awaited<ReturnType<typeof openControl>>['client'];
  shop: DemoSite;
}

/**
 * Starts the parts, with the demo site, which the bench sets up, and measures. One key sends everything: its requests are counted
 * like any other's, and never too many.
 */
export async function withEdgeParts(
  prepare: (preparation: Preparation) => Promise<void>,
  measure: (edge: EdgeAlone) => Promise<void>,
): Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), 'bench-edge-'));
  const parts = await startParts({
    dataDir,
    external: {},
    onProgress: say,
    onPartExit: (name, detail) => say(`${name} died: ${detail}`),
  });
  try {
    const { addresses } = parts;
    const service = await serviceEnvironment(dataDir, addresses);
    const env = {
      ...service,
      EDGE_PORT: '0',
      METRICS_PORT: '0',
      RATE_LIMIT_KEY: '1000000000',
      RATE_LIMIT_IP: '1000000000',
    };
    const config = partsConfig(env);
    const logger = createLogger('bench', 'warn');
    await provision(config, logger);
    const control = await openControl(service, localAdminToken(dataDir), logger);
    const standins = { meta: 'http://127.0.0.1:9', webhook: 'http://127.0.0.1:9' };
    const { shop } = await ensureDemo(control.client, dataDir, standins);
    await prepare({ client: control.client, shop });
    await control.close();
    const { kafka, redis, clickhouse } = parts.parts;
    const partPids = { kafka: pidOf(kafka), redis: pidOf(redis), clickhouse: pidOf(clickhouse) };
    await measure({ env, addresses, dataDir, shop, partPids });
  } finally {
    await parts.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

function pidOf(part: LocalPart | undefined): number {
  if (part?.pid === undefined) throw new Error('a part does not run');
  return part.pid;
}
