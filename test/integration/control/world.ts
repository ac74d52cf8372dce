import { randomBytes } from 'node:crypto';
import { partsConfig } from '#infra/config/service_config.ts';
import { createKafka } from '#infra/kafka/client.ts';
import { provisionTopics } from '#infra/kafka/provision.ts';
import { declareTopics, TOPICS } from '#infra/kafka/topics.ts';
import type { LocalAddresses } from '#infra/local/parts.ts';
import { createRegistry } from '#infra/registry/registry.ts';
import { issueToken } from '#pipelines/settings/admin_tokens.ts';
import { type OpenControl, openControl } from '#services/control/in_process.ts';
import { quiet } from '../support/kafka.ts';

const { secret: token, tokenHash } = issueToken(randomBytes);

/** The environment of a control service on real parts. */
export function controlEnvironment(addresses: LocalAddresses): Record<string, string> {
  return {
    KAFKA_BROKERS: addresses.kafkaBrokers,
    SCHEMA_REGISTRY_URL: addresses.registryUrl,
    REDIS_URL: addresses.redisUrl,
    CLICKHOUSE_URL: addresses.clickhouseUrl,
    SECRETS_KEYS: `k1:${randomBytes(32).toString('base64')}`,
    CONTROL_FIRST_TOKEN_SHA256: tokenHash,
  };
}

/** Makes site.config with its schema. */
export async function provisionSettings(env: Record<string, string>): Promise<void> {
  const parts = partsConfig(env);
  const declared = declareTopics(1).filter(({ name }) => name === TOPICS.settings);
  await provisionTopics(createKafka(parts.kafka, 'test', quiet), declared, 1);
  await createRegistry(parts.registryUrl).register(TOPICS.settings, 'setting');
}

/** A control service of its own, as another replica would be. */
export function openReplica(env: Record<string, string>): Promise<OpenControl> {
  return openControl(env, token, quiet);
}
