import { type StaticDecode, type TProperties, Type } from 'typebox';
import { isClickhouseAddress } from '#infra/clickhouse/servers.ts';
import { parseFailpoint } from '#infra/failpoint.ts';
import { readRedisAddress } from '#infra/redis/address.ts';
import { type IdentitySettings, openIdentityKey, parseKeyRing } from '#infra/secrets/seal.ts';
import {
  choice,
  type Environment,
  flag,
  HTTP_URL,
  integer,
  isBase64Of,
  isHostAndPort,
  list,
  listenHost,
  optionalText,
  orNull,
  readSettings,
  text,
} from './environment.ts';

const SASL = Type.Object({
  mechanism: choice('KAFKA_SASL_MECHANISM', ['none', 'plain', 'scram-sha-256', 'scram-sha-512'], {
    default: 'none',
    description: 'SASL mechanism for the brokers.',
  }),
  username: optionalText('KAFKA_SASL_USERNAME', { description: 'User name; required with a mechanism.' }),
  password: optionalText('KAFKA_SASL_PASSWORD', { description: 'Password; required with a mechanism.' }),
});

type Sasl = StaticDecode<typeof SASL>;

function needsNo(field: 'username' | 'password'): (sasl: Sasl) => boolean {
  return (sasl) => sasl.mechanism === 'none' || sasl[field] !== null;
}

const WHOLE_SASL = Type.Refine(
  Type.Refine(
    SASL,
    needsNo('username'),
    () => 'KAFKA_SASL_USERNAME is not set: it must be, as KAFKA_SASL_MECHANISM is set',
  ),
  needsNo('password'),
  () => 'KAFKA_SASL_PASSWORD is not set: it must be, as KAFKA_SASL_MECHANISM is set',
);

const KAFKA = Type.Object({
  brokers: list('KAFKA_BROKERS', {
    check: isHostAndPort,
    minItems: 1,
    allowed: 'host:port, several separated by commas',
    description: 'Bootstrap brokers.',
  }),
  tls: flag('KAFKA_TLS', { default: false, description: 'TLS to the brokers.' }),
  tlsCaFile: optionalText('KAFKA_TLS_CA_FILE', {
    allowed: 'the path of a PEM file',
    defaultText: "the system's authorities",
    description: "Authority of the brokers' certificates.",
  }),
  sasl: Type.Decode(WHOLE_SASL, ({ mechanism, username, password }) =>
    mechanism === 'none' ? null : { mechanism, username: username ?? '', password: password ?? '' },
  ),
  eventPartitions: integer('EVENT_PARTITIONS', {
    default: 12,
    range: [1, 10_000],
    startDefault: 'what the topics have, else `2`',
    description: 'Partitions of each events topic; the same for every process.',
  }),
  smallPartitions: integer('KAFKA_SMALL_TOPIC_PARTITIONS', {
    default: 2,
    range: [1, 1_000],
    description:
      'Partitions of topics that carry little, such as retries; chosen before they are provisioned, for good; the same for every process.',
  }),
  partitionGroupSize: integer('TRANSACTION_PARTITION_GROUP_SIZE', {
    default: 4,
    range: [1, 6],
    description: 'Event partitions in one transaction of dedup or identity; the same for every process.',
  }),
  replicationFactor: integer('KAFKA_REPLICATION_FACTOR', {
    default: 1,
    range: [1, 10],
    description: 'Of the topics that provisioning creates; from 3 on `min.insync.replicas` is 2.',
  }),
  auditDays: integer('AUDIT_DAYS', {
    default: 400,
    range: [1, 36_500],
    description: 'Days for which the topics `audit` and `audit.reads` keep entries.',
  }),
  sessionTimeoutMs: integer('KAFKA_SESSION_TIMEOUT_MS', {
    default: 10_000,
    range: [6_000, 300_000],
    description: 'Session timeout of consumers.',
  }),
  watchdogMs: integer('KAFKA_WATCHDOG_MS', {
    default: 300_000,
    range: [10_000, 3_600_000],
    description:
      'Longest transaction, commit, insert or produce request, or time without progress; then the process exits.',
  }),
  prefix: text('KAFKA_GROUP_PREFIX', {
    default: 'svc',
    description: 'Prefix of consumer groups and transactional ids.',
  }),
  topicPrefix: optionalText('KAFKA_TOPIC_PREFIX', {
    check: (value) => /^[\w.-]{1,100}$/.test(value),
    allowed: 'letters, digits, `.`, `_` and `-`',
    defaultText: 'none',
    description:
      'Before the names of topics, groups, transactional ids and subjects, on a cluster that others use as well, such as `shop.`; the same for every process.',
  }),
});

