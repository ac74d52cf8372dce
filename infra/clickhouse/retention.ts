import { run, select, type Warehouse } from './client.ts';
import { alteredTable, localTable } from './cluster.ts';

/** A row's age: that of an event which came late is from when it came, as what was accepted is to be found. */
const AGED_BY = {
  event_rows: 'greatest(timestamp, received_at)',
  event_hours: 'hour',
  delivery_outcomes: 'attempted_at',
  inventory: 'received_at',
  duplicates: 'received_at',
} as const;

export type AgingTable = keyof typeof AGED_BY;

/**
 * Sets how many days a table keeps its rows; 0: for ever. Does nothing if that is set already. ClickHouse deletes old rows
 * when it merges their parts next, within a week (dropAgedWeekly). @throws WarehouseError
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

/**
 * As partitions are months, rows of a part grow too old one after the other for a month. Every four hours, ClickHouse's own
 * choice, it would be written anew for those few: 180 times. So, each row is written four times more while its month ages.
 */
const AGED_EVERY_SECONDS = 7 * 86_400;

/** Has rows that are too old taken out of a table once a week. Does nothing if that is so already. @throws WarehouseError */
export async function dropAgedWeekly(
  warehouse: Warehouse,
  table: AgingTable,
  cluster: string | null = null,
): Promise<void> {
  const setting = `merge_with_ttl_timeout = ${AGED_EVERY_SECONDS}`;
  const query = `SELECT position(engine_full, {setting:String}) > 0 AS isSet FROM system.tables
                 WHERE database = currentDatabase() AND name = {table:String}`;
  const [row] = await select<{ isSet: number }>(warehouse, query, { table: localTable(table, cluster), setting });
  if (row?.isSet) return;
  await run(warehouse, `ALTER TABLE ${alteredTable(table, cluster)} MODIFY SETTING ${setting}`);
}

async function ttlOf(warehouse: Warehouse, table: string): Promise<string | null> {
  const query = `SELECT extract(engine_full, ' TTL (.+?)(?: SETTINGS |$)') AS rule FROM system.tables
                 WHERE database = currentDatabase() AND name = {table:String}`;
  const [row] = await select<{ rule: string }>(warehouse, query, { table });
  return row === undefined || row.rule === '' ? null : row.rule;
}
