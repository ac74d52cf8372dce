// Deletes rows of several tables by mutations that run by themselves.

import { run, SIGNS_OF_LIFE, select, type Warehouse } from '../client.ts';
import { type Cluster, everywhere, localTable, ofAllServers, type Place } from '../cluster.ts';

/** Which rows of each table are meant, by the name of the database; `IN` of a list of another table is meant on every server. */
type Conditions<Table extends string> = Readonly<Record<Table, (database: string) => string>>;

/** Everything throws WarehouseError, and may be repeated, also by another process. */
export function createRowDeletion<Table extends string>(
  warehouse: Warehouse,
  cluster: Cluster | null,
  conditions: Conditions<Table>,
  /** What stands in each condition, and in no mutation of others: by it they are known again. */
  mark: string,
) {
  const tables = Object.keys(conditions) as Table[];

  const isLocal = cluster?.isReplicated === false;

  /** The tables from which rows are still being deleted, of one server or of any, each with whether that fails. */
  async function underWayIn(server: Place['server'], mutations: string): Promise<Map<Table, 'runs' | 'fails'>> {
    const rows = await select<{ name: string; fails: number }>(
      server,
      `SELECT table AS name, max(latest_fail_reason != '') AS fails FROM ${mutations}
       WHERE database = currentDatabase() AND NOT is_done AND NOT is_killed AND position(command, {mark:String}) > 0 GROUP BY name`,
      { mark },
      SIGNS_OF_LIFE,
    );
    const tableOf = new Map(tables.map((table) => [localTable(table, cluster), table]));
    return new Map(
      rows.flatMap(({ name, fails }) => {
        const table = tableOf.get(name);
        return table === undefined ? [] : [[table, fails ? 'fails' : 'runs'] as const];
      }),
    );
  }

  async function conditionOf(server: Place['server'], table: Table): Promise<string> {
    const [row] = await select<{ name: string }>(server, 'SELECT currentDatabase() AS name', {}, SIGNS_OF_LIFE);
    return conditions[table](row?.name ?? 'default');
  }

  async function hasAnyAt(server: Place['server'], name: string, table: Table): Promise<boolean> {
    const condition = (await conditionOf(server, table)).replaceAll(' IN (', ' GLOBAL IN (');
    const query = `SELECT 1 AS found FROM ${name} WHERE ${condition} LIMIT 1`;
    return (await select(server, query, {}, SIGNS_OF_LIFE)).length > 0;
  }

  /** Where each server is told by itself, each also looks for itself: what one has begun, another may not have. */
  async function beginAt({ server, on }: Place, table: Table): Promise<void> {
    const local = localTable(table, cluster);
    const mutations = isLocal ? 'system.mutations' : ofAllServers('system.mutations', cluster);
    if (!(await hasAnyAt(server, isLocal ? local : table, table))) return;
    if ((await underWayIn(server, mutations)).has(table)) return;
    // The server does not know that what the condition reads does not change while this goes on.
    await run(
      server,
      `ALTER TABLE ${local}${on} DELETE WHERE ${await conditionOf(server, table)}
       SETTINGS mutations_sync = 0, allow_nondeterministic_mutations = 1`,
      {},
      SIGNS_OF_LIFE,
    );
  }

  return {
    /** Whether a table has any such row, on any server. */
    hasAny: (table: Table): Promise<boolean> => hasAnyAt(warehouse, table, table),
    /** Begins to delete from a table, where there is anything and nothing of the kind is under way. */
    begin: (table: Table): Promise<void> => everywhere(warehouse, cluster, (place) => beginAt(place, table)),
    /** The tables from which rows are still being deleted, on any server, each with whether that fails. */
    underWay: () => underWayIn(warehouse, ofAllServers('system.mutations', cluster)),
  };
}
