// Deletes rows of several tables by mutations that run by themselves.

import { run, SIGNS_OF_LIFE, select, type Warehouse } from './client.ts';
import { alteredTable, localTable } from './cluster.ts';

/** Which rows of each table are meant, by the name of the database; `IN` of a list of another table is meant on every server. */
type Conditions<Table extends string> = Readonly<Record<Table, (database: string) => string>>;

/** Everything throws WarehouseError, and may be repeated, also by another process. */
export function createRowDeletion<Table extends string>(
  warehouse: Warehouse,
  cluster: string | null,
  conditions: Conditions<Table>,
  /** What stands in each condition, and in no mutation of others: by it they are known again. */
  mark: string,
) {
  const tables = Object.keys(conditions) as Table[];

  /** The tables from which rows are still being deleted, on any server, each with whether that fails. */
  async function underWay(): Promise<Map<Table, 'runs' | 'fails'>> {
    const mutations = cluster === null ? 'system.mutations' : `clusterAllReplicas('${cluster}', system.mutations)`;
    const rows = await select<{ name: string; fails: number }>(
      warehouse,
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

  return {
    /** Begins to delete from a table, where there is anything and nothing of the kind is under way. */
    async begin(table: Table): Promise<void> {
      const [row] = await select<{ name: string }>(warehouse, 'SELECT currentDatabase() AS name', {}, SIGNS_OF_LIFE);
      const condition = conditions[table](row?.name ?? 'default');
      const [found] = await select<{ is_there: number | boolean }>(
        warehouse,
        `SELECT count() > 0 AS is_there FROM ${table} WHERE ${condition.replaceAll(' IN (', ' GLOBAL IN (')}`,
        {},
        SIGNS_OF_LIFE,
      );
      if (!found?.is_there || (await underWay()).has(table)) return;
      // The server does not know that what the condition reads does not change while this goes on.
      await run(
        warehouse,
        `ALTER TABLE ${alteredTable(table, cluster)} DELETE WHERE ${condition}
         SETTINGS mutations_sync = 0, allow_nondeterministic_mutations = 1`,
        {},
        SIGNS_OF_LIFE,
      );
    },
    underWay,
  };
}
