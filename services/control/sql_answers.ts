import { type AskSql, SqlBusyError, SqlRefusedError } from '#infra/clickhouse/ask_sql.ts';
import { WarehouseError } from '#infra/clickhouse/client.ts';
import type { Asker } from '#infra/clickhouse/query_ids.ts';
import { QueryCancelledError, QueryTooHeavyError } from '#infra/clickhouse/select_rows.ts';
import { readSqlRows, sqlTable } from '#pipelines/query/sql_rows.ts';
import { problem } from '#pipelines/settings/problem.ts';
import { asCsv, asJson, type Format, PARQUET, type Sent, type Written } from './answer_formats.ts';
import { QueryBusyError } from './query_gate.ts';
import type { SqlQuestion } from './route.ts';

/** Answers what analysts write in SQL. */
export type SqlAnswers = (question: SqlQuestion, format: Format, asker: Asker) => Promise<Sent>;

/** Queries of one site at once, so that no site takes all that ClickHouse gives to SQL. */
const AT_ONCE = 2;

/**
 * @param ask Null: there is no user of ClickHouse to ask as.
 * @param onFailure Hears of what ClickHouse did not answer, but not of what it refused: that quotes the analyst.
 */
export function createSqlAnswers(
  ask: AskSql | null,
  nowMs: () => number,
  onFailure: (error: unknown) => void,
): SqlAnswers {
  const running = new Map<string, number>();
  return async (question, format, asker) => {
    if (ask === null) return { ok: false, code: 'sql_not_set_up' };
    const { siteId } = question;
    const now = running.get(siteId) ?? 0;
    if (now >= AT_ONCE) return { ok: false, code: 'query_busy' };
    running.set(siteId, now + 1);
    try {
      return { ok: true, ...(await written(ask, question, format, asker, nowMs())) };
    } catch (error) {
      return refusal(error, onFailure);
    } finally {
      const left = (running.get(siteId) ?? 1) - 1;
      if (left === 0) running.delete(siteId);
      else running.set(siteId, left);
    }
  };
}

async function written(
  ask: AskSql,
  { siteId, sql }: SqlQuestion,
  format: Format,
  asker: Asker,
  nowMs: number,
): Promise<Written> {
  if (format === 'parquet') {
    return { contentType: PARQUET, body: await ask(siteId, sql, 'Parquet', asker), rows: null };
  }
  const answer = readSqlRows((await ask(siteId, sql, 'JSONCompact', asker)).toString('utf8'));
  const rows = answer.rows.length;
  return format === 'csv' ? asCsv(sqlTable(answer), rows) : asJson({ ...answer, as_of: nowMs }, rows);
}

function refusal(error: unknown, onFailure: (error: unknown) => void): Extract<Sent, { ok: false }> {
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
