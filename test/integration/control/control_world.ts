import { randomBytes } from 'node:crypto';
import { partsConfig } from '#infra/config/service_config.ts';
import { createKafka } from '#infra/kafka/client.ts';
import { provisionTopics } from '#infra/kafka/provision.ts';
import { declareTopics, TOPICS } from '#infra/kafka/topics.ts';
import { createRegistry, registerSchemas } from '#infra/registry/schema_registry.ts';
import { issueSecret } from '#pipelines/settings/admin_tokens.ts';
import type { LocalAddresses } from '#services/local/parts/parts.ts';
import { type OpenControl, openControl } from '#test/harness/control_in_process.ts';
import { quiet } from '#test/harness/kafka.ts';

const { secret: token, hash: tokenHash } = issueSecret('all', randomBytes);

/** The environment of a control service on real parts. */
export function controlEnvironment(addresses: LocalAddresses): Record<string, string> {
  return {
    KAFKA_BROKERS: addresses.kafkaBrokers,
    SCHEMA_REGISTRY_URL: addresses.registryUrl,
    REDIS_URL: addresses.redisUrl,
    CLICKHOUSE_URL: addresses.clickhouseUrl,
    IDENTITY_SECRET: randomBytes(32).toString('base64'),
    SECRETS_KEYS: `k1:${randomBytes(32).toString('base64')}`,
    CONTROL_FIRST_TOKEN_SHA256: tokenHash,
  };
}

const { settings, audit, dataReads, replays, erasures, alerts } = TOPICS;
const FOLLOWED: readonly string[] = [settings, audit, dataReads, replays, erasures, alerts];

/** Makes the topics that a control service follows, with their schemas. */
export async function provisionFollowed(env: Record<string, string>): Promise<void> {
  const parts = partsConfig(env);
  const declared = declareTopics([]).filter(({ name }) => FOLLOWED.includes(name));
  await provisionTopics(createKafka(parts.kafka, 'test', quiet), declared, 1);
  await registerSchemas(createRegistry(parts.registryUrl), declared);
}

/** A control service of its own, as another replica would be. */
export function openReplica(env: Record<string, string>): Promise<OpenControl> {
  return openControl(env, token, quiet);
}
