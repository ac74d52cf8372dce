import type { KafkaSession } from '#infra/kafka/client.ts';
import { type Following, followTopic } from '#infra/kafka/follow_topic.ts';
import { TOPICS } from '#infra/kafka/topics.ts';
import type { Logger } from '#infra/log/logger.ts';
import { type Codec, createCodec } from '#infra/registry/codec.ts';
import type { Registry } from '#infra/registry/schema_registry.ts';
import { createSettingsTable, type SettingsTable } from '#pipelines/settings/table.ts';
import type { Setting } from '#schemas/setting.ts';

export interface FollowedSettings {
  table: SettingsTable;
  codec: Codec<Setting>;
  /** False while the table may lack changes, because reading the topic was interrupted. */
  isCurrent(): boolean;
  stop(): Promise<void>;
}

/**
 * The settings table of a process, which follows site.config. Resolves when everything written so far is in the table. A
 * record that cannot be read changes nothing and is logged.
 */
export async function followSettings(
  session: KafkaSession,
  registry: Registry,
  logger: Logger,
  onFatal: (error: unknown) => void,
): Promise<FollowedSettings> {
  const table = createSettingsTable();
  const codec = await createCodec<Setting>(registry, TOPICS.settings, 'setting', 'left_out');
  const following: Following = await followTopic({
    kafka: session.kafka,
    topic: TOPICS.settings,
    groupPrefix: session.config.prefix,
    onFatal,
    async onRecord(key, value) {
      const decoded = value === null ? { ok: true as const, value: null } : await codec.decode(value);
      if (!decoded.ok) return logger.error({ key, reason: decoded.reason }, 'setting left out');
      const applied = table.apply(key, decoded.value);
      if (!applied.ok) logger.error({ key, code: applied.code }, 'setting left out');
    },
  });
  return { table, codec, isCurrent: following.isCurrent, stop: () => following.stop() };
}