const REGISTRY = {
  registryUrl: text('SCHEMA_REGISTRY_URL', {
    ...HTTP_URL,
    description: "The schema registry's Confluent API, such as `http://127.0.0.1:8081/apis/ccompat/v7`.",
  }),
};

const REDIS = {
  redisUrl: text('REDIS_URL', {
    check: isRedisAddress,
    allowed: 'a redis://, rediss:// or redis+sentinel:// URL',
    description:
      '[Redis](operations.md#redis) with credentials; for edge, dedup, identity, quota, control, erasure and alerts.',
  }),
  redisCluster: flag('REDIS_CLUSTER', {
    default: false,
    description: 'REDIS_URL names one node of a Redis Cluster; several addresses are always one.',
  }),
};

const SECONDARY_REDIS = {
  redisSecondaryUrl: optionalText('REDIS_SECONDARY_URL', {
    check: isRedisAddress,
    allowed: 'as REDIS_URL',
    defaultText: 'REDIS_URL',
    description:
      'Another Redis, which may evict, for what senders can make grow; for edge, control, erasure and alerts.',
  }),
};

const CLICKHOUSE = {
  clickhouseUrl: text('CLICKHOUSE_URL', {
    check: isClickhouseAddress,
    allowed: 'an http or https URL, with one host and port or several separated by commas',
    description:
      '`http(s)://user:password@host:port,host:port/database`, which must exist; for warehouse, control, replay, erasure, alerts and provisioning.',
  }),
  clickhouseCluster: Type.Decode(
    Type.Object({
      name: optionalText('CLICKHOUSE_CLUSTER', {
        allowed: 'the name of a cluster',
        description: '[Cluster](operations.md#a-clickhouse-cluster) whose shards have the rows.',
      }),
      isReplicated: flag('CLICKHOUSE_REPLICATED', {
        default: true,
        description:
          'Its tables have replicas, by Keeper and the macros `shard` and `replica`; `false`: each shard is one server, and CLICKHOUSE_URL names all.',
      }),
    }),
    ({ name, isReplicated }) => (name === null ? null : { name, isReplicated }),
  ),
};

/** What every process reaches: the registry and Kafka. */
const FLOW_PARTS = { ...REGISTRY, kafka: KAFKA };

/** Where all the real parts are; a process reads of it what it uses. */
export const PARTS = Type.Object({ ...REGISTRY, ...REDIS, ...SECONDARY_REDIS, ...CLICKHOUSE, kafka: KAFKA });

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
const LOG_LEVEL = {
  defaultText: '`info`; provisioning: `warn`',
  description: 'Lowest level that is logged.',
};

/** By the names of OpenTelemetry's specification; its exporter reads further ones, such as OTEL_EXPORTER_OTLP_HEADERS. */
const TRACING = Type.Object({
  endpoint: optionalText('OTEL_EXPORTER_OTLP_ENDPOINT', {
    check: (value) => /^https?:\/\//.test(value) && URL.canParse(value),
    allowed: HTTP_URL.allowed,
    defaultText: 'none: no traces',
    description:
      'Collector that gets [traces](operations.md#traces) by OTLP over HTTP, as JSON, such as `http://127.0.0.1:4318`.',
  }),
  ratio: Type.Decode(
    text('OTEL_TRACES_SAMPLER_ARG', {
      check: (value) => /^(?:0?\.\d{1,9}|[01](?:\.0{0,9})?)$/.test(value),
      allowed: 'a number from 0 to 1',
      default: '0.01',
      description: 'Share of requests that are traced, for edge and control.',
    }),
    Number,
  ),
});

