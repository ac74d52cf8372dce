import type { Warehouse } from './client.ts';
import { localTable } from './cluster.ts';

/** Two times in milliseconds since 1970 UTC; the second is not part of it. */
export interface Span {
  from: number;
  to: number;
}

/** About how many events a site has in a time; null where that is not to be had. */
export type EstimateRows = (siteId: string, span: Span) => Promise<number | null>;

const DAY_MS = 86_400_000;
/** A site that grows does not change its order of magnitude sooner. */
const KEPT_MS = 300_000;
const KEPT_MAX = 5_000;

/**
 * Estimates by the primary key, which ClickHouse has in memory: no row is read. Of a cluster one shard is looked at, which has
 * its part of every site.
 */
export function createRowEstimates(warehouse: Warehouse, cluster: string | null, nowMs: () => number): EstimateRows {
  const kept = new Map<string, { atMs: number; rows: Promise<number | null> }>();
  const query = `SELECT sum(rows) AS found FROM (EXPLAIN ESTIMATE SELECT event FROM ${localTable('event_rows', cluster)}
    WHERE site_id = {site:String} AND timestamp >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND timestamp < fromUnixTimestamp64Milli({to:Int64}, 'UTC'))`;

  async function ask(site: string, { from, to }: Span): Promise<number | null> {
    try {
      const result = await warehouse.query({ query, query_params: { site, from, to }, format: 'JSONEachRow' });
      const [row] = await result.json<{ found: number }>();
      return Number(row?.found ?? 0);
    } catch {
      // The question itself will say what is wrong with ClickHouse.
      return null;
    }
  }

  return (siteId, { from, to }) => {
    const days = { from: Math.floor(from / DAY_MS) * DAY_MS, to: Math.ceil(to / DAY_MS) * DAY_MS };
    const name = `${siteId}/${days.from}/${days.to}`;
    const before = kept.get(name);
    if (before !== undefined && nowMs() - before.atMs < KEPT_MS) return before.rows;
    const rows = ask(siteId, days);
    kept.delete(name);
    kept.set(name, { atMs: nowMs(), rows });
    const [oldest] = kept.keys();
    if (kept.size > KEPT_MAX && oldest !== undefined) kept.delete(oldest);
    return rows;
  };
}
