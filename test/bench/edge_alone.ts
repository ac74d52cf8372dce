import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { partsConfig } from '#infra/config/service_config.ts';
import { openKafka } from '#infra/kafka/client.ts';
import { createLogger } from '#infra/log/logger.ts';
import { type LocalAddresses, startParts } from '#services/local/parts/parts.ts';
import { localAdminToken, serviceEnvironment } from '#services/local/start/config.ts';
import { type DemoSite, ensureDemo } from '#services/local/start/demo_settings.ts';
import { provision } from '#services/stage/provision.ts';
import { openControl } from '#test/harness/control_in_process.ts';

/** What an edge that is measured alone is started with. */
export interface EdgeAlone {
  env: Awaited<ReturnType<typeof serviceEnvironment>>;
  addresses: LocalAddresses;
  shop: DemoSite;
}

/** What can be made before anything is measured. */
export interface Preparation {
  session: Awaited<ReturnType<typeof openKafka>>;
  client: Awaited<ReturnType<typeof openControl>>['client'];
  eventPartitions: number;
  shop: DemoSite;
}

/**
 * Starts the parts that an edge needs, with the demo site; makes what the bench prepares, and measures when nothing of that
 * is open any more. One key sends everything: its requests are counted like any other's, and never too many.
 */
export async function withEdgeParts<Made>(
  prepare: (preparation: Preparation) => Promise<Made>,
  measure: (edge: EdgeAlone, made: Made) => Promise<void>,
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
    const env = { ...service, EDGE_PORT: '0', METRICS_PORT: '0', RATE_LIMIT_KEY: '1000000000' };
    const config = partsConfig(env);
    const logger = createLogger('bench', 'warn');
    await provision(config, logger);
    const session = await openKafka(config.kafka, 'svc.bench', logger);
    const control = await openControl(service, localAdminToken(dataDir), logger);
    const standins = { meta: 'http://127.0.0.1:9', webhook: 'http://127.0.0.1:9' };
    const { shop } = await ensureDemo(control.client, dataDir, standins);
    const { eventPartitions } = config.kafka;
    const made = await prepare({ session, client: control.client, eventPartitions, shop });
    await control.close();
    await session.stop();
    await measure({ env, addresses, shop }, made);
  } finally {
    await parts.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

export function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
