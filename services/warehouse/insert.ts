import type { Warehouse } from '#infra/clickhouse/client.ts';
import { ColumnarEvent } from '#infra/clickhouse/event_columns.ts';
import { insertBlockAgain, insertBlockFirst } from '#infra/clickhouse/insert_again.ts';
import type { SinkOptions } from '#infra/kafka/block_sink/block_sink_options.ts';
import type { Logger } from '#infra/log/logger.ts';
import type { Metrics } from '#infra/metrics/metrics.ts';
import { placeOf } from '#pipelines/warehouse/block.ts';
import { isLate } from '#pipelines/warehouse/late.ts';
import { kindOf } from '#services/poison_pills.ts';
import type { DeadLetters } from './dead_letters.ts';
import { insertWithoutRefused } from './refused_rows.ts';
import { type Row, type Tables, textOf } from './tables.ts';

export interface InsertOptions {
  warehouse: Warehouse;
  tables: Pick<Tables, 'tableOf'>;
  deadLetters: DeadLetters;
  metrics: Pick<Metrics, 'in' | 'dropped'>;
  logger: Logger;
  /** An event older than this may be in the table, under a claim that was forgotten; milliseconds. */
  claimWindowMs: number;
}

/**
 * Inserts blocks, each once under its token. Rows that ClickHouse will never take become dead letters, and the others of
 * the block are in.
 */
export function createInsert(options: InsertOptions): SinkOptions<Row>['insert'] {
  const { warehouse, tables, deadLetters, metrics, logger, claimWindowMs } = options;
  const mayBeStored = (row: object): boolean => row instanceof ColumnarEvent && isLate(row, claimWindowMs);
  return async (topic, token, rows, again, progressed) => {
    const table = tables.tableOf(topic);
    const refused = await insertWithoutRefused(rows, token, async (part, some) => {
      const { sentAgain, gone } = await (again
        ? insertBlockAgain(warehouse, table, part, some, progressed)
        : insertBlockFirst(warehouse, table, part, some, mayBeStored, progressed));
      // They are among what is committed, too.
      metrics.in(sentAgain);
      metrics.dropped('stored_before', sentAgain);
      if (gone > 0) logger.warn({ token: part, rows: gone }, 'rows of a block that was taken up did not stay');
    });
    for (const { item, error } of refused) {
      const at = { topic, ...placeOf(token), index: -1 };
      await deadLetters.write(at, 'warehouse_refused', kindOf(error), textOf(item));
    }
  };
}
