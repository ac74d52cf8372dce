import { randomUUID } from 'node:crypto';
import { insertBlock as insertOnce, type Warehouse } from '#infra/clickhouse/client.ts';

export * from '#infra/clickhouse/client.ts';

/** Broken: every try is a new insert to ClickHouse. */
export function insertBlock(
  warehouse: Warehouse,
  table: string,
  _token: string,
  rows: readonly object[],
): Promise<void> {
  return insertOnce(warehouse, table, randomUUID(), rows);
}
