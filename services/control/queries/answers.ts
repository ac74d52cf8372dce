// Answers to queries: let through to ClickHouse in turn, shared by equal queries, cached for a while, and refused by code.
import { WarehouseError } from '#infra/clickhouse/client.ts';
import type { WriteParquet } from '#infra/clickhouse/parquet.ts';
import type { QueryCaller } from '#infra/clickhouse/queries/running_queries.ts';
import { QueryCancelledError, QueryPatternError, QueryTooHeavyError } from '#infra/clickhouse/queries/select_rows.ts';
import { type RunSql, SqlBusyError, SqlRefusedError } from '#infra/clickhouse/queries/sql_query.ts';
import { createFairGate, GateBusyError } from '#infra/concurrency/gates.ts';
import type { SharedAnswer, SharedQueryCache } from '#infra/redis/query_cache.ts';
import { readSqlRows, sqlTable } from '#pipelines/analytics/answer_table.ts';
import { problem } from '#pipelines/settings/problems.ts';
import type { ControlErrorCode } from '../errors.ts';
import type { Answered, QueryAnswers, QueryRequest, SqlRequest } from '../route.ts';
import { asCsv, asJson, type Format, PARQUET, type Sent, type Written, writeAnswer } from './formats.ts';

/**
 * Runs a statement in ClickHouse, until the caller's signal ends it.
 * @throws QueryTooHeavyError, QueryPatternError, QueryCancelledError, QueryBusyError, WarehouseError
 */
export type RunQuery = (
  statement: QueryRequest['statement'],
  query: Pick<QueryRequest, 'siteId' | 'about' | 'reads'>,
  caller: QueryCaller,
) => Promise<unknown[]>;

/** A query that runs or was answered, for whoever asks the same meanwhile or soon after. */
interface CacheEntry {
  startedAtMs: number;
  answered: Promise<Answered>;
  /** How many wait for it. */
  waiting: number;
  /** Whether nothing of it runs any more. */
  isOver: boolean;
  /** Ends it. */
  stop: AbortController;
}

const CACHE_SIZE = 500;
const REFUSED_MS = 1_000;

/**
 * @param onFailure Hears of what ClickHouse did not answer.
 * @param shared By which processes share answers; null: each has its own.
 */
export function createQueryAnswers(
  run: RunQuery,
  nowMs: () => number,
  onFailure: (error: unknown) => void,
  writeParquet: WriteParquet,
  answerSql: SqlAnswers,
  shared: SharedQueryCache | null = null,
): QueryAnswers {
  /** In the order in which they were asked. */
  const cache = new Map<string, CacheEntry>();

  function forget(name: string, entry: CacheEntry): void {
    if (cache.get(name) === entry) cache.delete(name);
  }

  async function runNow(query: QueryRequest, caller: QueryCaller): Promise<Answered> {
    try {
      const startedAtMs = nowMs();
      const rows = await run(query.statement, query, caller);
      return { ok: true, body: { ...query.answer(rows), as_of: startedAtMs } };
    } catch (error) {
      if (caller.signal.aborted) return { ok: false, code: 'query_cancelled' };
      return { ok: false, code: refusalOf(error, onFailure) };
    }
  }

  function begin(name: string, query: QueryRequest, label: string): CacheEntry {
    const stop = new AbortController();
    const { signal } = stop;
    const { cacheTtlMs, isShared } = query;
    const start = (): Promise<Answered> => runNow(query, { label, signal });
    const answered =
      shared !== null && isShared && cacheTtlMs > 0 ? singleFlight(shared, name, cacheTtlMs, signal, start) : start();
    const entry = { startedAtMs: nowMs(), answered, waiting: 0, isOver: false, stop };
    cache.delete(name);
    if (query.isKept !== false) cache.set(name, entry);
    for (const oldest of [...cache.keys()].slice(0, -CACHE_SIZE)) cache.delete(oldest);
    return entry;
  }

  async function answer(query: QueryRequest, caller: QueryCaller): Promise<Answered> {
    const name = JSON.stringify([query.asked, query.statement]);
    const before = cache.get(name);
    // The time of day may be set back: an answer from ahead is no fresh one.
    const isFresh = before !== undefined && Math.abs(nowMs() - before.startedAtMs) < query.cacheTtlMs;
    const entry = isFresh ? before : begin(name, query, caller.label);
    return wait(entry, caller.signal, () => forget(name, entry));
  }

  return {
    answer,
    async write(query, format, caller) {
      if (query.kind === 'sql') return answerSql(query, format, caller);
      const answered = await answer(query, caller);
      if (!answered.ok) return answered;
      try {
        return { ok: true, ...(await writeAnswer(answered.body, format, writeParquet)) };
      } catch (error) {
        return { ok: false, code: refusalOf(error, onFailure) };
      }
    },
  };
}

/** Whoever is gone waits no more, and a query that nobody waits for is ended. */
async function wait(entry: CacheEntry, signal: AbortSignal, forget: () => void): Promise<Answered> {
  const leave = (): void => {
    entry.waiting--;
    if (entry.waiting > 0 || entry.isOver) return;
    entry.stop.abort();
    forget();
  };
  entry.waiting++;
  if (signal.aborted) leave();
  else signal.addEventListener('abort', leave, { once: true });
  try {
    const answered = await entry.answered;
    if (!answered.ok) forget();
    // Another process may have asked some time ago.
    else entry.startedAtMs = Math.min(entry.startedAtMs, (answered.body as { as_of: number }).as_of);
    return answered;
  } catch (error) {
    // Else whoever asks the same would be told of a fault that may have passed, for as long as an answer is cached.
    forget();
    throw error;
  } finally {
    entry.isOver = true;
    signal.removeEventListener('abort', leave);
    if (!signal.aborted) entry.waiting--;
  }
}

