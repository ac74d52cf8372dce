import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { checkGiven } from '#infra/config/catalogue.ts';
import { type Environment, environment } from '#infra/config/environment.ts';
import { type StartConfig, startConfig } from '#infra/config/local_config.ts';
import { partsConfig } from '#infra/config/service_config.ts';
import { createKafka } from '#infra/kafka/client.ts';
import { partitionsOf } from '#infra/kafka/provision.ts';
import { TOPICS } from '#infra/kafka/topics.ts';
import { createLogger } from '#infra/log/logger.ts';
import { createPasswords } from '#infra/secrets/password.ts';
import { KEY_BYTES, parseKeyRing } from '#infra/secrets/seal.ts';
import { DESTINATIONS } from '#pipelines/delivery/registry.ts';
import { issueToken } from '#pipelines/settings/admin_tokens.ts';
import { hashKey } from '#pipelines/settings/callers.ts';
import { randomPassword } from '#pipelines/settings/secrets.ts';
import type { LocalAddresses } from '../parts/parts.ts';
import { ownerEnvironment } from '../parts/tools.ts';

const DESTINATION_NAMES = DESTINATIONS.map(({ name }) => name);

/**
 * What the user has set for `npm start`.
 *
 * @throws ConfigError with every fault of every variable that is set, so that no process is started in vain.
 */
export function readStartConfig(env: Environment): StartConfig {
  checkGiven(env, DESTINATION_NAMES);
  return startConfig(env, DESTINATION_NAMES);
}

/** The ignored folder that holds everything local, unless LOCAL_DIR names another. */
export function dataDirectory({ localDir }: StartConfig): string {
  return localDir ?? fileURLToPath(new URL('../../../.local', import.meta.url));
}

/** Addresses the user configured: those parts are not started here. */
export function externalAddresses(config: StartConfig): Partial<LocalAddresses> {
  const { brokers, registryUrl, redisUrl, clickhouseUrl } = config;
  const addresses = { kafkaBrokers: brokers?.join(',') ?? null, registryUrl, redisUrl, clickhouseUrl };
  return Object.fromEntries(Object.entries(addresses).filter(([, address]) => address !== null));
}

/**
 * Few partitions suit one small machine, on which each costs every stage a batch, a request and a transaction marker of its own: of
 * 20,000 events a second four take a seventh more CPU time than two. Production sets its own.
 */
const LOCAL_PARTITIONS = 2;

/** This machine's own programs: what they forward keeps its limits. */
const LOOPBACK = '127.0.0.0/8,::1/128';

/** The environment of the service's processes: what the user set, completed by what the local default needs. */
export async function serviceEnvironment(dataDir: string, addresses: LocalAddresses): Promise<Record<string, string>> {
  const env = environment();
  const defaults: Record<string, string> = {
    TRUSTED_PROXIES: LOOPBACK,
    RATE_LIMIT_IP_EXEMPT: LOOPBACK,
    EGRESS_ALLOW_LOOPBACK: 'true',
    SECRETS_KEYS: localKeyRing(dataDir),
    IDENTITY_SECRET: localSecret(join(dataDir, 'identity.secret'), () => randomBytes(SECRET_BYTES).toString('base64')),
  };
  const chosen: Record<string, string> = {
    ...defaults,
    ...(await firstUser(dataDir)),
    ...setOnly(env),
    ...ownerEnvironment(),
    CONTROL_FIRST_TOKEN_SHA256: hashKey(localAdminToken(dataDir)),
    CONTROL_FIRST_TOKEN_LABEL: 'local',
    KAFKA_BROKERS: addresses.kafkaBrokers,
    SCHEMA_REGISTRY_URL: addresses.registryUrl,
    REDIS_URL: addresses.redisUrl,
    CLICKHOUSE_URL: addresses.clickhouseUrl,
  };
  const { eventPartitions } = startConfig(env, DESTINATION_NAMES);
  return { ...chosen, EVENT_PARTITIONS: String(eventPartitions ?? (await partitionsThere(chosen))) };
}

/** As many as the topics have where there are topics: a start with other defaults must not bring visitors out of order. */
async function partitionsThere(env: Environment): Promise<number> {
  const kafka = createKafka(partsConfig(env).kafka, 'svc.start', createLogger('start', 'warn'));
  return (await partitionsOf(kafka, TOPICS.raw)) ?? LOCAL_PARTITIONS;
}

/** A variable that is empty is not set: it must not take the place of a default. */
function setOnly(env: Environment): Record<string, string> {
  return Object.fromEntries(Object.entries(env).filter(([, value]) => value)) as Record<string, string>;
}

const SECRET_BYTES = 32;

/** A secret of the local default: made at the first start, never replaced, in a file that only its owner can read. */
function localSecret(path: string, make: () => string): string {
  mkdirSync(dirname(path), { recursive: true });
  if (!existsSync(path)) writeFileSync(path, `${make()}\n`, { mode: 0o600 });
  return readFileSync(path, 'utf8').trim();
}

/** The key ring of the local default. @throws KeyRingError if its file holds none: what the key sealed would be lost by another. */
export function localKeyRing(dataDir: string): string {
  const keys = localSecret(join(dataDir, 'secrets.keys'), () => `local:${randomBytes(KEY_BYTES).toString('base64')}`);
  parseKeyRing(keys);
  return keys;
}

export const FIRST_USER = 'admin';

export const adminPasswordFile = (dataDir: string): string => join(dataDir, 'admin.password');

async function firstUser(dataDir: string): Promise<Record<string, string>> {
  const password = localSecret(adminPasswordFile(dataDir), () => randomPassword(randomBytes));
  return { CONTROL_FIRST_USER: FIRST_USER, CONTROL_FIRST_PASSWORD_HASH: await createPasswords().hash(password) };
}

export const adminTokenFile = (dataDir: string): string => join(dataDir, 'admin.token');

export const localAdminToken = (dataDir: string): string =>
  localSecret(adminTokenFile(dataDir), () => issueToken(randomBytes).secret);
