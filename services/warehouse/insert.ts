import type { Warehouse } from '#infra/clickhouse/client.ts';
import { ColumnarEvent } from '#infra/clickhouse/event_columns.ts';
import { insertBlockAgain, insertBlockFirst } from '#infra/clickhouse/insert_again.ts';
import type { SinkOptions } from '#infra/kafka/block_sink/block_sink_options.ts';
import type { Logger } from '#infra/log/logger.ts';
import type { Metrics } from '#infra/metrics/metrics.ts';
import { placeOf } from '#pipelines/warehouse/block.ts';
import { isLate } from '#pipelines/warehouse/late.ts';
import { kindOf } from '#services/poison_pills.ts';
import { batchOf, type DeadLetters } from './dead_letters.ts';
import { insertWithoutRefused } from './refused_rows.ts';
import type { TableWaits } from './table_waits.ts';
import type { Row, Tables } from './tables.ts';

export interface InsertOptions {
  warehouse: Warehouse;
  tables: Pick<Tables, 'tableOf'>;
  waits: TableWaits;
  deadLetters: DeadLetters;
  /** Under which a dead letter keeps an event, so that it can be sent in again. */
  eventSchemaId: number;
  metrics: Pick<Metrics, 'in' | 'dropped'>;
  logger: Logger;
  /** An event older than this may be in the table, under a claim that was forgotten; milliseconds. */
  claimWindowMs: number;
}

/** How long a table is at fault that refuses all rows of a block for one reason of theirs; then the rows are. */
const TABLE_BLAMED_MS = 300_000;

/**
 * Inserts blocks, each once under its token. Rows that ClickHouse will never take become dead letters, and the others of
 * the block are in. A block whose table is at fault waits.
 */
export function createInsert(options: InsertOptions): SinkOptions<Row>['insert'] {
  const { warehouse, tables, waits, deadLetters, eventSchemaId, metrics, logger, claimWindowMs } = options;
  const mayBeStored = (row: object): boolean => row instanceof ColumnarEvent && isLate(row, claimWindowMs);
  /** An event as it can be sent in again; of other rows their text. */
  const bytesOf = (row: Row): Buffer =>
    row instanceof ColumnarEvent ? batchOf(eventSchemaId, row.view) : Buffer.from(JSON.stringify(row));
  return async (topic, token, rows, again, progressed) => {
    const table = tables.tableOf(topic);
    const insert = async (part: string, some: readonly Row[]): Promise<void> => {
      const { sentAgain, gone } = await (again
        ? insertBlockAgain(warehouse, table, part, some, progressed)
        : insertBlockFirst(warehouse, table, part, some, mayBeStored, progressed));
      // They are among what is committed, too.
      metrics.in(sentAgain);
      metrics.dropped('stored_before', sentAgain);
      if (gone > 0) logger.warn({ token: part, rows: gone }, 'rows of a block that was taken up did not stay');
    };
    const blamesAll = (reason: string): boolean => waits.waitedMs(table, reason) >= TABLE_BLAMED_MS;
    await waits.watch(table, async () => {
      for (const { item, error } of await insertWithoutRefused(rows, token, insert, blamesAll)) {
        const at = { topic, ...placeOf(token), index: -1 };
        await deadLetters.write(at, 'warehouse_refused', kindOf(error), bytesOf(item));
      }
    });
  };
}
