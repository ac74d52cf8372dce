// Lists of cohorts: members are added, counted, and deleted with their list.

import { insertRows, select, type Warehouse } from './client.ts';
import { alterRows, type Cluster } from './cluster.ts';

/** A member as the rows of events have it: a person as derived from a distinct id, or a hash. */
export interface CohortMember {
  kind: 'person' | 'email' | 'phone' | 'external_id';
  value: string;
}

export interface CohortLists {
  /** Adds members; one that is there already stays once. */
  add(siteId: string, list: string, members: readonly CohortMember[]): Promise<void>;
  /** How many members a list has. */
  count(siteId: string, list: string): Promise<number>;
  /**
   * Begins to delete what lists of a cohort had, and any list had a day ago, that are no more.
   *
   * @param live The lists that cohorts of the site have: `COHORT.` and what is of the list alone.
   */
  forget(siteId: string, cohort: string, live: readonly string[], nowMs: number): Promise<void>;
}

const DAY_MS = 86_400_000;
/** A member is there for whoever asks behind it, on a cluster on its shard. */
const AT_ONCE = { async_insert: 0, distributed_foreground_insert: 1 } as const;
/** Ids of sites and lists are letters, digits and what joins them: they may stand in a statement. */
const quoted = (id: string): string => `'${id}'`;

/** Lists in ClickHouse. Everything throws WarehouseError. */
export function createCohortLists(warehouse: Warehouse, cluster: Cluster | null): CohortLists {
  return {
    add: (site_id, list, members) =>
      insertRows(
        warehouse,
        'cohort_members',
        members.map(({ kind, value }) => ({ site_id, list, kind, value })),
        AT_ONCE,
      ),
    async count(site, list) {
      const [row] = await select<{ members: number }>(
        warehouse,
        'SELECT toUInt32(uniqExact(kind, value)) AS members FROM cohort_members WHERE site_id = {site:String} AND list = {list:String}',
        { site, list },
      );
      return row?.members ?? 0;
    },
    forget(siteId, cohort, live, nowMs) {
      const isNoMore = live.length === 0 ? 'true' : `list NOT IN (${live.map(quoted).join(', ')})`;
      const isOld = `added_at < fromUnixTimestamp64Milli(toInt64(${nowMs - DAY_MS}))`;
      const isGone = `site_id = ${quoted(siteId)} AND ${isNoMore} AND (startsWith(list, ${quoted(`${cohort}.`)}) OR ${isOld})`;
      return alterRows(warehouse, cluster, 'cohort_members', `DELETE WHERE ${isGone}`);
    },
  };
}
