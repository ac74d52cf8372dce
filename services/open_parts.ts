import { createKeyedProducer, type KeyedProducer } from '#infra/kafka/producer/keyed_producer.ts';
import { createRedis, type Redis } from '#infra/redis/client.ts';
import { type FollowedSettings, followSettings } from '#infra/settings/follow_settings.ts';
import type { Runtime } from './runtime.ts';

/** A connection to Redis that ends with the process. */
export function openRedis({ config, logger, onStop }: Runtime): Redis {
  const redis = createRedis(config.parts.redisUrl, logger);
  onStop(async () => redis.disconnect());
  return redis;
}

/** The table of settings, which follows its topic until the process stops. */
export async function openSettings({ session, registry, logger, fatal, onStop }: Runtime): Promise<FollowedSettings> {
  const settings = await followSettings(session, registry, logger, fatal);
  onStop(() => settings.stop());
  return settings;
}

/** A producer for records with a partition of their own, which ends with the process. */
export async function openProducer({ session, onStop }: Runtime): Promise<KeyedProducer> {
  const producer = await createKeyedProducer(session.kafka, session.config.watchdogMs);
  onStop(() => producer.stop());
  return producer;
}
