import { WarehouseError } from '#infra/clickhouse/client.ts';
import type { WriteParquet } from '#infra/clickhouse/parquet.ts';
import type { Statement } from '#infra/clickhouse/queries/statement.ts';
import { QueryPatternError, QueryTooHeavyError } from '#infra/clickhouse/select_rows.ts';
import { writeAnswer } from './answer_formats.ts';
import type { ControlErrorCode } from './errors.ts';
import type { Answered, QueryAnswers, Question } from './route.ts';
import type { SqlAnswers } from './sql_answers.ts';

/** Asks ClickHouse. @throws QueryTooHeavyError, WarehouseError */
export type AskRows = (statement: Statement) => Promise<unknown[]>;

interface Kept {
  askedAtMs: number;
  answered: Promise<Answered>;
}

const KEPT_MAX = 500;

/** @param onFailure Hears of what ClickHouse did not answer. */
export function createQueryAnswers(
  ask: AskRows,
  nowMs: () => number,
  onFailure: (error: unknown) => void,
  writeParquet: WriteParquet,
  answerSql: SqlAnswers,
): QueryAnswers {
  /** In the order in which they were asked. */
  const kept = new Map<string, Kept>();

  function keep(name: string, one: Kept): void {
    kept.delete(name);
    kept.set(name, one);
    for (const oldest of kept.keys()) {
      if (kept.size <= KEPT_MAX) break;
      kept.delete(oldest);
    }
  }

  async function answer(question: Extract<Question, { kind: 'ask' }>): Promise<Answered> {
    const name = JSON.stringify([question.asked, question.statement]);
    const before = kept.get(name);
    if (before !== undefined && nowMs() - before.askedAtMs < question.keptMs) return await before.answered;
    const one = { askedAtMs: nowMs(), answered: asked(ask, question, nowMs(), onFailure) };
    keep(name, one);
    const answered = await one.answered;
    if (!answered.ok && kept.get(name) === one) kept.delete(name);
    return answered;
  }

  return {
    answer,
    async write(question, format) {
      if (question.kind === 'sql') return answerSql(question, format);
      const answered = await answer(question);
      if (!answered.ok) return answered;
      try {
        return { ok: true, ...(await writeAnswer(answered.body, format, writeParquet)) };
      } catch (error) {
        return { ok: false, code: refusalOf(error, onFailure) };
      }
    },
  };
}

async function asked(
  ask: AskRows,
  question: Extract<Question, { kind: 'ask' }>,
  nowMs: number,
  onFailure: (error: unknown) => void,
): Promise<Answered> {
  try {
    return { ok: true, body: { ...question.answer(await ask(question.statement)), as_of: nowMs } };
  } catch (error) {
    return { ok: false, code: refusalOf(error, onFailure) };
  }
}

/** The code of a failure of ClickHouse. @throws what is no failure of ClickHouse */
function refusalOf(error: unknown, onFailure: (error: unknown) => void): ControlErrorCode {
  const code = codeOf(error);
  if (code === null) throw error;
  onFailure(error);
  return code;
}

function codeOf(error: unknown): ControlErrorCode | null {
  if (error instanceof QueryTooHeavyError) return 'query_too_heavy';
  if (error instanceof QueryPatternError) return 'query_pattern_invalid';
  if (!(error instanceof WarehouseError)) return null;
  return error.code === 'warehouse_refused' ? 'internal' : 'query_unavailable';
}
