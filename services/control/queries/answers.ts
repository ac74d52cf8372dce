// Answers to queries: let through to ClickHouse in turn, shared by equal questions, kept for a while, and refused by
// code.
import { WarehouseError } from '#infra/clickhouse/client.ts';
import type { WriteParquet } from '#infra/clickhouse/parquet.ts';
import type { QueryCaller } from '#infra/clickhouse/running_queries.ts';
import { QueryCancelledError, QueryPatternError, QueryTooHeavyError } from '#infra/clickhouse/select_rows.ts';
import { type RunSql, SqlBusyError, SqlRefusedError } from '#infra/clickhouse/sql_query.ts';
import { createFairGate, GateBusyError } from '#infra/concurrency/gates.ts';
import type { SharedAnswer, SharedQueryCache } from '#infra/redis/query_cache.ts';
import { readSqlRows, sqlTable } from '#pipelines/analytics/sql_rows.ts';
import { problem } from '#pipelines/settings/problems.ts';
import type { ControlErrorCode } from '../errors.ts';
import type { Answered, QueryAnswers, Question, SqlQuestion } from '../route.ts';
import { asCsv, asJson, type Format, PARQUET, type Sent, type Written, writeAnswer } from './formats.ts';

type Asked = Extract<Question, { kind: 'ask' }>;

/**
 * Asks ClickHouse, until the asker's signal ends it.
 * @throws QueryTooHeavyError, QueryPatternError, QueryCancelledError, QueryBusyError, WarehouseError
 */
export type RunQuery = (
  statement: Asked['statement'],
  question: Pick<Asked, 'siteId' | 'about' | 'reads'>,
  asker: QueryCaller,
) => Promise<unknown[]>;

/** A question that was asked, for whoever asks the same meanwhile or soon after. */
interface Kept {
  askedAtMs: number;
  answered: Promise<Answered>;
  /** How many wait for it. */
  waiting: number;
  /** Whether nothing of it is under way any more. */
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
  ask: RunQuery,
  nowMs: () => number,
  onFailure: (error: unknown) => void,
  writeParquet: WriteParquet,
  answerSql: SqlAnswers,
  shared: SharedQueryCache | null = null,
): QueryAnswers {
  /** In the order in which they were asked. */
  const kept = new Map<string, Kept>();

  function forget(name: string, one: Kept): void {
    if (kept.get(name) === one) kept.delete(name);
  }

  function begin(name: string, question: Asked, label: string): Kept {
    const stop = new AbortController();
    const { signal } = stop;
    const askNow = (): Promise<Answered> => askClickhouse(ask, question, { label, signal }, nowMs(), onFailure);
    const isShared = shared !== null && question.isShared && question.cacheTtlMs > 0;
    const answered = isShared ? singleFlight(shared, name, question.cacheTtlMs, signal, askNow) : askNow();
    const one = { askedAtMs: nowMs(), answered, waiting: 0, isOver: false, stop };
    keep(kept, name, one);
    return one;
  }

  async function answer(question: Asked, asker: QueryCaller): Promise<Answered> {
    const name = JSON.stringify([question.asked, question.statement]);
    const before = kept.get(name);
    // The time of day may be set back: an answer from ahead is no fresh one.
    const isFresh = before !== undefined && Math.abs(nowMs() - before.askedAtMs) < question.cacheTtlMs;
    const one = isFresh ? before : begin(name, question, asker.label);
    return wait(one, asker.signal, () => forget(name, one));
  }

  return {
    answer,
    async write(question, format, asker) {
      if (question.kind === 'sql') return answerSql(question, format, asker);
      const answered = await answer(question, asker);
      if (!answered.ok) return answered;
      try {
        return { ok: true, ...(await writeAnswer(answered.body, format, writeParquet)) };
      } catch (error) {
        return { ok: false, code: refusalOf(error, onFailure) };
      }
    },
  };
}

/** Whoever is gone waits no more, and a question that nobody waits for is not asked on. */
async function wait(one: Kept, signal: AbortSignal, forget: () => void): Promise<Answered> {
  const leave = (): void => {
    one.waiting--;
    if (one.waiting > 0 || one.isOver) return;
    one.stop.abort();
    forget();
  };
  one.waiting++;
  if (signal.aborted) leave();
  else signal.addEventListener('abort', leave, { once: true });
  try {
    const answered = await one.answered;
    if (!answered.ok) forget();
    // Another process may have asked some time ago.
    else one.askedAtMs = Math.min(one.askedAtMs, (answered.body as { as_of: number }).as_of);
    return answered;
  } catch (error) {
    // Else whoever asks the same would be told of a fault that may have passed, for as long as an answer is kept.
    forget();
    throw error;
  } finally {
    one.isOver = true;
    signal.removeEventListener('abort', leave);
    if (!signal.aborted) one.waiting--;
  }
}

function keep(kept: Map<string, Kept>, name: string, one: Kept): void {
  kept.delete(name);
  kept.set(name, one);
  for (const oldest of kept.keys()) {
    if (kept.size <= CACHE_SIZE) break;
    kept.delete(oldest);
  }
}

