import type { Environment } from '#infra/config/config.ts';
import { partsConfig } from '#infra/config/service_config.ts';
import { openKafka } from '#infra/kafka/session.ts';
import { createLogger } from '#infra/log/logger.ts';
import { createRegistry } from '#infra/registry/registry.ts';
import { openSettingsStore } from '#infra/settings/store.ts';
import type { SettingsStore } from '#pipelines/settings/store.ts';
import { readReadyFile } from './local_files.ts';
import { withLocalParts } from './parts_config.ts';

/** Opens the settings of the running service: the one place where the command line meets Kafka. */
export async function openStore(env: Environment): Promise<SettingsStore> {
  const parts = partsConfig(withLocalParts(env, readReadyFile()));
  // The logger writes to standard output, which belongs to the command's result.
  const logger = createLogger('cli', env['LOG_LEVEL'] ?? 'silent');
  const session = await openKafka(parts.kafka, 'svc-cli', logger);
  try {
    const store = await openSettingsStore(session, createRegistry(parts.registryUrl), logger);
    return {
      table: store.table,
      write: (recordKey, setting) => store.write(recordKey, setting),
      async close() {
        await store.close();
        await session.stop();
      },
    };
  } catch (error) {
    await session.stop();
    throw error;
  }
}
