import type { KafkaSession } from '#infra/kafka/client.ts';
import { type Following, followTopic } from '#infra/kafka/follow_topic.ts';
import { TOPICS } from '#infra/kafka/topics.ts';
import type { Logger } from '#infra/log/logger.ts';
import { type Codec, createCodec } from '#infra/registry/codec.ts';
import type { Registry } from '#infra/registry/schema_registry.ts';
import { createSettingsTable, type SettingsTable } from '#pipelines/settings/table.ts';
import type { Setting } from '#schemas/setting.ts';

/**
 * Follows site.config. Resolves when everything written so far is applied. A record that cannot be read changes nothing and is
 * logged.
 */
export function followRecords(
  { kafka, config }: KafkaSession,
  codec: Codec<Setting>,
  apply: SettingsTable['apply'],
  logger: Logger,
  onFatal: (error: unknown) => void,
): Promise<Following> {
  return followTopic({
    ...{ kafka, topic: TOPICS.settings, groupPrefix: config.prefix, onFatal },
    async onRecord(key, value) {
      const decoded = value === null ? { ok: true as const, value: null } : await codec.decode(value);
      if (!decoded.ok) return logger.error({ key, reason: decoded.reason }, 'skipping invalid setting record');
      const applied = apply(key, decoded.value);
      if (!applied.ok) logger.error({ key, code: applied.code }, 'skipping invalid setting record');
    },
  });
}

export type FollowedSettings = Awaited<ReturnType<typeof followSettings>>;

/** The settings table of a process, which follows site.config; not current while it may lack changes. */
export async function followSettings(
  session: KafkaSession,
  registry: Registry,
  logger: Logger,
  onFatal: (error: unknown) => void,
) {
  const table = createSettingsTable();
  const codec = await createCodec<Setting>(registry, TOPICS.settings, 'setting', 'left_out');
  const { isCurrent, stop } = await followRecords(session, codec, table.apply, logger, onFatal);
  return { table, codec, isCurrent, stop };
}
