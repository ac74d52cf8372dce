import { createWarehouse } from '#infra/clickhouse/client.ts';
import { watchWarehouse } from '#infra/clickhouse/health_probe.ts';
import { createParquetWriter } from '#infra/clickhouse/parquet.ts';
import { QUERY_LIMITS, selectRows } from '#infra/clickhouse/select_rows.ts';
import type { Logger } from '#infra/log/logger.ts';
import { createQueryAnswers } from './query_answers.ts';
import type { QueryAnswers } from './route.ts';

/** Queries of the ClickHouse of an address, with the connections they use. */
export interface OpenQueries {
  answers: QueryAnswers;
  close(): Promise<void>;
}

export function openQueries(clickhouseUrl: string, logger: Logger): OpenQueries {
  const warehouse = createWarehouse(clickhouseUrl);
  const probe = watchWarehouse(clickhouseUrl);
  const writeParquet = createParquetWriter(clickhouseUrl);
  return {
    answers: createQueryAnswers(
      (statement) => probe.guard(() => selectRows(warehouse, statement, QUERY_LIMITS)),
      Date.now,
      (error) => logger.warn({ err: error }, 'query not answered'),
      (table) => probe.guard(() => writeParquet(table)),
    ),
    async close() {
      await probe.stop();
      await warehouse.close();
    },
  };
}
