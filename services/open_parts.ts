import type { RedisParts } from '#infra/config/service_config.ts';
import { createKeyedProducer, type KeyedProducer } from '#infra/kafka/producer/keyed_producer.ts';
import { createRedis, type Redis } from '#infra/redis/client.ts';
import { type RedisProbe, watchRedis } from '#infra/redis/health_probe.ts';
import { type FollowedSettings, followSettings } from '#infra/settings/follow_settings.ts';
import type { Runtime } from './runtime.ts';

/** Clocks of hosts that are in step differ by far less. */
const CLOCK_MS_MAX = 5_000;

/**
 * A connection to Redis that ends with the process, and whether Redis answers on it. How this host's clock stands to that of Redis
 * is measured and, where it is seconds off, logged.
 */
export function openRedis(
  { logger, metrics, onStop }: Runtime,
  { redisUrl }: Pick<RedisParts, 'redisUrl'>,
): { redis: Redis; probe: RedisProbe } {
  const redis = createRedis(redisUrl, logger);
  const probe = watchRedis(redis, Date.now);
  const ahead = metrics.gauge(
    'svc_clock_ahead_seconds',
    'How far the clock of this host is ahead of that of Redis',
    [],
  );
  let isOff = false;
  const timer = setInterval(() => {
    const aheadMs = probe.aheadMs();
    if (aheadMs === null) return;
    ahead.set(aheadMs / 1_000);
    if (isOff === Math.abs(aheadMs) > CLOCK_MS_MAX) return;
    isOff = !isOff;
    if (isOff) logger.warn({ aheadMs }, 'the clock of this host differs from that of Redis');
    else logger.info({ aheadMs }, 'the clock of this host agrees with that of Redis again');
  }, CLOCK_MS_MAX);
  onStop(async () => {
    clearInterval(timer);
    probe.stop();
    redis.disconnect();
  });
  return { redis, probe };
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