/** What another process has answered, or else what is answered here and handed to the others. */
async function singleFlight(
  shared: SharedQueryCache,
  name: string,
  cacheTtlMs: number,
  signal: AbortSignal,
  ask: () => Promise<Answered>,
): Promise<Answered> {
  const found = await shared.find(name, signal);
  if (found !== null) return JSON.parse(found) as Answered;
  let answered: Answered | null = null;
  try {
    answered = await ask();
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

async function askClickhouse(
  ask: RunQuery,
  question: Asked,
  asker: QueryCaller,
  nowMs: number,
  onFailure: (error: unknown) => void,
): Promise<Answered> {
  try {
    return { ok: true, body: { ...question.answer(await ask(question.statement, question, asker)), as_of: nowMs } };
  } catch (error) {
    if (asker.signal.aborted) return { ok: false, code: 'query_cancelled' };
    return { ok: false, code: refusalOf(error, onFailure) };
  }
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
type SqlAnswers = (question: SqlQuestion, format: Format, asker: QueryCaller) => Promise<Sent>;

/** Queries of one site at once, so that no site takes all that ClickHouse gives to SQL. */
const SQL_AT_ONCE = 2;

/**
 * @param ask Null: there is no user of ClickHouse to ask as.
 * @param onFailure Hears of what ClickHouse did not answer, but not of what it refused: that quotes the analyst.
 */
export function createSqlAnswers(
  ask: RunSql | null,
  nowMs: () => number,
  onFailure: (error: unknown) => void,
): SqlAnswers {
  const running = new Map<string, number>();
  return async (question, format, asker) => {
    if (ask === null) return { ok: false, code: 'sql_not_set_up' };
    const { siteId } = question;
    const now = running.get(siteId) ?? 0;
    if (now >= SQL_AT_ONCE) return { ok: false, code: 'query_busy' };
    running.set(siteId, now + 1);
    try {
      return { ok: true, ...(await writtenSql(ask, question, format, asker, nowMs())) };
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
  ask: RunSql,
  { siteId, sql }: SqlQuestion,
  format: Format,
  asker: QueryCaller,
  nowMs: number,
): Promise<Written> {
  if (format === 'parquet') {
    return { contentType: PARQUET, body: await ask(siteId, sql, 'Parquet', asker), rows: null };
  }
  const answer = readSqlRows((await ask(siteId, sql, 'JSONCompact', asker)).toString('utf8'));
  const rows = answer.rows.length;
  return format === 'csv' ? asCsv(sqlTable(answer), rows) : asJson({ ...answer, as_of: nowMs }, rows);
}

function sqlRefusal(error: unknown, onFailure: (error: unknown) => void): Extract<Sent, { ok: false }> {
  if (error instanceof SqlRefusedError) {
    return { ok: false, code: error.code, problems: [problem(error.code, 'sql', error.message)] };
  }
  if (error instanceof SqlBusyError || error instanceof QueryBusyError) return { ok: false, code: error.code };
  if (error instanceof QueryCancelledError) return { ok: false, code: error.code };
  onFailure(error);
  if (error instanceof QueryTooHeavyError) return { ok: false, code: 'query_too_heavy' };
  if (!(error instanceof WarehouseError)) throw error;
  return { ok: false, code: error.code === 'warehouse_unavailable' ? 'query_unavailable' : 'internal' };
}

/** No query may begin soon: as many run, or wait, as may. */
export class QueryBusyError extends Error {
  readonly code = 'query_busy';
}

/** Lets queries through to ClickHouse, and none of one site before those of others that have fewer. */
interface QueryGate {
  /** @throws QueryBusyError, QueryCancelledError where the signal ended the waiting, and what `ask` throws */
  pass<T>(siteId: string, signal: AbortSignal, ask: () => Promise<T>): Promise<T>;
}

export interface QueryGateLimits {
  atOnce: number;
  siteAtOnce: number;
}

/** A request has 30 seconds, of which a query may take 20. */
const WAITING_MS_MAX = 8_000;
/** Of one site; a board has up to 50 questions. */
const SITE_WAITING_MAX = 60;

export function createQueryGate({ atOnce, siteAtOnce }: QueryGateLimits, waitingMsMax = WAITING_MS_MAX): QueryGate {
  const gate = createFairGate({ atOnce, groupAtOnce: siteAtOnce, waitingMax: SITE_WAITING_MAX });
  return {
    async pass(siteId, signal, ask) {
      const tooLong = AbortSignal.timeout(waitingMsMax);
      const leave = await gate.enter(siteId, AbortSignal.any([signal, tooLong])).catch((error: unknown) => {
        if (signal.aborted) throw new QueryCancelledError();
        throw error instanceof GateBusyError || tooLong.aborted ? new QueryBusyError() : error;
      });
      try {
        return await ask();
      } finally {
        leave();
      }
    },
  };
}
