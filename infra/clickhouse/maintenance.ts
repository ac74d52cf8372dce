import { readError, type Warehouse } from './client.ts';
import { alteredTable, localTable } from './cluster.ts';

/** The column from which the age of a table's rows is counted. */
const AGED_BY = {
  event_rows: 'timestamp',
  event_hours: 'hour',
  delivery_outcomes: 'attempted_at',
  inventory: 'received_at',
  duplicates: 'received_at',
} as const;

export type AgingTable = keyof typeof AGED_BY;

/**
 * Sets how many days a table keeps its rows; 0: for ever. Does nothing if that is set already. ClickHouse deletes old rows
 * when it merges their parts next. @throws WarehouseError
 */
export async function keepDays(
  warehouse: Warehouse,
  table: AgingTable,
  days: number,
  cluster: string | null = null,
): Promise<void> {
  const rule = `toDateTime(${AGED_BY[table]}) + toIntervalDay(${days})`;
  const now = await ttlOf(warehouse, localTable(table, cluster));
  if (days === 0 ? now === null : now === rule) return;
  const change = days === 0 ? 'REMOVE TTL' : `MODIFY TTL ${rule}`;
  await run(
    warehouse,
    `ALTER TABLE ${alteredTable(table, cluster)} ${change} SETTINGS materialize_ttl_after_modify = 0`,
  );
}

async function ttlOf(warehouse: Warehouse, table: string): Promise<string | null> {
  const query = `SELECT extract(engine_full, ' TTL (.+?)(?: SETTINGS |$)') AS rule FROM system.tables
                 WHERE database = currentDatabase() AND name = {table:String}`;
  const result = await warehouse.query({ query, query_params: { table }, format: 'JSONEachRow' });
  const [row] = await result.json<{ rule: string }>();
  return row === undefined || row.rule === '' ? null : row.rule;
}

async function run(warehouse: Warehouse, query: string): Promise<void> {
  try {
    await warehouse.command({ query });
  } catch (error) {
    throw readError(error);
  }
}
