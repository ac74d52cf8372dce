// Runs a query of analytics: its limits, its priority by estimated rows, and the errors it may end with.

import { ClickHouseError, type ClickHouseSettings } from '@clickhouse/client';
import type { Statement } from '#pipelines/analytics/sql/statement.ts';
import { readError, type Warehouse } from '../client.ts';
import { type Cluster, localTable } from '../cluster.ts';

type QueryLimits = typeof QUERY_LIMITS;

export const QUERY_LIMITS = { seconds: 20, memoryBytes: 4 * 1024 ** 3, resultRows: 100_000 };

/** Added to the time limit of a query for the network, so that the server's own limit ends it first. */
const ANSWER_MS_MAX = 5_000;

const STATEMENT_BYTES_MAX = 8 * 1024 ** 2;

export class QueryTooHeavyError extends Error {
  readonly code = 'query_too_heavy';
}

/** The query was ended by somebody, or whoever asked is gone. */
export class QueryCancelledError extends Error {
  readonly code = 'query_cancelled';
}

export class QueryPatternError extends Error {
  readonly code = 'query_pattern_invalid';
}

/** CANNOT_COMPILE_REGEXP. The server's message has the pattern in it: left out. */
const PATTERN_INVALID = '427';

/**
 * Errors of time, rows, bytes and memory, and of a statement's own check (throwIf): TIMEOUT_EXCEEDED, TOO_MANY_ROWS,
 * TOO_SLOW, TOO_DEEP_AST, TOO_BIG_AST, MEMORY_LIMIT_EXCEEDED, TOO_MANY_BYTES, FUNCTION_THROW_IF_VALUE_IS_NON_ZERO,
 * TOO_MANY_ROWS_OR_BYTES.
 */
const TOO_HEAVY = new Set('158 159 160 167 168 241 307 396'.split(' '));
const THROWN = '395';
/** What statements of ours say in their own check; whoever writes SQL may throw as well. */
const ACTOR_TOO_LARGE = 'actor_too_large';

/** QUERY_WAS_CANCELLED, QUERY_WAS_CANCELLED_BY_CLIENT. */
const CANCELLED = new Set(['394', '735']);

export const isCancelled = ({ code }: ClickHouseError): boolean => CANCELLED.has(code);

export const isTooHeavy = ({ code, message }: ClickHouseError): boolean =>
  TOO_HEAVY.has(code) || (code === THROWN && message.includes(ACTOR_TOO_LARGE));

export function querySettings(limits: QueryLimits): ClickHouseSettings {
  return {
    readonly: '2',
    max_execution_time: limits.seconds,
    timeout_before_checking_execution_speed: 0,
    max_memory_usage: String(limits.memoryBytes),
    // The text of a question with as many conditions as it may have: its values are not part of it.
    max_query_size: String(STATEMENT_BYTES_MAX),
    max_result_rows: String(limits.resultRows),
    result_overflow_mode: 'throw',
    output_format_json_quote_64bit_integers: 0,
    // Uses all cores for the work on each person after grouping, even if there are few persons.
    group_by_two_level_threshold: '5000',
    // Off, because deriving comparisons from others takes half of the time of analysing a funnel.
    optimize_and_compare_chain: 0,
    // Off, because each looks through all that a question is made of, for what none of them has.
    optimize_truncate_order_by_after_group_by_keys: 0,
    optimize_aggregators_of_group_by_keys: 0,
    optimize_redundant_functions_in_order_by: 0,
    optimize_limit_by_function_keys: 0,
    // Where a row lies is the same for all of a query (`pipelines/analytics/sql/event_rows.ts`).
    enable_shared_storage_snapshot_in_query: 1,
    // Otherwise an error in the middle of the rows would look like a row.
    wait_end_of_query: 1,
    // Nobody waits any more for what a connection that is gone had asked.
    cancel_http_readonly_queries_on_client_close: 1,
  };
}

interface RunAs {
  queryId?: string;
  signal?: AbortSignal;
  workload?: Workload;
}

/**
 * Rows of a SELECT, which can change nothing.
 * @throws QueryTooHeavyError, QueryCancelledError, QueryPatternError, WarehouseError
 */
