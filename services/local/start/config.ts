import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Environment, environment, list, text } from '#infra/config/config.ts';
import { partsConfig } from '#infra/config/service_config.ts';
import { createKafka } from '#infra/kafka/client.ts';
import { partitionsOf } from '#infra/kafka/provision.ts';
import { TOPICS } from '#infra/kafka/topics.ts';
import { ownerEnvironment } from '#infra/local/environment.ts';
import type { LocalAddresses } from '#infra/local/parts.ts';
import { createLogger } from '#infra/log/logger.ts';
import { loadOrCreateLocalKeyRing } from '#infra/secrets/local_key_ring.ts';
import { issueToken } from '#pipelines/settings/admin_tokens.ts';
import { hashKey } from '#pipelines/settings/keys.ts';

/** The ignored folder that holds everything local, unless LOCAL_DIR names another. */
export function dataDirectory(): string {
  return text(environment(), 'LOCAL_DIR', fileURLToPath(new URL('../../../.local', import.meta.url)));
}

/** Addresses the user configured: those parts are not started here. */
export function externalAddresses(): Partial<LocalAddresses> {
  const env = environment();
  return {
    ...given('kafkaBrokers', env['KAFKA_BROKERS']),
    ...given('registryUrl', env['SCHEMA_REGISTRY_URL']),
    ...given('redisUrl', env['REDIS_URL']),
    ...given('clickhouseUrl', env['CLICKHOUSE_URL']),
  };
}

function given(name: keyof LocalAddresses, value: string | undefined): Partial<LocalAddresses> {
  return value === undefined || value === '' ? {} : { [name]: value };
}

/**
 * Few partitions suit one small machine, on which each costs every stage a batch, a request and a mark of its own: of
 * 20,000 events a second four take a seventh more CPU time than two. Production sets its own.
 */
const LOCAL_PARTITIONS = 2;

/** This machine's own programs: what they forward keeps its limits. */
const LOOPBACK = '127.0.0.0/8,::1/128';

/** The environment of the service's processes: what the user set, completed by what the local default needs. */
export async function serviceEnvironment(dataDir: string, addresses: LocalAddresses): Promise<Record<string, string>> {
  const env = environment();
  await loadOrCreateLocalKeyRing(dataDir);
  const defaults: Record<string, string> = {
    TRUSTED_PROXIES: LOOPBACK,
    RATE_LIMIT_IP_EXEMPT: LOOPBACK,
    EGRESS_ALLOW_LOOPBACK: 'true',
    SECRETS_KEYS: readFileSync(join(dataDir, 'secrets.keys'), 'utf8').trim(),
    IDENTITY_SECRET: localSecret(join(dataDir, 'identity.secret')),
  };
  const chosen = {
    ...defaults,
    ...definedOnly(env),
    ...ownerEnvironment(),
    CONTROL_FIRST_TOKEN_SHA256: hashKey(localAdminToken(dataDir)),
    CONTROL_FIRST_TOKEN_LABEL: 'local',
    KAFKA_BROKERS: addresses.kafkaBrokers,
    SCHEMA_REGISTRY_URL: addresses.registryUrl,
    REDIS_URL: addresses.redisUrl,
    CLICKHOUSE_URL: addresses.clickhouseUrl,
  };
  return { EVENT_PARTITIONS: env['EVENT_PARTITIONS'] ?? (await partitionsThere(chosen)), ...chosen };
}

/** As many as the topics have where there are topics: a start with other defaults must not bring visitors out of order. */
async function partitionsThere(env: Environment): Promise<string> {
  const kafka = createKafka(partsConfig(env).kafka, 'svc.start', createLogger('start', 'warn'));
  return String((await partitionsOf(kafka, TOPICS.raw)) ?? LOCAL_PARTITIONS);
}

function definedOnly(env: Environment): Record<string, string> {
  return Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined)) as Record<string, string>;
}

const SECRET_BYTES = 32;

function localSecret(path: string): string {
  if (!existsSync(path)) writeFileSync(path, randomBytes(SECRET_BYTES).toString('base64'), { mode: 0o600 });
  return readFileSync(path, 'utf8').trim();
}

/** The file of the local admin token. */
export const adminTokenFile = (dataDir: string): string => join(dataDir, 'admin.token');

/** The admin token of the local default: made once, readable by its owner only. */
export function localAdminToken(dataDir: string): string {
  const path = adminTokenFile(dataDir);
  if (!existsSync(path)) writeFileSync(path, `${issueToken(randomBytes).secret}\n`, { mode: 0o600 });
  return readFileSync(path, 'utf8').trim();
}

/** Destinations whose delivery may run; all by default. */
export function wantedDestinations(all: readonly string[]): string[] {
  return list(environment(), 'DELIVERY_DESTINATIONS', all);
}

/** The port the user wants for a process, or null for a free one. */
export function wantedPort(variable: 'EDGE_PORT' | 'CONTROL_PORT'): number | null {
  const value = environment()[variable];
  return value === undefined || value === '' ? null : Number(value);
}
