import { type Environment, flag, integer, list, text } from './config.ts';

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
  blockAgeMaxMs: number;
}

export function warehouseConfig(env: Environment): WarehouseConfig {
  return {
    blockRowsMax: integer(env, 'WAREHOUSE_BLOCK_ROWS', 100_000, 1, 1_000_000),
    blockAgeMaxMs: integer(env, 'WAREHOUSE_BLOCK_AGE_MS', 1_000, 50, 60_000),
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
}

export function edgeConfig(env: Environment): EdgeConfig {
  return {
    host: text(env, 'EDGE_HOST', '127.0.0.1'),
    port: integer(env, 'EDGE_PORT', 8080, 0, 65_535),
    trustedProxies: list(env, 'TRUSTED_PROXIES', []),
    acknowledgeMs: integer(env, 'EDGE_ACKNOWLEDGE_MS', 5_000, 100, 60_000),
    queuedBytesMax: integer(env, 'EDGE_QUEUED_BYTES', 64 * 1024 * 1024, 1024 * 1024),
  };
}
