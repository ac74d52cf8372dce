import { run, SIGNS_OF_LIFE, select, type Warehouse } from './client.ts';
import { alterRows, type Cluster, DDL_SETTINGS, everywhere, localTable } from './cluster.ts';
import { listed } from './merge_persons.ts';

/** A row's age: that of an event which came late is from when it came, as what was accepted is to be found. */
const AGED_BY = {
  event_rows: 'greatest(timestamp, received_at)',
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
  cluster: Cluster | null = null,
): Promise<void> {
  const rule = `toDateTime(${AGED_BY[table]}) + toIntervalDay(${days})`;
  const change = days === 0 ? 'REMOVE TTL' : `MODIFY TTL ${rule}`;
  const local = localTable(table, cluster);
  await everywhere(warehouse, cluster, async ({ server, on }) => {
    const now = await ttlOf(server, local);
    if (days === 0 ? now === null : now === rule) return;
    await run(
      server,
      `ALTER TABLE ${local}${on} ${change} SETTINGS materialize_ttl_after_modify = 0`,
      {},
      DDL_SETTINGS,
    );
  });
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
  cluster: Cluster | null = null,
): Promise<void> {
  const setting = `merge_with_ttl_timeout = ${AGED_EVERY_SECONDS}`;
  const query = `SELECT position(engine_full, {setting:String}) > 0 AS isSet FROM system.tables
                 WHERE database = currentDatabase() AND name = {table:String}`;
  const local = localTable(table, cluster);
  await everywhere(warehouse, cluster, async ({ server, on }) => {
    const [row] = await select<{ isSet: number }>(server, query, { table: local, setting });
    if (!row?.isSet) await run(server, `ALTER TABLE ${local}${on} MODIFY SETTING ${setting}`, {}, DDL_SETTINGS);
  });
}

/** How many days a site keeps what it has in a table. */
export interface SiteDays {
  siteId: string;
  days: number;
}

/** What a site brings in of its past came with the age that it has, and nothing older was taken. */
const SITE_AGED_BY = { ...AGED_BY, event_rows: `if(historical, timestamp, ${AGED_BY.event_rows})` };

/** A mutation writes all rows of a partition anew, those of other sites too: once a week, as is done for a whole table. */
const OVERDUE_DAYS = 7;

/**
 * Deletes rows that are older than their site keeps them, from those partitions in which some have been so for a week. Resolves
 * to how many there were. @throws WarehouseError
 */
export async function dropAgedOfSites(
  warehouse: Warehouse,
  table: AgingTable,
  sites: readonly SiteDays[],
  cluster: Cluster | null = null,
): Promise<number> {
  if (sites.length === 0) return 0;
  const ids = listed(sites.map(({ siteId }) => siteId));
  const daysOf = `transform(toString(site_id), [${ids}], [${sites.map(({ days }) => days).join(', ')}], 0)`;
  const isAged = (late: number): string =>
    `site_id IN (${ids}) AND toDateTime(${SITE_AGED_BY[table]}) + toIntervalDay(${daysOf} + ${late}) < now()`;
  const partitions = await select<{ id: string; found: number }>(
    warehouse,
    `SELECT _partition_id AS id, toFloat64(count()) AS found FROM ${table} WHERE ${isAged(0)}
     GROUP BY id HAVING countIf(${isAged(OVERDUE_DAYS)}) > 0 ORDER BY id`,
    {},
    SIGNS_OF_LIFE,
  );
  for (const { id } of partitions) {
    const deletion = `DELETE IN PARTITION ID '${id}' WHERE ${isAged(0)}`;
    const change = `${deletion} SETTINGS allow_nondeterministic_mutations = 1`;
    await alterRows(warehouse, cluster, table, change, SIGNS_OF_LIFE);
  }
  return partitions.reduce((sum, { found }) => sum + found, 0);
}

async function ttlOf(warehouse: Pick<Warehouse, 'query'>, table: string): Promise<string | null> {
  const query = `SELECT extract(engine_full, ' TTL (.+?)(?: SETTINGS |$)') AS rule FROM system.tables
                 WHERE database = currentDatabase() AND name = {table:String}`;
  const [row] = await select<{ rule: string }>(warehouse, query, { table });
  return row === undefined || row.rule === '' ? null : row.rule;
}