export const PROCESS = Type.Object({
  logLevel: choice('LOG_LEVEL', LOG_LEVELS, { ...LOG_LEVEL, default: 'info' }),
  metricsHost: listenHost('METRICS_HOST', 'Listening address of `/metrics` and `/ready`.'),
  metricsPort: integer('METRICS_PORT', {
    default: 0,
    maximum: 65_535,
    description:
      'Port of `/metrics` and `/ready`; `0`: any free one, which the log line `ready` names. `npm start` keeps its own.',
  }),
  tracing: TRACING,
});

/** What systemd gives a process that it watches. */
export const SYSTEMD = Type.Object({
  limitUs: orNull(
    integer('WATCHDOG_USEC', {
      minimum: 1_000,
      defaultText: 'none',
      description: 'By systemd: microseconds of silence after which it kills the process.',
    }),
  ),
  socket: optionalText('NOTIFY_SOCKET', {
    allowed: 'the path of a socket',
    defaultText: 'none',
    description: 'By systemd: where the process says that it lives.',
  }),
});

const FAILPOINT_SETTINGS = Type.Object({
  armed: optionalText('FAILPOINT', {
    check: (value) => parseFailpoint(value) !== null,
    allowed: 'NAME, NAME:n or NAME:n:stall, with a name of infra/failpoint.ts',
    description: 'Where the process kills itself, at the n-th pass (the first); with `:stall` it stops until SIGCONT.',
  }),
  allowed: flag('FAILPOINTS_ALLOWED', {
    default: false,
    description: 'Must be set with a failpoint.',
  }),
});

/** `FAILPOINT`, as `stage.after_send:3` or `stage.after_send:3:stall`; null where none is set. */
export const FAILPOINT = Type.Decode(
  Type.Refine(
    FAILPOINT_SETTINGS,
    ({ armed, allowed }) => armed === null || allowed,
    () => 'FAILPOINTS_ALLOWED must be true where FAILPOINT is set: a failpoint kills the process',
  ),
  ({ armed }) => (armed === null ? null : parseFailpoint(armed)),
);

const processWith = <Parts extends TProperties>(parts: Parts) =>
  Type.Object({ parts: Type.Object(parts), ...PROCESS.properties, systemd: SYSTEMD, failpoint: FAILPOINT });

/** The schemas of processes without settings of their own, by the parts that they use beside Kafka and the registry. */
export const FLOW_PROCESS = processWith(FLOW_PARTS);
export const REDIS_PROCESS = processWith({ ...FLOW_PARTS, ...REDIS });
export const BOTH_REDIS_PROCESS = processWith({ ...FLOW_PARTS, ...REDIS, ...SECONDARY_REDIS });
export const CLICKHOUSE_PROCESS = processWith({ ...FLOW_PARTS, ...CLICKHOUSE });
export const ANY_PROCESS = processWith(PARTS.properties);

const PROVISION = Type.Object({
  parts: Type.Object({ ...FLOW_PARTS, ...CLICKHOUSE }),
  logLevel: choice('LOG_LEVEL', LOG_LEVELS, { ...LOG_LEVEL, default: 'warn' }),
});

const IDENTITY_SECRET_BYTES_MIN = 32;

const IDENTITY_SETTINGS = Type.Object({
  secret: text('IDENTITY_SECRET', {
    check: isBase64Of(IDENTITY_SECRET_BYTES_MIN),
    allowed: `base64 of ${IDENTITY_SECRET_BYTES_MIN} bytes or more`,
    startDefault: "the data folder's `identity.secret`",
    description:
      'Seals `IDENTITY_KEY`, or is that key itself where none is set; for all but quota and alerts ([rotating it](operations.md#rotating-the-identity-secret)).',
  }),
  key: optionalText('IDENTITY_KEY', {
    allowed: 'as `svc identity rotate` shows it',
    defaultText: '`IDENTITY_SECRET` itself',
    description:
      'Key of the HMAC over identifiers, phone numbers and erased persons, sealed. Another key makes new people of known ones and lets events of erased ones pass.',
  }),
});

