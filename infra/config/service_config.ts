import { type Environment, flag, integer, list, secret, text } from './config.ts';

/** Where the real parts are and how each process reaches them. */
export interface PartsConfig {
  kafka: KafkaConfig;
  registryUrl: string;
  redisUrl: string;
  redisCluster: boolean;
  clickhouseUrl: string;
  /** The cluster on which tables are made and altered; null for a server alone. */
  clickhouseCluster: string | null;
}

export interface KafkaConfig {
  brokers: string[];
  tls: boolean;
  tlsCaFile: string | null;
  sasl: { mechanism: 'plain' | 'scram-sha-256' | 'scram-sha-512'; username: string; password: string } | null;
  /** Partitions of each events topic. */
  eventPartitions: number;
  /** Event partitions that one dedup or identity process has together, and passes on in one transaction. */
  partitionsTogether: number;
  replicationFactor: number;
  sessionTimeoutMs: number;
  /** Longest that a transaction, a produce request, an insert or a commit may take before the process ends. */
  watchdogMs: number;
  /** Put before group and transactional ids, so that several installations may share a cluster. */
  prefix: string;
}

export interface ProcessConfig {
  parts: PartsConfig;
  logLevel: string;
  /** Address of the metrics and health server. */
  metricsHost: string;
  /** 0: any free port, which the log names. */
  metricsPort: number;
}

export function processConfig(env: Environment): ProcessConfig {
  return {
    parts: partsConfig(env),
    logLevel: text(env, 'LOG_LEVEL', 'info'),
    metricsHost: text(env, 'METRICS_HOST', '127.0.0.1'),
    metricsPort: integer(env, 'METRICS_PORT', 0, 0, 65_535),
  };
}

export function partsConfig(env: Environment): PartsConfig {
  return {
    kafka: kafkaConfig(env),
    registryUrl: text(env, 'SCHEMA_REGISTRY_URL'),
    redisUrl: text(env, 'REDIS_URL'),
    redisCluster: flag(env, 'REDIS_CLUSTER', false),
    clickhouseUrl: text(env, 'CLICKHOUSE_URL'),
    clickhouseCluster: text(env, 'CLICKHOUSE_CLUSTER', '') || null,
  };
}

function kafkaConfig(env: Environment): KafkaConfig {
  return {
    brokers: list(env, 'KAFKA_BROKERS', [text(env, 'KAFKA_BROKERS')]),
    tls: flag(env, 'KAFKA_TLS', false),
    tlsCaFile: env['KAFKA_TLS_CA_FILE'] ?? null,
    sasl: saslConfig(env),
    eventPartitions: integer(env, 'EVENT_PARTITIONS', 12, 1, 10_000),
    partitionsTogether: integer(env, 'EVENT_PARTITIONS_TOGETHER', 4, 1, 6),
    replicationFactor: integer(env, 'KAFKA_REPLICATION_FACTOR', 1, 1, 10),
    sessionTimeoutMs: integer(env, 'KAFKA_SESSION_TIMEOUT_MS', 10_000, 6_000, 300_000),
    watchdogMs: integer(env, 'KAFKA_WATCHDOG_MS', 300_000, 10_000, 3_600_000),
    prefix: text(env, 'KAFKA_GROUP_PREFIX', 'svc'),
  };
}

function saslConfig(env: Environment): KafkaConfig['sasl'] {
  const mechanism = text(env, 'KAFKA_SASL_MECHANISM', 'none').toLowerCase();
  if (mechanism === 'none') return null;
  if (mechanism !== 'plain' && mechanism !== 'scram-sha-256' && mechanism !== 'scram-sha-512') {
    throw new Error('KAFKA_SASL_MECHANISM must be plain, scram-sha-256 or scram-sha-512');
  }
  return { mechanism, username: text(env, 'KAFKA_SASL_USERNAME'), password: text(env, 'KAFKA_SASL_PASSWORD') };
}

/** Secret that keys the HMAC of identity nodes and of distinct ids that are an e-mail or phone. */
export function identitySecret(env: Environment): Buffer {
  return secret(env, 'IDENTITY_SECRET', 32);
}
