import { readFileSync } from 'node:fs';
import { partsConfig } from '#infra/config/service_config.ts';
import { createLogger } from '#infra/log/logger.ts';
import type { IssuedKeyItem } from '#services/control_api/sites.ts';
import { type LocalParts, startParts } from '#services/local/parts/parts.ts';
import { localAdminToken, serviceEnvironment } from '#services/local/start/config.ts';
import { provision } from '#services/stage/provision.ts';
import { type BenchChild, startChild } from '#test/bench/edge/child.ts';
import { openControl } from '#test/harness/control_in_process.ts';
import { discard } from '#test/harness/parts.ts';

const ALLOWANCE = 1_000_000_000;

/** An edge as a process of its own, on parts of its own that a test may stop and start. */
export interface EdgeProcess {
  url: string;
  serverKey: string;
  parts: LocalParts['parts'];
  /** Memory the process has in use. */
  rssBytes(): number;
  stop(): Promise<void>;
}

/** Starts parts in a folder and an edge on them; `env` is added to the edge's environment. */
export async function startEdgeProcess(dataDir: string, env: Record<string, string>): Promise<EdgeProcess> {
  const parts = await startParts({
    dataDir,
    external: {},
    onProgress: () => undefined,
    onPartExit: () => undefined,
  });
  try {
    const service = await serviceEnvironment(dataDir, parts.addresses);
    const serverKey = await settle(service, dataDir);
    const edge = await startChild('../../../services/edge/main.ts', [], {
      ...service,
      EDGE_PORT: '0',
      METRICS_PORT: '0',
      RATE_LIMIT_KEY: '0',
      ...env,
    });
    return {
      url: edge.url,
      serverKey,
      parts: parts.parts,
      rssBytes: () => rssOf(edge),
      async stop() {
        await edge.stop();
        await discard(parts);
      },
    };
  } catch (error) {
    await discard(parts);
    throw error;
  }
}

async function settle(service: Record<string, string>, dataDir: string): Promise<string> {
  const logger = createLogger('test', 'silent');
  await provision(partsConfig(service), logger);
  const { client, close } = await openControl(service, localAdminToken(dataDir), logger);
  try {
    // No stage settles here what the edge reserves: the month must have room for all that a test sends.
    await client.send('POST', '/accounts', null, { account_id: 'acme', monthly_allowance: ALLOWANCE });
    await client.send('POST', '/sites', null, { site_id: 'shop', account_id: 'acme' });
    const key = { site_id: 'shop', caller: 'server' };
    return (await client.send<IssuedKeyItem>('POST', '/keys', null, key)).secret;
  } finally {
    await close();
  }
}

function rssOf({ pid }: BenchChild): number {
  const [, kilobytes = '0'] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kilobytes) * 1024;
}