function identitySettings({ secret, key }: StaticDecode<typeof IDENTITY_SETTINGS>): IdentitySettings {
  return { secret: Buffer.from(secret, 'base64'), key };
}

/** What the environment says of it; null where it says nothing. */
export function identityOf(env: Environment): IdentitySettings | null {
  return env['IDENTITY_SECRET'] ? identitySettings(readSettings(IDENTITY_SETTINGS, env)) : null;
}

/** Secrets, of which each process reads those it needs. */
export const SECRETS = {
  secretsKeys: text('SECRETS_KEYS', {
    check: isKeyRing,
    allowed: 'id:base64 with 32 bytes each, several with different ids separated by commas',
    startDefault: "the data folder's `secrets.keys`",
    description:
      "Keys that seal destinations' secrets, addresses of alerts, password hashes and second factors; for control, delivery, erasure and alerts. The first seals, all open ([changing them](operations.md#changing-the-sealing-keys)).",
  }),
  identitySecret: Type.Decode(
    Type.Refine(
      IDENTITY_SETTINGS,
      (settings) => openIdentityKey(identitySettings(settings)) !== null,
      () => 'IDENTITY_KEY does not open with IDENTITY_SECRET: both must be of one rotation',
    ),
    (settings) => openIdentityKey(identitySettings(settings)) as Buffer,
  ),
  formerIdentitySecrets: Type.Decode(
    list('IDENTITY_FORMER_SECRETS', {
      check: isBase64Of(IDENTITY_SECRET_BYTES_MIN),
      allowed: `base64 of ${IDENTITY_SECRET_BYTES_MIN} bytes or more each, separated by commas`,
      default: [],
      description: 'Earlier values, for control: rows of that time are still found by phone number.',
    }),
    (each) => each.map((base64) => Buffer.from(base64, 'base64')),
  ),
};

const IDENTITY_KEY = Type.Object({ identitySecret: SECRETS.identitySecret });

/** The key that processes with this environment make ids of. */
export const identityKeyOf = (env: Environment): Buffer => readSettings(IDENTITY_KEY, env).identitySecret;

export const REPLAY_PROCESS = Type.Object({
  ...CLICKHOUSE_PROCESS.properties,
  identitySecret: SECRETS.identitySecret,
});

function isRedisAddress(value: string): boolean {
  try {
    readRedisAddress(value);
    return true;
  } catch {
    return false;
  }
}

function isKeyRing(value: string): boolean {
  try {
    parseKeyRing(value);
    return true;
  } catch {
    return false;
  }
}

export type PartsConfig = StaticDecode<typeof PARTS>;
export type KafkaConfig = StaticDecode<typeof KAFKA>;
/** What the configuration of every process has. */
export type ProcessConfig = StaticDecode<typeof FLOW_PROCESS>;
export type RedisParts = Pick<PartsConfig, 'redisUrl' | 'redisCluster'>;
export type SecondaryRedisParts = Pick<PartsConfig, 'redisSecondaryUrl'>;
export type ClickhouseParts = Pick<PartsConfig, 'clickhouseUrl' | 'clickhouseCluster'>;
export type ProvisionParts = Omit<PartsConfig, keyof RedisParts | keyof SecondaryRedisParts>;
export type QuotaConfig = StaticDecode<typeof REDIS_PROCESS>;
export type ReplayConfig = StaticDecode<typeof REPLAY_PROCESS>;

export const partsConfig = (env: Environment): PartsConfig => readSettings(PARTS, env);
export const quotaConfig = (env: Environment): QuotaConfig => readSettings(REDIS_PROCESS, env);
export const replayConfig = (env: Environment): ReplayConfig => readSettings(REPLAY_PROCESS, env);
export const provisionConfig = (env: Environment): StaticDecode<typeof PROVISION> => readSettings(PROVISION, env);
