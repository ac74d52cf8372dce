// Deletes the rows of a whole site from every table.

import { run, SIGNS_OF_LIFE, select, type Warehouse } from './client.ts';
import { alteredTable, localTable } from './cluster.ts';
import { reloadPersons } from './person_dictionaries.ts';

/** Rows of a site in one table. */
interface SiteRows {
  place: string;
  count: number;
}

export type SiteEraser = ReturnType<typeof createSiteEraser>;

const MERGED = 'merged_persons';
/** Those that name the site; in this order, as what was merged is found by its links. */
export const SITE_TABLES = [
  ...['delivery_outcomes', 'duplicates', 'repeated_events', 'inventory'],
  ...['person_links', 'person_splits', 'event_rows'],
] as const;

/** Erases one site after the other. Each step may be repeated, also by another process. Everything throws WarehouseError. */
export function createSiteEraser(warehouse: Warehouse, cluster: string | null) {
  const selectLong = <Row>(query: string, site: string): Promise<Row[]> =>
    select(warehouse, query, { site }, SIGNS_OF_LIFE);

  /** A site's id is letters, digits and what joins them: it may stand in a statement, and tells whose mutation it is. */
  const isOf = (site: string): string => `site_id = '${site}'`;

  async function conditionOf(table: string, site: string): Promise<string> {
    if (table !== MERGED) return isOf(site);
    const [row] = await selectLong<{ name: string }>('SELECT currentDatabase() AS name', site);
    const keys = `SELECT cityHash64(site_id, cityHash64(person_id)) FROM ${row?.name}.person_links WHERE ${isOf(site)}`;
    return `key IN (${keys})`;
  }

  async function beginDelete(table: string, site: string): Promise<void> {
    const condition = await conditionOf(table, site);
    const query = `SELECT count() > 0 AS is_there FROM ${table} WHERE ${condition.replace(' IN (', ' GLOBAL IN (')}`;
    const [found] = await selectLong<{ is_there: number | boolean }>(query, site);
    if (!found?.is_there || (await underWay(site)).has(table)) return;
    await run(
      warehouse,
      `ALTER TABLE ${alteredTable(table, cluster)} DELETE WHERE ${condition}
       SETTINGS mutations_sync = 0, allow_nondeterministic_mutations = 1`,
      {},
      SIGNS_OF_LIFE,
    );
  }

  /** The tables from which rows are still being deleted, on any server, each with whether that fails. */
  async function underWay(site: string): Promise<Map<string, 'runs' | 'fails'>> {
    const mutations = cluster === null ? 'system.mutations' : `clusterAllReplicas('${cluster}', system.mutations)`;
    const rows = await selectLong<{ name: string; fails: number }>(
      `SELECT table AS name, max(latest_fail_reason != '') AS fails FROM ${mutations}
       WHERE database = currentDatabase() AND NOT is_done AND NOT is_killed
         AND position(command, concat('site_id = \\'', {site:String}, '\\'')) > 0 GROUP BY name`,
      site,
    );
    const tableOf = new Map([MERGED, ...SITE_TABLES].map((table) => [localTable(table, cluster), table]));
    return new Map(rows.map(({ name, fails }) => [tableOf.get(name) ?? name, fails ? 'fails' : 'runs'] as const));
  }

  return {
    /** How many rows of the site there are in each table. */
    count: async (site: string): Promise<SiteRows[]> => {
      const counts = SITE_TABLES.map(
        (table) =>
          `SELECT '${table}' AS place, toFloat64(count()) AS count FROM ${table} WHERE site_id = {site:String}`,
      );
      return selectLong<SiteRows>(counts.join(' UNION ALL '), site);
    },
    /** Begins to delete which persons were merged; what they are found by is deleted after that. */
    deleteMerged: (site: string): Promise<void> => beginDelete(MERGED, site),
    deleteRows: async (site: string): Promise<void> => {
      for (const table of SITE_TABLES) await beginDelete(table, site);
    },
    underWay,
    /** Loads the persons again that queries resolve by. */
    end: (): Promise<void> => reloadPersons(warehouse, cluster),
  };
}
