// What the doctor looks at, by the environment of a process, or by what runs here.
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type StaticDecode, type TProperties, Type } from 'typebox';
import { firstEndMs, readCertificate } from '#infra/certificates.ts';
import { SQL_API_USER } from '#infra/clickhouse/analysts/analyst_rights.ts';
import { createWarehouse } from '#infra/clickhouse/client.ts';
import type { Cluster } from '#infra/clickhouse/cluster.ts';
import { inspectClickhouse } from '#infra/clickhouse/inspect.ts';
import { passwordCounts as clickhousePasswords } from '#infra/clickhouse/passwords.ts';
import { isClickhouseAddress, readClickhouseAddress, readClickhouseLogin } from '#infra/clickhouse/servers.ts';
import { checkGiven, settingWarnings } from '#infra/config/catalogue.ts';
import { ConfigError, type Environment, orNull, readSettings } from '#infra/config/environment.ts';
import { type KafkaConfig, PARTS, type RedisParts } from '#infra/config/service_config.ts';
import { createKafka } from '#infra/kafka/client.ts';
import { inspectKafka } from '#infra/kafka/inspect.ts';
import { scramMechanisms } from '#infra/kafka/scram.ts';
import { declareTopics, TOPICS } from '#infra/kafka/topics.ts';
import { createLogger } from '#infra/log/logger.ts';
import { readRedisAddress } from '#infra/redis/address.ts';
import { createRedis, nodesOf } from '#infra/redis/connection.ts';
import { inspectRedis } from '#infra/redis/inspect.ts';
import { passwordCounts as redisPasswords } from '#infra/redis/passwords.ts';
import { inspectRegistry } from '#infra/registry/schema_registry.ts';
import { processUsers } from '#infra/rights/process_rights.ts';
import { DESTINATIONS } from '#pipelines/delivery/registry.ts';
import { LOCAL_ADDRESSES, type ObservedDisk, partsEnvironment } from '../local_folder.ts';
import { clickhouseChecks } from './clickhouse_checks.ts';
import { type CheckResult, diskCheck, type Section, warning } from './doctor.ts';
import { kafkaChecks, registryChecks } from './kafka_checks.ts';
import { redisChecks } from './redis_checks.ts';
import {
  certificateCheck,
  configurationChecks,
  isLoopback,
  type Login,
  loginChecks,
  nodeCheck,
  passwordsChecks,
  secretChecks,
} from './settings_checks.ts';

export interface DoctorPorts {
  env: Environment;
  /** What ready.json holds; null while nothing runs here. */
  ready: Readonly<Record<string, unknown>> | null;
  /** The disks with the local data. */
  readDisks(): Promise<readonly ObservedDisk[]>;
  nowMs(): number;
}

const NAMES = DESTINATIONS.map(({ name }) => name);
/** Those that have passwords: of the processes, and who owns all. */
const USERS = [...processUsers(NAMES).map(({ user }) => user), 'svc'];
const KAFKA_RETRIES = 2;
const silent = createLogger('doctor', 'silent');
const { kafka: KAFKA, registryUrl, redisUrl, redisCluster, clickhouseUrl, clickhouseCluster } = PARTS.properties;

