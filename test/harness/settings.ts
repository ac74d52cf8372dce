import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadOrCreateLocalKeyRing } from '#infra/secrets/local_key_ring.ts';
import { sealSecret } from '#infra/secrets/seal.ts';
import { DESTINATIONS } from '#pipelines/delivery/registry.ts';
import type { SettingsStore } from '#pipelines/settings/store.ts';
import { openStore } from '#services/cli/open_store.ts';
import { runCli } from '#services/cli/run.ts';
import type { SharedService } from './shared_service.ts';

/** The settings of a running service, changed by the words of the command line. */
export interface SettingsEditor {
  /** Runs a command such as `site set shop --mode offline`; returns what it prints with --json. */
  run<Json>(...words: string[]): Promise<Json>;
  close(): Promise<void>;
}

/** Opens the settings once for many commands, as each start of the command line takes a second or two. */
export async function openSettings({ dataDir, ready }: SharedService): Promise<SettingsEditor> {
  const store = await openStore(addressVariables(ready));
  const ring = await loadOrCreateLocalKeyRing(dataDir);
  const kept: SettingsStore = { ...store, close: async () => undefined };
  const ports: Parameters<typeof runCli>[1] = {
    openStore: async () => kept,
    openContext: async () => ({
      nowMs: Date.now(),
      randomBytes,
      changedBy: 'test',
      adapters: DESTINATIONS,
      seal: (place, value) => sealSecret(ring, place, value, randomBytes),
      readFile: (path) => readFileSync(path, 'utf8'),
      readStdin: () => '',
    }),
    status: { readReadyFile: () => readFileSync(join(dataDir, 'ready.json'), 'utf8'), fetchHealth: async () => null },
  };
  return {
    async run(...words) {
      const { exitCode, stdout, stderr } = await runCli([...words, '--json'], ports);
      if (exitCode !== 0) throw new Error(stderr);
      return JSON.parse(stdout);
    },
    close: () => store.close(),
  };
}

/** Where the parts are, as the variables that every process of the service reads. */
export function addressVariables(ready: SharedService['ready']): Record<string, string> {
  return {
    KAFKA_BROKERS: ready.kafka,
    SCHEMA_REGISTRY_URL: ready.registry,
    REDIS_URL: ready.redis,
    CLICKHOUSE_URL: ready.clickhouse,
  };
}
