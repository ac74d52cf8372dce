import { chosenPartition } from '#infra/kafka/producer/chosen_partition.ts';
import type { KafkaSession } from '#infra/kafka/session.ts';
import { TOPICS } from '#infra/kafka/topics.ts';
import type { Logger } from '#infra/log/logger.ts';
import type { Registry } from '#infra/registry/registry.ts';
import type { SettingsStore } from '#pipelines/settings/store.ts';
import type { SettingsTable } from '#pipelines/settings/table.ts';
import { followSettings } from './follow.ts';

const SEEN_MS_MAX = 10_000;
const POLL_MS = 10;

class SettingNotSeenError extends Error {
  readonly code = 'setting_not_seen';
}

/** Opens site.config for writing. There is one partition: its order is the order of changes. */
export async function openSettingsStore(
  session: KafkaSession,
  registry: Registry,
  logger: Logger,
): Promise<SettingsStore> {
  let failure: unknown = null;
  const settings = await followSettings(session, registry, logger, (error) => {
    failure = error;
  });
  const producer = session.kafka.producer({ allowAutoTopicCreation: false, createPartitioner: chosenPartition });
  await producer.connect();
  return {
    table: settings.table,
    async write(key, setting) {
      const before = settings.table.version;
      const value = setting === null ? null : settings.codec.encode(setting);
      await producer.send({ topic: TOPICS.settings, acks: -1, messages: [{ partition: 0, key, value }] });
      await seen(settings.table, before, () => failure);
    },
    async close() {
      await producer.disconnect();
      await settings.stop();
    },
  };
}

async function seen(table: SettingsTable, before: number, failure: () => unknown): Promise<void> {
  const deadline = Date.now() + SEEN_MS_MAX;
  while (table.version === before) {
    if (failure() !== null) throw failure();
    if (Date.now() > deadline) throw new SettingNotSeenError('written, but not read back in time');
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}