/** What another process has answered, or else what is answered here and handed to the others. */
async function singleFlight(
  shared: SharedQueryCache,
  name: string,
  cacheTtlMs: number,
  signal: AbortSignal,
  run: () => Promise<Answered>,
): Promise<Answered> {
  const found = await shared.find(name, signal);
  if (found !== null) return JSON.parse(found) as Answered;
  let answered: Answered | null = null;
  try {
    answered = await run();
    return answered;
  } finally {
    await shared.done(name, answered === null ? null : sharedOf(answered, cacheTtlMs));
  }
}

/** Those who wait meanwhile are told too that it is too much, instead of asking one after the other. */
function sharedOf(answered: Answered, cacheTtlMs: number): SharedAnswer | null {
  if (answered.ok) return { text: JSON.stringify(answered), cacheTtlMs };
  return answered.code === 'query_too_heavy' ? { text: JSON.stringify(answered), cacheTtlMs: REFUSED_MS } : null;
}

/** The code of a failure of ClickHouse. @throws what is no failure of ClickHouse */
function refusalOf(error: unknown, onFailure: (error: unknown) => void): ControlErrorCode {
  const code = codeOf(error);
  if (code === null) throw error;
  if (!(error instanceof QueryCancelledError)) onFailure(error);
  return code;
}

function codeOf(error: unknown): ControlErrorCode | null {
  if (error instanceof QueryTooHeavyError) return 'query_too_heavy';
  if (error instanceof QueryPatternError) return 'query_pattern_invalid';
  if (error instanceof QueryCancelledError || error instanceof QueryBusyError) return error.code;
  if (!(error instanceof WarehouseError)) return null;
  return error.code === 'warehouse_unavailable' ? 'query_unavailable' : 'internal';
}

/** Answers what analysts write in SQL. */
type SqlAnswers = (query: SqlRequest, format: Format, caller: QueryCaller) => Promise<Sent>;

/** Queries of one site at once, so that no site takes all that ClickHouse gives to SQL. */
const SQL_AT_ONCE = 2;

/**
 * @param run Null: there is no user of ClickHouse to run it as.
 * @param onFailure Hears of what ClickHouse did not answer, but not of what it refused: that quotes the analyst.
 */
export function createSqlAnswers(
  run: RunSql | null,
  nowMs: () => number,
  onFailure: (error: unknown) => void,
): SqlAnswers {
  const running = new Map<string, number>();
  return async (query, format, caller) => {
    if (run === null) return { ok: false, code: 'sql_not_set_up' };
    const { siteId } = query;
    const now = running.get(siteId) ?? 0;
    if (now >= SQL_AT_ONCE) return { ok: false, code: 'query_busy' };
    running.set(siteId, now + 1);
    try {
      return { ok: true, ...(await writtenSql(run, query, format, caller, nowMs())) };
    } catch (error) {
      return sqlRefusal(error, onFailure);
    } finally {
      const left = (running.get(siteId) ?? 1) - 1;
      if (left === 0) running.delete(siteId);
      else running.set(siteId, left);
    }
  };
}

async function writtenSql(
  run: RunSql,
  { siteId, sql }: SqlRequest,
  format: Format,
  caller: QueryCaller,
  nowMs: number,
): Promise<Written> {
  if (format === 'parquet') {
    return { contentType: PARQUET, body: await run(siteId, sql, 'Parquet', caller), rows: null };
  }
  const answer = readSqlRows((await run(siteId, sql, 'JSONCompact', caller)).toString('utf8'));
  const rows = answer.rows.length;
  return format === 'csv' ? asCsv(sqlTable(answer), rows) : asJson({ ...answer, as_of: nowMs }, rows);
}

function sqlRefusal(error: unknown, onFailure: (error: unknown) => void): Extract<Sent, { ok: false }> {
  if (error instanceof SqlRefusedError) {
    return { ok: false, code: error.code, problems: [problem(error.code, 'sql', error.message)] };
  }
  if (error instanceof SqlBusyError || error instanceof QueryBusyError) return { ok: false, code: error.code };
  return { ok: false, code: refusalOf(error, onFailure) };
}

/** No query may begin soon: as many run, or wait, as may. */
export class QueryBusyError extends Error {
  readonly code = 'query_busy';
}

/** Lets queries through to ClickHouse, and none of one site before those of others that have fewer. */
interface QueryGate {
  /** @throws QueryBusyError, QueryCancelledError where the signal ended the waiting, and what `run` throws */
  pass<T>(siteId: string, signal: AbortSignal, run: () => Promise<T>): Promise<T>;
}

export interface QueryGateLimits {
  atOnce: number;
  siteAtOnce: number;
}

/** A request has 30 seconds, of which a query may take 20. */
const WAITING_MS_MAX = 8_000;
/** Of one site; a board has up to 50 queries. */
const SITE_WAITING_MAX = 60;

export function createQueryGate({ atOnce, siteAtOnce }: QueryGateLimits, waitingMsMax = WAITING_MS_MAX): QueryGate {
  const gate = createFairGate({ atOnce, groupAtOnce: siteAtOnce, waitingMax: SITE_WAITING_MAX });
  return {
    async pass(siteId, signal, run) {
      const tooLong = AbortSignal.timeout(waitingMsMax);
      const leave = await gate.enter(siteId, AbortSignal.any([signal, tooLong])).catch((error: unknown) => {
        if (signal.aborted) throw new QueryCancelledError();
        throw error instanceof GateBusyError || tooLong.aborted ? new QueryBusyError() : error;
      });
      try {
        return await run();
      } finally {
        leave();
      }
    },
  };
}
