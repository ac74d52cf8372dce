import { createBinder, type Statement } from '#pipelines/query/statement.ts';

/** What the outcomes of one site at one destination come to, as ClickHouse counts them. Times in milliseconds since 1970 UTC. */
export interface HealthRow {
  site_id: string;
  destination: string;
  attempts: number;
  delivered: number;
  diverted: number;
  paused: number;
  dead: number;
  /** Events left out, by reason. */
  skipped: Record<string, number>;
  /** Of the newest attempt that was no skip; empty where there was none. */
  latest: string;
  latest_reason: string;
  delivered_at: number;
  failed_at: number;
  failed_reason: string;
  took_ms: readonly [p50: number, p99: number];
  age_ms: readonly [p50: number, p99: number];
}

/**
 * - delivering: the newest attempt brought the event there
 * - failing: it did not; the event waits on a lane, or is dead
 * - waits_for_settings: the platform does not take the credentials, or settings are missing
 * - idle: nothing was attempted
 */
export type HealthState = 'delivering' | 'failing' | 'waits_for_settings' | 'idle';

/** Reasons for which an event is paused that heal by themselves. */
const HEALS: ReadonlySet<string> = new Set(['breaker_open', 'throttled']);

export interface HealthQuestion {
  sinceMs: number;
  siteId: string | null;
  destination: string | null;
}

const TRIED = `outcome != 'skipped'`;
const FAILED = `outcome IN ('diverted', 'paused', 'dead')`;

/** Asks for the health of each destination and site of which anything was written since a time. */
export function healthStatement({ sinceMs, siteId, destination }: HealthQuestion): Statement {
  const { bind, statement } = createBinder();
  const conditions = [
    `attempted_at >= fromUnixTimestamp64Milli(${bind(sinceMs, 'Int64')})`,
    ...(siteId === null ? [] : [`site_id = ${bind(siteId, 'String')}`]),
    ...(destination === null ? [] : [`destination = ${bind(destination, 'String')}`]),
  ];
  return statement(`
    SELECT site_id, destination,
      countIf(outcome IN ('delivered', 'diverted', 'dead')) AS attempts,
      countIf(outcome = 'delivered') AS delivered,
      countIf(outcome = 'diverted') AS diverted,
      countIf(outcome = 'paused') AS paused,
      countIf(outcome = 'dead') AS dead,
      sumMapIf(map(toString(reason), toUInt64(1)), outcome = 'skipped') AS skipped,
      toString(argMaxIf(outcome, attempted_at, ${TRIED})) AS latest,
      toString(argMaxIf(reason, attempted_at, ${TRIED})) AS latest_reason,
      toUnixTimestamp64Milli(maxIf(attempted_at, outcome = 'delivered')) AS delivered_at,
      toUnixTimestamp64Milli(maxIf(attempted_at, ${FAILED})) AS failed_at,
      toString(argMaxIf(reason, attempted_at, ${FAILED})) AS failed_reason,
      arrayMap(x -> if(isNaN(x), 0, round(x)), quantilesIf(0.5, 0.99)(took_ms, took_ms > 0)) AS took_ms,
      arrayMap(x -> if(isNaN(x), 0, round(x)), quantilesIf(0.5, 0.99)(
        toUnixTimestamp64Milli(attempted_at) - toUnixTimestamp64Milli(received_at), outcome = 'delivered')) AS age_ms
    FROM delivery_outcomes
    WHERE ${conditions.join(' AND ')}
    GROUP BY site_id, destination
    ORDER BY destination, site_id`);
}

export function healthState({ latest, latest_reason }: Pick<HealthRow, 'latest' | 'latest_reason'>): HealthState {
  if (latest === '') return 'idle';
  if (latest === 'delivered') return 'delivering';
  return latest === 'paused' && !HEALS.has(latest_reason) ? 'waits_for_settings' : 'failing';
}
