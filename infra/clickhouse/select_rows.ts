import { ClickHouseError, type ClickHouseSettings } from '@clickhouse/client';
import { readError, type Warehouse } from './client.ts';
import type { Statement } from './queries/statement.ts';
import { settingsOf, type Workload, workloadOf } from './workload.ts';

/** Limits of one query; exceeding any of them ends it. */
export interface QueryLimits {
  seconds: number;
  memoryBytes: number;
  resultRows: number;
}

/** Limits of a query of the control service. */
export const QUERY_LIMITS: QueryLimits = { seconds: 20, memoryBytes: 4 * 1024 ** 3, resultRows: 100_000 };

/** Added to the time limit of a query for the network, so that the server's own limit ends it first. */
const ANSWER_MS_MAX = 5_000;

const STATEMENT_BYTES_MAX = 8 * 1024 ** 2;

/** The query exceeded one of its limits. */
export class QueryTooHeavyError extends Error {
  readonly code = 'query_too_heavy';
}

/** The query was ended by somebody, or whoever asked is gone. */
export class QueryCancelledError extends Error {
  readonly code = 'query_cancelled';
}

/** A pattern of the query is no regular expression. */
export class QueryPatternError extends Error {
  readonly code = 'query_pattern_invalid';
}

/** CANNOT_COMPILE_REGEXP. The server's message has the pattern in it: left out. */
const PATTERN_INVALID = '427';

/**
 * Errors of time, rows, bytes and memory, and of a statement's own check (throwIf): TIMEOUT_EXCEEDED, TOO_MANY_ROWS,
 * TOO_SLOW, TOO_DEEP_AST, TOO_BIG_AST, MEMORY_LIMIT_EXCEEDED, TOO_MANY_BYTES, FUNCTION_THROW_IF_VALUE_IS_NON_ZERO, TOO_MANY_ROWS_OR_BYTES.
 */
const TOO_HEAVY = new Set('158 159 160 167 168 241 307 396'.split(' '));
const THROWN = '395';
/** What statements of ours say in their own check; whoever writes SQL may throw as well. */
const ACTOR_TOO_LARGE = 'actor_too_large';

/** QUERY_WAS_CANCELLED, QUERY_WAS_CANCELLED_BY_CLIENT. */
const CANCELLED = new Set(['394', '735']);

/** Whether a query was ended by somebody. */
export const isCancelled = ({ code }: ClickHouseError): boolean => CANCELLED.has(code);

/** Whether a query was ended because it exceeded one of its limits. */
export const isTooHeavy = ({ code, message }: ClickHouseError): boolean =>
  TOO_HEAVY.has(code) || (code === THROWN && message.includes(ACTOR_TOO_LARGE));

/** Settings of a query that only reads. */
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
    // Where a row lies is the same for all of a query (queries/repeats.ts).
    enable_shared_storage_snapshot_in_query: 1,
    // Otherwise an error in the middle of the rows would look like a row.
    wait_end_of_query: 1,
    // Nobody waits any more for what a connection that is gone had asked.
    cancel_http_readonly_queries_on_client_close: 1,
  };
}

/** How a query runs, beside its limits. */
export interface RunAs {
  /** Its id in ClickHouse. */
  queryId?: string;
  /** Ends it. */
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
    throw failureOf(error, signal);
  }
}

function failureOf(error: unknown, signal: AbortSignal | undefined): Error {
  if (signal?.aborted === true) return new QueryCancelledError();
  if (!(error instanceof ClickHouseError)) return readError(error);
  if (isCancelled(error)) return new QueryCancelledError();
  if (isTooHeavy(error)) return new QueryTooHeavyError(error.type ?? '');
  return error.code === PATTERN_INVALID ? new QueryPatternError() : readError(error);
}
