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

/**
 * Updates the person of rows whose person was merged after they arrived. The view `events` shows the same before and after.
 * The links stay, because rows with the former person may still come. Resolves to how many rows had a former person.
 * @throws WarehouseError
 */
export async function mergePersons(warehouse: Warehouse, cluster: string | null = null): Promise<number> {
  const dictionary = `'${await databaseOf(warehouse)}.person_overrides'`;
  const behind = `dictHas(${dictionary}, (site_id, arrived_person_id))`;
  const count = `SELECT count() AS found FROM event_rows WHERE ${behind}`;
  const [row] = await (await warehouse.query({ query: count, format: 'JSONEachRow' })).json<{ found: number }>();
  const found = Number(row?.found ?? 0);
  if (found === 0) return 0;
  const target = `dictGet(${dictionary}, 'target', (site_id, arrived_person_id))`;
  // The server considers a dictionary nondeterministic, but every replica has the same links.
  await run(
    warehouse,
    `ALTER TABLE ${alteredTable('event_rows', cluster)} UPDATE arrived_person_id = ${target} WHERE ${behind} SETTINGS allow_nondeterministic_mutations = 1`,
  );
  return found;
}

async function databaseOf(warehouse: Warehouse): Promise<string> {
  const result = await warehouse.query({ query: 'SELECT currentDatabase() AS name', format: 'JSONEachRow' });
  const [row] = await result.json<{ name: string }>();
  return row?.name ?? 'default';
}

async function run(warehouse: Warehouse, query: string): Promise<void> {
  try {
    await warehouse.command({ query });
  } catch (error) {
    throw readError(error);
  }
}
