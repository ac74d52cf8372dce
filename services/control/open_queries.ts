import { type AnalystUsers, createAnalystUsers } from '#infra/clickhouse/analyst_users.ts';
import { createSqlAsker } from '#infra/clickhouse/ask_sql.ts';
import { createWarehouse, databaseOf } from '#infra/clickhouse/client.ts';
import { watchWarehouse } from '#infra/clickhouse/health_probe.ts';
import { createParquetWriter } from '#infra/clickhouse/parquet.ts';
import { newQueryId } from '#infra/clickhouse/query_ids.ts';
import { createRowEstimates } from '#infra/clickhouse/row_estimates.ts';
import { createRunningQueries, type RunningQueries } from '#infra/clickhouse/running_queries.ts';
import { QUERY_LIMITS, selectRows } from '#infra/clickhouse/select_rows.ts';
import { levelOf, workloadOf } from '#infra/clickhouse/workload.ts';
import { monotonicMs } from '#infra/concurrency/monotonic_clock.ts';
import type { Logger } from '#infra/log/logger.ts';
import type { SharedAnswers } from '#infra/redis/shared_answers.ts';
import { logAnalysts } from './logged_analysts.ts';
import { type AskRows, createQueryAnswers } from './query_answers.ts';
import { createQueryGate, type QueryGateLimits } from './query_gate.ts';
import type { QueryAnswers } from './route.ts';
import { createSqlAnswers } from './sql_answers.ts';

/** Queries of the ClickHouse of an address, with the connections they use. */
export interface OpenQueries {
  answers: QueryAnswers;
  running: RunningQueries;
  analysts: AnalystUsers | null;
  close(): Promise<void>;
}

export interface QueryParts {
  clickhouseUrl: string;
  cluster: string | null;
  /** The address as the user that SQL is asked as; null: there is none. */
  sqlUrl: string | null;
  /** The address as the user that makes users of analysts; null: there is none. */
  analystsUrl: string | null;
  limits: QueryGateLimits;
  shared: SharedAnswers | null;
  logger: Logger;
}

export function openQueries({
  clickhouseUrl,
  cluster,
  sqlUrl,
  analystsUrl,
  limits,
  shared,
  logger,
}: QueryParts): OpenQueries {
  const warehouse = createWarehouse(clickhouseUrl);
  // Of its own connections: long questions take all of the other one's.
  const overseer = createWarehouse(clickhouseUrl);
  const probe = watchWarehouse(clickhouseUrl);
  const gate = createQueryGate(limits);
  const writeParquet = createParquetWriter(clickhouseUrl);
  const estimate = createRowEstimates(overseer, cluster, monotonicMs);
  const running = createRunningQueries(overseer, cluster);
  const sql = sqlUrl === null ? null : createSqlAsker(sqlUrl);
  const access = analystsUrl === null ? null : createWarehouse(analystsUrl);
  const analysts = access && createAnalystUsers(access, databaseOf(clickhouseUrl));
  const notAnswered = (error: unknown): void => logger.warn({ err: error }, 'query not answered');

  const ask: AskRows = (statement, { siteId, about, reads }, { label, signal }) =>
    gate.pass(siteId, signal, () =>
      probe.guard(async () => {
        const rows = reads === null ? 0 : await estimate(siteId, reads);
        const queryId = newQueryId({ siteId, kind: about, askedBy: label });
        return selectRows(warehouse, statement, QUERY_LIMITS, { queryId, signal, workload: workloadOf(levelOf(rows)) });
      }),
    );
  return {
    answers: createQueryAnswers(
      ask,
      Date.now,
      notAnswered,
      (table) => probe.guard(() => writeParquet(table)),
      createSqlAnswers(
        sql &&
          ((siteId, text, format, asker) =>
            gate.pass(siteId, asker.signal, () => probe.guard(() => sql.ask(siteId, text, format, asker)))),
        Date.now,
        notAnswered,
      ),
      shared,
    ),
    running: {
      list: () => probe.guard(() => running.list()),
      cancel: (id) => probe.guard(() => running.cancel(id)),
    },
    analysts: analysts && logAnalysts(analysts, probe, logger),
    async close() {
      await probe.stop();
      await warehouse.close();
      await overseer.close();
      await sql?.close();
      await access?.close();
    },
  };
}