export async function selectRows<Row>(
  warehouse: Warehouse,
  { sql, parameters }: Statement,
  limits: QueryLimits,
  { queryId, signal, workload = workloadOf(0) }: RunAs = {},
): Promise<Row[]> {
  // A server that enforces its own limit has answered by then.
  const late = AbortSignal.timeout(limits.seconds * 1000 + ANSWER_MS_MAX);
  try {
    const result = await warehouse.query({
      query: sql,
      query_params: parameters,
      format: 'JSONEachRow',
      clickhouse_settings: { ...querySettings(limits), ...settingsOf(workload) },
      abort_signal: signal === undefined ? late : AbortSignal.any([late, signal]),
      ...(queryId === undefined ? {} : { query_id: queryId }),
    });
    return await result.json<Row>();
  } catch (error) {
    if (signal?.aborted === true) throw new QueryCancelledError();
    if (!(error instanceof ClickHouseError)) throw readError(error);
    if (isCancelled(error)) throw new QueryCancelledError();
    if (isTooHeavy(error)) throw new QueryTooHeavyError(error.type ?? '');
    throw error.code === PATTERN_INVALID ? new QueryPatternError() : readError(error);
  }
}

/** Up to so many rows a query is a small one. */
const SMALL_ROWS = 1_000_000;
/** From one level to the next a query reads so many times the rows. */
const GROWTH = 4;
const LEVELS = 5;
/** Of the scheduler of the kernel; where ClickHouse lacks CAP_SYS_NICE it does nothing. */
const NICE_A_LEVEL = 4;
/** What a query has that gives way: it goes on for a moment after so long, so that none stands still for ever. */
const GIVING_WAY_MS = 200;

/** How much a query gives way to others that read less; the last level: what an analyst writes, of which nobody knows. */
type Level = number;
const ANY: Level = LEVELS - 1;

/** The level of a query by the rows that it reads; null: nobody knows. */
export function levelOf(rows: number | null): Level {
  if (rows === null) return Math.floor(ANY / 2);
  if (rows <= SMALL_ROWS) return 0;
  return Math.min(ANY, Math.ceil(Math.log(rows / SMALL_ROWS) / Math.log(GROWTH)));
}

/**
 * Settings by which a query gives way to others. ClickHouse holds up the reading of a query while one of a higher priority
 * runs, and the kernel gives its threads the time that others leave.
 */
export function workloadOf(level: Level) {
  return {
    priority: level + 1,
    low_priority_query_wait_time_ms: GIVING_WAY_MS,
    os_threads_nice_value_query: level * NICE_A_LEVEL,
  };
}

export type Workload = ReturnType<typeof workloadOf>;

export const SQL_WORKLOAD: Workload = workloadOf(ANY);

/** As the client takes them: a setting that it has no name for yet is sent as the others are. */
export const settingsOf = (workload: Workload): ClickHouseSettings =>
  Object.fromEntries(Object.entries(workload).map(([name, value]) => [name, String(value)]));

/** Two times in milliseconds since 1970 UTC; the second is not part of it. */
export interface Span {
  from: number;
  to: number;
}

/** About how many events a site has in a time; null where that is not to be had. */
type EstimateRows = (siteId: string, span: Span) => Promise<number | null>;

const DAY_MS = 86_400_000;
/** A site that grows does not change its order of magnitude sooner. */
const KEPT_MS = 300_000;
const CACHE_SIZE = 5_000;

/**
 * Estimates by the primary key, which ClickHouse has in memory: no row is read. Of a cluster one shard is looked at, which has
 * its part of every site.
 */
export function createRowEstimates(warehouse: Warehouse, cluster: Cluster | null, nowMs: () => number): EstimateRows {
  const kept = new Map<string, { atMs: number; rows: Promise<number | null> }>();
  const query = `SELECT sum(rows) AS found FROM (EXPLAIN ESTIMATE SELECT event FROM ${localTable('event_rows', cluster)}
    WHERE site_id = {site:String} AND timestamp >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND timestamp < fromUnixTimestamp64Milli({to:Int64}, 'UTC'))`;

  async function ask(site: string, { from, to }: Span): Promise<number | null> {
    try {
      const result = await warehouse.query({ query, query_params: { site, from, to }, format: 'JSONEachRow' });
      const [row] = await result.json<{ found: number }>();
      return Number(row?.found ?? 0);
    } catch {
      // The question itself will say what is wrong with ClickHouse.
      return null;
    }
  }

  return (siteId, { from, to }) => {
    const days = { from: Math.floor(from / DAY_MS) * DAY_MS, to: Math.ceil(to / DAY_MS) * DAY_MS };
    const name = `${siteId}/${days.from}/${days.to}`;
    const before = kept.get(name);
    if (before !== undefined && nowMs() - before.atMs < KEPT_MS) return before.rows;
    const rows = ask(siteId, days);
    kept.delete(name);
    kept.set(name, { atMs: nowMs(), rows });
    const [oldest] = kept.keys();
    if (kept.size > CACHE_SIZE && oldest !== undefined) kept.delete(oldest);
    return rows;
  };
}
