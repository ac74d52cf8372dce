import { insertBlock, type Warehouse } from '#infra/clickhouse/client.ts';
import type { RetryResult } from '#infra/clickhouse/inserts/deduplicated_insert.ts';

export * from '#infra/clickhouse/inserts/deduplicated_insert.ts';

/** Broken: a block that is taken up goes in under its token, and the table is believed to know it. */
export async function retryInsert(
  warehouse: Warehouse,
  table: string,
  token: string,
  rows: readonly object[],
): Promise<RetryResult> {
  await insertBlock(warehouse, table, token, rows);
  return { sentAgain: 0, gone: 0 };
}
