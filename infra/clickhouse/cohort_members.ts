// Lists of cohorts: members are added, copied, counted, and deleted with their list.

import { AT_ONCE, insertRows, run, select, type Warehouse } from './client.ts';
import { alterRows, type Cluster } from './cluster.ts';

/** A member as the rows of events have it: a person as derived from a distinct id, or a hash. */
export interface CohortMember {
  kind: 'person' | 'email' | 'phone' | 'external_id';
  value: string;
}

export interface CohortLists {
  /** Adds members; one that is there already stays once. */
  add(siteId: string, list: string, members: readonly CohortMember[]): Promise<void>;
  /** Adds the members of a list to another one but for some; again adds those that came since. */
  copy(siteId: string, from: string, to: string, without: readonly CohortMember[]): Promise<void>;
  /** How many members a list has, and how many it has with all lists of its cohort, those that are to take its place among them. */
  count(siteId: string, list: string): Promise<{ listed: number; together: number }>;
  /**
   * Begins to delete what some lists had, and any list had a day ago, that are no cohort's.
   *
   * @param gone A list, or `COHORT.`: all lists of a cohort begin so.
   * @param live The lists that cohorts of the site have.
   */
  forget(siteId: string, gone: string, live: readonly string[], nowMs: number): Promise<void>;
}

const DAY_MS = 86_400_000;
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
    copy: (site, from, to, without) =>
      run(
        warehouse,
        `INSERT INTO cohort_members (site_id, list, kind, value) SELECT site_id, {to:String}, kind, value FROM cohort_members
         WHERE site_id = {site:String} AND list = {from:String} AND (kind, value) GLOBAL NOT IN (SELECT arrayJoin(arrayZip({kinds:Array(String)}, {values:Array(String)})))`,
        { site, from, to, kinds: without.map(({ kind }) => kind), values: without.map(({ value }) => value) },
        AT_ONCE,
      ),
    async count(site, list) {
      const [row] = await select<{ listed: number; together: number }>(
        warehouse,
        `SELECT toUInt32(uniqExactIf((kind, value), list = {list:String})) AS listed, toUInt32(uniqExact(list, kind, value)) AS together
         FROM cohort_members WHERE site_id = {site:String} AND startsWith(list, {cohort:String})`,
        { site, list, cohort: list.replace(/[^.]*$/, '') },
      );
      return row ?? { listed: 0, together: 0 };
    },
    forget(siteId, gone, live, nowMs) {
      const isNoMore = live.length === 0 ? 'true' : `list NOT IN (${live.map(quoted).join(', ')})`;
      const isOld = `added_at < fromUnixTimestamp64Milli(toInt64(${nowMs - DAY_MS}))`;
      const isGone = `site_id = ${quoted(siteId)} AND ${isNoMore} AND (startsWith(list, ${quoted(gone)}) OR ${isOld})`;
      return alterRows(warehouse, cluster, 'cohort_members', `DELETE WHERE ${isGone}`);
    },
  };
}
