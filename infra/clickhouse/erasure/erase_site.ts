// Deletes the rows of a whole site from every table.

import { SIGNS_OF_LIFE, select, type Warehouse } from '../client.ts';
import type { Cluster } from '../cluster.ts';
import { reloadPersons } from '../person_dictionaries.ts';
import { createRowDeletion } from './row_deletion.ts';

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
  ...['person_links', 'person_splits', 'person_seen', 'event_rows'],
] as const;
type SiteTable = (typeof SITE_TABLES)[number];

/** Erases one site after the other. Each step may be repeated, also by another process. Everything throws WarehouseError. */
export function createSiteEraser(warehouse: Warehouse, cluster: Cluster | null) {
  /** A site's id is letters, digits and what joins them: it may stand in a statement, and tells whose mutation it is. */
  function deletionOf(site: string) {
    const isOf = `site_id = '${site}'`;
    const named = Object.fromEntries(SITE_TABLES.map((table) => [table, () => isOf])) as Record<
      SiteTable,
      () => string
    >;
    const merged = (database: string): string =>
      `key IN (SELECT cityHash64(site_id, cityHash64(person_id)) FROM ${database}.person_links WHERE ${isOf})`;
    return createRowDeletion(warehouse, cluster, { ...named, [MERGED]: merged }, isOf);
  }

  return {
    /** How many rows of the site there are in each table. */
    count: async (site: string): Promise<SiteRows[]> => {
      const counts = SITE_TABLES.map(
        (table) =>
          `SELECT '${table}' AS place, toFloat64(count()) AS count FROM ${table} WHERE site_id = {site:String}`,
      );
      return select<SiteRows>(warehouse, counts.join(' UNION ALL '), { site }, SIGNS_OF_LIFE);
    },
    /** Begins to delete which persons were merged; what they are found by is deleted after that. */
    deleteMerged: (site: string): Promise<void> => deletionOf(site).begin(MERGED),
    deleteRows: async (site: string): Promise<void> => {
      const deletion = deletionOf(site);
      for (const table of SITE_TABLES) await deletion.begin(table);
    },
    /** The tables from which rows of the site are still being deleted, on any server, each with whether that fails. */
    underWay: (site: string) => deletionOf(site).underWay(),
    /** Loads the persons again that queries resolve by. */
    end: (): Promise<void> => reloadPersons(warehouse, cluster),
  };
}