export function doctorSections({ env, ready, readDisks, nowMs }: DoctorPorts): Section[] {
  const given = partsEnvironment(env, ready);
  const faults = new Set<string>();
  const read = <P extends TProperties>(
    properties: P,
    address: string,
  ): StaticDecode<ReturnType<typeof Type.Object<P>>> | null => {
    if (given[address] === undefined) return null;
    return readOr(() => readSettings(Type.Object(properties), given), faults);
  };
  readOr(() => checkGiven(given, NAMES), faults);
  const kafka = read({ kafka: KAFKA }, 'KAFKA_BROKERS')?.kafka ?? null;
  const registry = read({ registryUrl }, 'SCHEMA_REGISTRY_URL')?.registryUrl ?? null;
  const redis = read({ redisUrl, redisCluster }, 'REDIS_URL');
  const clickhouse = read({ clickhouseUrl, clickhouseCluster }, 'CLICKHOUSE_URL');
  const partitions = Type.Object({ given: orNull(KAFKA.properties.eventPartitions) });
  const isLocalPartitions = ready !== null && readOr(() => readSettings(partitions, given), faults)?.given === null;
  const secrets = ['SECRETS_KEYS', 'IDENTITY_SECRET'].flatMap((variable) => {
    const keys = (given[variable] ?? '').split(',').flatMap((key) => key.split(':').at(-1) || []);
    return keys.length === 0 ? [] : [[variable, keys] as const];
  });
  const here = async (): Promise<CheckResult[]> => [
    nodeCheck(process.version),
    ...configurationChecks([...faults], settingWarnings(env)),
    ...secretChecks(new Map(secrets)),
    ...loginChecks(loginsOf(kafka, redis?.redisUrl ?? null, clickhouse?.clickhouseUrl ?? null)),
    ...Object.keys(LOCAL_ADDRESSES)
      .filter((variable) => given[variable] === undefined)
      .map((variable) =>
        warning(
          'configuration.address',
          `${variable} is not set: that part was not looked at`,
          'run it with the variables of a process',
        ),
      ),
    ...(ready === null
      ? []
      : (await readDisks()).map((disk) => diskCheck('host.disk', disk.path, disk.freeBytes, disk.totalBytes))),
  ];
  const section = <C>(
    part: string,
    name: string,
    config: C | null,
    look: (config: C) => Promise<CheckResult[]>,
  ): Section[] => (config === null ? [] : [{ part, name, look: () => look(config) }]);
  return [
    { part: 'host', name: 'This host', look: here },
    ...section('kafka', 'Kafka', kafka, (config) => lookAtKafka(config, isLocalPartitions)),
    ...section('redis', 'Redis', redis, (config) => lookAtRedis(config, nowMs)),
    ...section('clickhouse', 'ClickHouse', clickhouse, (config) =>
      lookAtClickhouse(config.clickhouseUrl, config.clickhouseCluster, clickhouseUsers(given), nowMs),
    ),
    ...section('registry', 'The registry', registry, async (url) => {
      const prefix = kafka?.topicPrefix ?? '';
      const topics = declareTopics(NAMES).flatMap(({ name, schema }) => (schema === null ? [] : [prefix + name]));
      return registryChecks(await inspectRegistry(url, topics, nowMs));
    }),
    ...certificateSections(
      {
        kafka,
        urls: {
          registry,
          redis: firstRedis(redis?.redisUrl),
          clickhouse: clickhouse && outermost(clickhouse.clickhouseUrl),
        },
      },
      nowMs,
    ),
  ];
}

/** Null where the environment cannot be used, with what is wrong of it noted. */
function readOr<T>(work: () => T, faults: Set<string>): T | null {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    for (const fault of error.faults) faults.add(fault);
    return null;
  }
}

function loginsOf(kafka: KafkaConfig | null, redisUrlText: string | null, clickhouseUrlText: string | null): Login[] {
  const urls = {
    redis: ['REDIS_URL', firstRedis(redisUrlText)],
    clickhouse: ['CLICKHOUSE_URL', clickhouseUrlText && outermost(clickhouseUrlText)],
  } as const;
  const ofUrls = Object.entries(urls).flatMap(([part, [variable, text]]): Login[] => {
    if (text === null) return [];
    const { hostname: host, protocol, password } = new URL(text);
    const isEncrypted = protocol === 'https:' || protocol === 'rediss:';
    return [{ part, variable, host, isEncrypted, password: password === '' ? null : decodeURIComponent(password) }];
  });
  if (kafka === null) return ofUrls;
  const hosts = kafka.brokers.map(hostOf);
  const host = hosts.find((one) => !isLoopback(one)) ?? hosts[0] ?? '';
  const password = kafka.sasl?.password ?? null;
  return [{ part: 'kafka', variable: 'KAFKA_BROKERS', host, isEncrypted: kafka.tls, password }, ...ofUrls];
}

/** Of several servers one that is elsewhere: its login is to be held as such. */
function outermost(address: string): string {
  const urls = readClickhouseAddress(address);
  return urls.find((url) => !isLoopback(new URL(url).hostname)) ?? urls[0];
}

/** The URL of the first server of an address of Redis, or of its first Sentinel, with the login; null where there is none. */
function firstRedis(text: string | null | undefined): string | null {
  if (!text) return null;
  const { isTls, nodes, password } = readRedisAddress(text);
  const [{ host, port } = { host: '', port: 0 }] = nodes;
  const login = password === undefined ? '' : `:${encodeURIComponent(password)}@`;
  return `redis${isTls ? 's' : ''}://${login}${host.includes(':') ? `[${host}]` : host}:${port}`;
}

const hostOf = (address: string): string => address.replace(/:\d+$/, '');

