import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { checkGiven } from '#infra/config/catalogue.ts';
import { ConfigError, type Environment, environment } from '#infra/config/environment.ts';
import { type StartConfig, startConfig } from '#infra/config/local_config.ts';
import { type KafkaConfig, partsConfig } from '#infra/config/service_config.ts';
import { createKafka } from '#infra/kafka/client.ts';
import { partitionsOf } from '#infra/kafka/provision.ts';
import { TOPICS } from '#infra/kafka/topics.ts';
import { createLogger } from '#infra/log/logger.ts';
import { createPasswords } from '#infra/secrets/password.ts';
import { KEY_BYTES, parseKeyRing } from '#infra/secrets/seal.ts';
import { DESTINATIONS } from '#pipelines/delivery/registry.ts';
import { issueSecret } from '#pipelines/settings/admin_tokens.ts';
import { hashKey } from '#pipelines/settings/callers.ts';
import { randomPassword } from '#pipelines/settings/secrets.ts';
import { loginsOf } from '../parts/clickhouse/users.ts';
import { COPIES_MAX } from '../parts/kafka.ts';
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

/** The options of `npm start`, each a number, and the processes whose number it is; `deliveries` is of each destination. */
const COUNTED = {
  edges: 'edge',
  dedup: 'dedup',
  identity: 'identity',
  quota: 'quota',
  warehouse: 'warehouse',
  deliveries: 'delivery',
  replay: 'replay',
  erasure: 'erasure',
  alerts: 'alerts',
} as const;
const COUNT_MAX = 16;
const BROKERS = [1, 3];

/** How many of what `npm start -- --brokers 3 --dedup 2` runs. */
export interface StartCounts {
  /** Undefined: as many as the data is of. */
  brokers: number | undefined;
  /** Of the processes of a kind. */
  of(kind: string): number;
  /** Whether nothing is started but Kafka, the registry, Redis and ClickHouse, as to restore a backup. */
  partsAlone: boolean;
}

/** Reads the words of the command line. @throws ConfigError with every fault. */
export function startCounts(words: readonly string[]): StartCounts {
  const names = ['brokers', ...Object.keys(COUNTED)];
  const options = {
    ...Object.fromEntries(names.map((name) => [name, { type: 'string' as const }])),
    parts: { type: 'boolean' as const },
  };
  let values: Record<string, string | boolean | undefined>;
  try {
    ({ values } = parseArgs({ args: [...words], options }));
  } catch {
    const known = [...names.map((name) => `--${name} N`), '--parts'].join(', ');
    throw new ConfigError([`npm start takes no words but ${known}`]);
  }
  const { parts: partsAlone = false, ...given } = values;
  const counts = new Map(Object.entries(given).map(([name, value]) => [name, Number(value)]));
  const faults = [...counts].flatMap(([name, count]) => {
    const allowed = name === 'brokers' ? BROKERS : Array.from({ length: COUNT_MAX }, (_, index) => index + 1);
    if (allowed.includes(count)) return [];
    return [`--${name} must be ${name === 'brokers' ? BROKERS.join(' or ') : `a whole number from 1 to ${COUNT_MAX}`}`];
  });
  if (faults.length > 0) throw new ConfigError(faults);
  const ofKind = new Map(Object.entries(COUNTED).map(([name, kind]) => [kind as string, counts.get(name)]));
  return {
    ...{ brokers: counts.get('brokers'), of: (kind) => ofKind.get(kind) ?? 1 },
    partsAlone: partsAlone === true,
  };
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

/** Stages that have no work for more processes than there are partitions of events, or groups of them. */
const SHARING = ['dedup', 'identity', 'quota'] as const;
/** Partitions together, where that leaves no process without. */
const GROUP_SIZE = 4;

/** The environment of the service's processes: what the user set, completed by what the local default needs. */
export async function serviceEnvironment(
  dataDir: string,
  addresses: LocalAddresses,
  counts: StartCounts = startCounts([]),
): Promise<Record<string, string>> {
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
    ...copiesOf(dataDir, addresses),
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
  const most = Math.max(LOCAL_PARTITIONS, ...SHARING.map(counts.of));
  const partitions = eventPartitions ?? (await partitionsThere(chosen)) ?? most;
  const sharers = Math.max(counts.of('dedup'), counts.of('identity'));
  const together = Math.max(1, Math.min(GROUP_SIZE, Math.floor(partitions / sharers)));
  return {
    ...(sharers === 1 ? {} : { TRANSACTION_PARTITION_GROUP_SIZE: String(together) }),
    ...chosen,
    EVENT_PARTITIONS: String(partitions),
  };
}

/** The copies that several brokers which run here make possible. */
function copiesOf(dataDir: string, addresses: LocalAddresses): Record<string, string> {
  const brokers = loginsOf(dataDir, addresses).kafka?.brokers.split(',').length ?? 1;
  return brokers === 1 ? {} : { KAFKA_REPLICATION_FACTOR: String(Math.min(brokers, COPIES_MAX)) };
}

/** As many as the topics have where there are topics: a start with other defaults must not bring visitors out of order. */
function partitionsThere(env: Environment): Promise<number | null> {
  const kafka = createKafka(partsConfig(env).kafka, 'svc.start', createLogger('start', 'warn'));
  return partitionsOf(kafka, TOPICS.raw);
}

/** What to tell whoever asked for more processes than there is work for. */
export function idleNotes(counts: StartCounts, { eventPartitions, partitionGroupSize }: KafkaConfig): string[] {
  return SHARING.flatMap((kind) => {
    const shares = Math.ceil(eventPartitions / (kind === 'quota' ? 1 : partitionGroupSize));
    const idle = counts.of(kind) - shares;
    if (idle <= 0) return [];
    const of = `of ${counts.of(kind)} ${kind} processes ${idle} will stand idle`;
    return [`${of}: EVENT_PARTITIONS is ${eventPartitions}, TRANSACTION_PARTITION_GROUP_SIZE ${partitionGroupSize}`];
  });
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
  localSecret(adminTokenFile(dataDir), () => issueSecret('all', randomBytes).secret);
