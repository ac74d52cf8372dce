import { ClickHouseError, type ClickHouseSettings } from '@clickhouse/client';
import { readError, type Warehouse } from './client.ts';
import type { Statement } from './queries/statement.ts';

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
const TOO_HEAVY = new Set('158 159 160 167 168 241 307 395 396'.split(' '));

/** Whether a query was ended because it exceeded one of its limits. */
export const isTooHeavy = ({ code }: ClickHouseError): boolean => TOO_HEAVY.has(code);

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
    // Otherwise an error in the middle of the rows would look like a row.
    wait_end_of_query: 1,
  };
}

/**
 * Rows of a SELECT, which can change nothing. @throws QueryTooHeavyError, QueryPatternError, WarehouseError
 */
export async function selectRows<Row>(
  warehouse: Warehouse,
  { sql, parameters }: Statement,
  limits: QueryLimits,
): Promise<Row[]> {
  try {
    const result = await warehouse.query({
      query: sql,
      query_params: parameters,
      format: 'JSONEachRow',
      clickhouse_settings: querySettings(limits),
      // A server that enforces its own limit has answered by then.
      abort_signal: AbortSignal.timeout(limits.seconds * 1000 + ANSWER_MS_MAX),
    });
    return await result.json<Row>();
  } catch (error) {
    if (error instanceof ClickHouseError && isTooHeavy(error)) throw new QueryTooHeavyError(error.type ?? '');
    if (error instanceof ClickHouseError && error.code === PATTERN_INVALID) throw new QueryPatternError();
    throw readError(error);
  }
}