async function lookAtKafka(config: KafkaConfig, isLocalPartitions: boolean): Promise<CheckResult[]> {
  const kafka = createKafka(config, `${config.prefix}.doctor`, silent, KAFKA_RETRIES);
  const names = declareTopics(NAMES).map(({ name }) => name);
  const facts = await inspectKafka(kafka, names, processUsers(NAMES), config.prefix);
  const found = facts.topics.get(TOPICS.raw)?.partitions;
  const partitions = isLocalPartitions && found !== undefined ? found : config.eventPartitions;
  const mechanisms = await unlessRefused(scramMechanisms(kafka, USERS));
  return [
    ...kafkaChecks(facts, {
      declared: declareTopics(NAMES, { ...config, eventPartitions: partitions }),
      eventPartitions: isLocalPartitions ? null : partitions,
      copies: config.replicationFactor,
    }),
    ...passwordsChecks('kafka', mechanisms && new Map([...mechanisms].map(([user, all]) => [user, all.length]))),
  ];
}

/** Who manages users may see their passwords' number; nobody else need. */
const unlessRefused = <T>(answer: Promise<T>): Promise<T | null> => answer.catch(() => null);

const OVERCOMMIT = '/proc/sys/vm/overcommit_memory';

async function lookAtRedis({ redisUrl: url, redisCluster }: RedisParts, nowMs: () => number): Promise<CheckResult[]> {
  const redis = createRedis(url, silent, redisCluster);
  try {
    // Rejects with the first error, as of a wrong password.
    await once(redis, 'ready');
    const isHere = process.platform === 'linux' && isLoopback(readRedisAddress(url).nodes[0]?.host ?? '');
    const overcommit = isHere ? Number(readFileSync(OVERCOMMIT, 'utf8')) : null;
    const facts = await Promise.all(nodesOf(redis, 'master').map((node) => inspectRedis(node, nowMs)));
    const [first = [], ...others] = facts.map((one) => redisChecks(one, overcommit, redis.isCluster));
    // Of the others what is wrong: what is well of all need not be said of each.
    const own = readRedisAddress(url).username ?? [];
    const counts = await unlessRefused(redisPasswords(nodesOf(redis, 'master'), USERS.concat(own)));
    return [...[...first, ...others.flat().filter(({ state }) => state !== 'ok')], ...passwordsChecks('redis', counts)];
  } finally {
    redis.disconnect();
  }
}

/** Those that have passwords, with whom the environment names besides. */
function clickhouseUsers(given: Environment): string[] {
  const urls = ['CLICKHOUSE_URL', 'CONTROL_SQL_URL', 'CONTROL_ANALYSTS_URL'].map((variable) => given[variable] ?? '');
  const named = urls.filter(isClickhouseAddress).map((url) => readClickhouseLogin(url).username);
  return [...USERS, SQL_API_USER, ...named];
}

async function lookAtClickhouse(
  url: string,
  cluster: Cluster | null,
  users: readonly string[],
  nowMs: () => number,
): Promise<CheckResult[]> {
  const warehouse = createWarehouse(url);
  try {
    const facts = await inspectClickhouse(warehouse, cluster, nowMs);
    const counts = await unlessRefused(clickhousePasswords(warehouse, cluster, users));
    return [...clickhouseChecks(facts), ...passwordsChecks('clickhouse', counts)];
  } finally {
    await warehouse.close();
  }
}

const DEFAULT_PORTS: Record<string, number> = { 'https:': 443, 'rediss:': 6379 };

interface Encrypted {
  kafka: KafkaConfig | null;
  urls: Readonly<Record<string, string | null>>;
}

/** A section for each server that is spoken to with TLS, and one for the file of Kafka's authority. */
function certificateSections({ kafka, urls }: Encrypted, nowMs: () => number): Section[] {
  const caFile = kafka?.tls === true ? kafka.tlsCaFile : null;
  const ofUrls = Object.entries(urls).flatMap(([part, text]) => {
    const { protocol = '', hostname = '', port = '' } = URL.parse(text ?? '') ?? {};
    const usual = DEFAULT_PORTS[protocol];
    return usual === undefined ? [] : [{ part, host: hostname, port: Number(port || usual), ca: null }];
  });
  const ofKafka = (kafka?.tls === true ? kafka.brokers : []).map((address) => ({
    ...{ part: 'kafka', host: hostOf(address), port: Number(address.split(':').at(-1)), ca: caFile },
  }));
  return [
    ...(caFile === null
      ? []
      : [
          {
            ...{ part: 'kafka.ca_file', name: 'KAFKA_TLS_CA_FILE' },
            look: async () => [
              certificateCheck('kafka.ca_file', { validToMs: firstEndMs(caFile), untrusted: null }, nowMs()),
            ],
          },
        ]),
    ...[...ofKafka, ...ofUrls].map(({ part, host, port, ca }) => ({
      ...{ part: `${part}.certificate`, name: `The certificate of ${host}` },
      async look() {
        const facts = await readCertificate(host, port, ca === null ? null : readFileSync(ca, 'utf8'));
        return [certificateCheck(`${part}.certificate`, facts, nowMs())];
      },
    })),
  ];
}
