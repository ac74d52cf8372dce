import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { partsConfig } from '#infra/config/service_config.ts';
import { openKafka } from '#infra/kafka/session.ts';
import { type LocalParts, startParts } from '#infra/local/parts.ts';
import { createLogger } from '#infra/log/logger.ts';
import { createRegistry } from '#infra/registry/registry.ts';
import { openSettingsStore } from '#infra/settings/store.ts';
import { keyOfSetting } from '#pipelines/settings/address.ts';
import { issueKey } from '#pipelines/settings/keys.ts';
import { serviceEnvironment } from '#services/local/start/config.ts';
import { provision } from '#services/provision/provision.ts';
import { type BenchChild, startChild } from '#test/bench/edge/child.ts';
import { discard } from '#test/harness/parts.ts';
import { account, apiKey, setting, site } from '#test/unit/settings/samples.ts';

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
    const serverKey = await settle(service);
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

async function settle(service: Record<string, string>): Promise<string> {
  const config = partsConfig(service);
  const logger = createLogger('test', 'silent');
  await provision(config, logger);
  const session = await openKafka(config.kafka, 'svc.test', logger);
  const store = await openSettingsStore(session, createRegistry(config.registryUrl), logger);
  const { secret, keyHash } = issueKey('server', randomBytes);
  // No stage settles here what the edge reserves: the month must have room for all that a test sends.
  const facts = [
    { account: account({ monthly_allowance: ALLOWANCE }) },
    { site: site() },
    { key: apiKey({ key_hash: keyHash, caller: 'server' }) },
  ];
  for (const fact of facts.map(setting)) await store.write(keyOfSetting(fact) ?? '', fact);
  await store.close();
  await session.stop();
  return secret;
}

function rssOf({ pid }: BenchChild): number {
  const [, kilobytes = '0'] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kilobytes) * 1024;
}
