import { createSqlAsker } from '#infra/clickhouse/ask_sql.ts';
import { createWarehouse } from '#infra/clickhouse/client.ts';
import { watchWarehouse } from '#infra/clickhouse/health_probe.ts';
import { createParquetWriter } from '#infra/clickhouse/parquet.ts';
import { QUERY_LIMITS, selectRows } from '#infra/clickhouse/select_rows.ts';
import type { Logger } from '#infra/log/logger.ts';
import { createQueryAnswers } from './query_answers.ts';
import type { QueryAnswers } from './route.ts';
import { createSqlAnswers } from './sql_answers.ts';

/** Queries of the ClickHouse of an address, with the connections they use. */
export interface OpenQueries {
  answers: QueryAnswers;
  close(): Promise<void>;
}

/** @param sqlUrl The address as the user that SQL is asked as; null: there is none. */
export function openQueries(clickhouseUrl: string, sqlUrl: string | null, logger: Logger): OpenQueries {
  const warehouse = createWarehouse(clickhouseUrl);
  const probe = watchWarehouse(clickhouseUrl);
  const writeParquet = createParquetWriter(clickhouseUrl);
  const sql = sqlUrl === null ? null : createSqlAsker(sqlUrl);
  const notAnswered = (error: unknown): void => logger.warn({ err: error }, 'query not answered');
  return {
    answers: createQueryAnswers(
      (statement) => probe.guard(() => selectRows(warehouse, statement, QUERY_LIMITS)),
      Date.now,
      notAnswered,
      (table) => probe.guard(() => writeParquet(table)),
      createSqlAnswers(sql && ((...asked) => probe.guard(() => sql.ask(...asked))), Date.now, notAnswered),
    ),
    async close() {
      await probe.stop();
      await warehouse.close();
      await sql?.close();
    },
  };
}
