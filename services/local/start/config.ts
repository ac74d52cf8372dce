import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { link, mkdir, open, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
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
import { KEY_BYTES, type KeyRing, parseKeyRing } from '#infra/secrets/seal.ts';
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
export function externalAddresses({
  brokers,
  registryUrl,
  redisUrl,
  clickhouseUrl,
}: StartConfig): Partial<LocalAddresses> {
  return {
    ...(brokers === null ? {} : { kafkaBrokers: brokers.join(',') }),
    ...(registryUrl === null ? {} : { registryUrl }),
    ...(redisUrl === null ? {} : { redisUrl }),
    ...(clickhouseUrl === null ? {} : { clickhouseUrl }),
  };
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
  await loadOrCreateLocalKeyRing(dataDir);
  const defaults: Record<string, string> = {
    TRUSTED_PROXIES: LOOPBACK,
    RATE_LIMIT_IP_EXEMPT: LOOPBACK,
    EGRESS_ALLOW_LOOPBACK: 'true',
    SECRETS_KEYS: readFileSync(join(dataDir, 'secrets.keys'), 'utf8').trim(),
    IDENTITY_SECRET: localSecret(join(dataDir, 'identity.secret')),
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

function localSecret(path: string): string {
  if (!existsSync(path)) writeFileSync(path, randomBytes(SECRET_BYTES).toString('base64'), { mode: 0o600 });
  return readFileSync(path, 'utf8').trim();
}

/** The user that `npm start` makes. */
export const FIRST_USER = 'admin';

/** The file of the password that the first user has when it is made. */
export const adminPasswordFile = (dataDir: string): string => join(dataDir, 'admin.password');

/** The first user of the local default, whose password is made once and readable by its owner only. */
async function firstUser(dataDir: string): Promise<Record<string, string>> {
  const path = adminPasswordFile(dataDir);
  if (!existsSync(path)) writeFileSync(path, `${randomPassword(randomBytes)}\n`, { mode: 0o600 });
  const hash = await createPasswords().hash(readFileSync(path, 'utf8').trim());
  return { CONTROL_FIRST_USER: FIRST_USER, CONTROL_FIRST_PASSWORD_HASH: hash };
}

/** The file of the local admin token. */
export const adminTokenFile = (dataDir: string): string => join(dataDir, 'admin.token');

/** The admin token of the local default: made once, readable by its owner only. */
export function localAdminToken(dataDir: string): string {
  const path = adminTokenFile(dataDir);
  if (!existsSync(path)) writeFileSync(path, `${issueToken(randomBytes).secret}\n`, { mode: 0o600 });
  return readFileSync(path, 'utf8').trim();
}

const FILE_NAME = 'secrets.keys';

/**
 * The key ring of a local installation. It is in `secrets.keys`, in a folder outside version control, is made on first use,
 * and only its owner can read it. Processes that start at the same time get the same key.
 *
 * @throws KeyRingError if the file is not a key ring. A key is never replaced, because what it sealed would be lost.
 */
export async function loadOrCreateLocalKeyRing(directory: string): Promise<KeyRing> {
  const path = join(directory, FILE_NAME);
  const existing = await readIfPresent(path);
  if (existing !== null) return parseKeyRing(existing);
  await mkdir(directory, { recursive: true });
  await createOnce(path, `local:${randomBytes(KEY_BYTES).toString('base64')}\n`);
  return parseKeyRing(await readFile(path, 'utf8'));
}

async function readIfPresent(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return null;
    throw error;
  }
}

/** To link a finished file is atomic: nobody reads half a key, and the first of several processes wins. */
async function createOnce(path: string, content: string): Promise<void> {
  const draft = `${path}.${randomBytes(6).toString('hex')}`;
  try {
    await writeDurably(draft, content);
    await link(draft, path);
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error;
  } finally {
    await rm(draft, { force: true });
  }
}

async function writeDurably(path: string, content: string): Promise<void> {
  const file = await open(path, 'wx', 0o600);
  try {
    await file.writeFile(content);
    await file.sync();
  } finally {
    await file.close();
  }
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
