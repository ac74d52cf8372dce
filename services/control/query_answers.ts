import { WarehouseError } from '#infra/clickhouse/client.ts';
import type { Statement } from '#infra/clickhouse/queries/statement.ts';
import { QueryPatternError, QueryTooHeavyError } from '#infra/clickhouse/select_rows.ts';
import type { ControlErrorCode } from './errors.ts';
import type { Answered, QueryAnswers, Question } from './route.ts';

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

  return {
    async answer(question) {
      const name = JSON.stringify([question.asked, question.statement]);
      const before = kept.get(name);
      if (before !== undefined && nowMs() - before.askedAtMs < question.keptMs) return await before.answered;
      const one = { askedAtMs: nowMs(), answered: asked(ask, question, nowMs(), onFailure) };
      keep(name, one);
      const answered = await one.answered;
      if (!answered.ok && kept.get(name) === one) kept.delete(name);
      return answered;
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
    const code = codeOf(error);
    if (code === null) throw error;
    onFailure(error);
    return { ok: false, code };
  }
}

function codeOf(error: unknown): ControlErrorCode | null {
  if (error instanceof QueryTooHeavyError) return 'query_too_heavy';
  if (error instanceof QueryPatternError) return 'query_pattern_invalid';
  if (!(error instanceof WarehouseError)) return null;
  return error.code === 'warehouse_refused' ? 'internal' : 'query_unavailable';
}
