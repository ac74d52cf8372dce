import { ConfigError, type Environment, flag, integer, list, text } from './config.ts';

const HOUR_MS = 3_600_000;

export interface DedupConfig {
  /** How long an event id is remembered at least. */
  claimWindowMs: number;
  /** Base64url characters that choose a claim's bucket; 3 are right up to about 70 million claims a period. */
  claimBucketChars: number;
}

export function dedupConfig(env: Environment): DedupConfig {
  return {
    claimWindowMs: integer(env, 'DEDUP_WINDOW_HOURS', 192, 1, 24 * 90) * HOUR_MS,
    claimBucketChars: integer(env, 'DEDUP_BUCKET_CHARS', 3, 1, 5),
  };
}

export interface WarehouseConfig {
  blockRowsMax: number;
  blockBytesMax: number;
  blockPaceMs: number;
  /** Days that events, with their roll-up, and outcomes and inventory are kept; 0: for ever; null: left as it is. */
  eventDays: number | null;
  outcomeDays: number | null;
  /** Hour in UTC at which merged persons are written into the rows. */
  squashHour: number;
}

const DAYS_MAX = 36_500;

export function warehouseConfig(env: Environment): WarehouseConfig {
  return {
    blockRowsMax: integer(env, 'WAREHOUSE_BLOCK_ROWS', 100_000, 1, 1_000_000),
    blockBytesMax: integer(env, 'WAREHOUSE_BLOCK_MIB', 64, 1, 128) * 1024 * 1024,
    blockPaceMs: integer(env, 'WAREHOUSE_BLOCK_PACE_MS', 1_050, 50, 60_000),
    eventDays: env['WAREHOUSE_EVENT_DAYS'] === undefined ? null : integer(env, 'WAREHOUSE_EVENT_DAYS', 0, 0, DAYS_MAX),
    outcomeDays:
      env['WAREHOUSE_OUTCOME_DAYS'] === undefined ? null : integer(env, 'WAREHOUSE_OUTCOME_DAYS', 0, 0, DAYS_MAX),
    squashHour: integer(env, 'WAREHOUSE_SQUASH_HOUR', 3, 0, 23),
  };
}

export interface DeliveryConfig {
  /** The destination this process delivers to. */
  destination: string;
  /** Platform address of each destination that has another than its own, by name. */
  baseUrl: string | null;
  /** Whether webhook URLs may be http or point at loopback: for local development only. */
  allowLoopback: boolean;
}

export function deliveryConfig(env: Environment): DeliveryConfig {
  const destination = text(env, 'DELIVERY_DESTINATION');
  return {
    destination,
    baseUrl: env[`DELIVERY_${destination.toUpperCase()}_BASE_URL`] ?? null,
    allowLoopback: flag(env, 'EGRESS_ALLOW_LOOPBACK', false),
  };
}

export interface EdgeConfig {
  host: string;
  port: number;
  trustedProxies: string[];
  /** Longest an answer waits for Kafka. */
  acknowledgeMs: number;
  /** Bytes waiting for Kafka at the most; more are refused with 503. */
  queuedBytesMax: number;
  /** Requests with a body open at a time; more are refused with 503. */
  openRequestsMax: number;
  /** Bytes of request bodies held at a time; more are refused with 503. */
  openBytesMax: number;
  /** Requests in 10 s; 0: no limit. */
  requestsPerIp: number;
  requestsPerKey: number;
  /** Of an address, whose body was looked through for a key and had no valid one. */
  requestsWithoutKey: number;
  /** Addresses and ranges that the limit per address does not count. */
  ipExempt: string[];
  /** After how long without a word of it an edge counts as dead. */
  leaseMs: number;
  requestErrorsMax: number;
}

export function edgeConfig(env: Environment): EdgeConfig {
  return {
    host: text(env, 'EDGE_HOST', '127.0.0.1'),
    port: integer(env, 'EDGE_PORT', 8080, 0, 65_535),
    trustedProxies: list(env, 'TRUSTED_PROXIES', []),
    acknowledgeMs: integer(env, 'EDGE_ACKNOWLEDGE_MS', 5_000, 100, 60_000),
    queuedBytesMax: integer(env, 'EDGE_QUEUED_BYTES', 64 * 1024 * 1024, 1024 * 1024),
    openRequestsMax: integer(env, 'EDGE_OPEN_REQUESTS', 10_000, 1),
    openBytesMax: integer(env, 'EDGE_OPEN_BYTES', 128 * 1024 * 1024, 8 * 1024 * 1024),
    requestsPerIp: integer(env, 'RATE_LIMIT_IP', 200),
    requestsPerKey: integer(env, 'RATE_LIMIT_KEY', 1_000),
    requestsWithoutKey: integer(env, 'RATE_LIMIT_WITHOUT_KEY', 50),
    ipExempt: list(env, 'RATE_LIMIT_IP_EXEMPT', []),
    leaseMs: integer(env, 'EDGE_LEASE_MS', 30_000, 5_000, 600_000),
    requestErrorsMax: requestErrorsMax(env),
  };
}

export interface ControlConfig {
  host: string;
  port: number;
  /** Keys that seal secrets, as SECRETS_KEYS has them. */
  secretsKeys: string;
  /** SHA-256 in hex of a token that is put on the topic where it is not there yet; null for none. */
  firstToken: { hash: string; label: string } | null;
  /** What delivery allows, so that an address it would refuse is refused when it is saved. */
  allowLoopback: boolean;
  requestErrorsMax: number;
}

export function controlConfig(env: Environment): ControlConfig {
  const hash = text(env, 'CONTROL_FIRST_TOKEN_SHA256', 'none');
  if (hash !== 'none' && !/^[0-9a-f]{64}$/.test(hash)) {
    throw new ConfigError('CONTROL_FIRST_TOKEN_SHA256 must be a SHA-256 in lower-case hex');
  }
  return {
    host: text(env, 'CONTROL_HOST', '127.0.0.1'),
    port: integer(env, 'CONTROL_PORT', 8090, 0, 65_535),
    secretsKeys: text(env, 'SECRETS_KEYS'),
    firstToken: hash === 'none' ? null : { hash, label: text(env, 'CONTROL_FIRST_TOKEN_LABEL', 'first') },
    allowLoopback: flag(env, 'EGRESS_ALLOW_LOOPBACK', false),
    requestErrorsMax: requestErrorsMax(env),
  };
}

/** Unknown errors inside requests, with no success between them, after which the process is started anew; 0: never. */
function requestErrorsMax(env: Environment): number {
  return integer(env, 'REQUEST_ERRORS_MAX', 100);
}
