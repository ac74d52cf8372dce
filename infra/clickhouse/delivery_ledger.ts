import { select, type Warehouse } from './client.ts';

export interface LedgerPosition {
  partition: number;
  offset: number;
  index: number;
}

export interface LedgerQuery {
  destination: string;
  siteIds: readonly string[];
  /** When the first and the last of them arrived at the edge, both included; milliseconds since 1970 UTC. */
  arrived: { firstMs: number; lastMs: number };
  places: readonly LedgerPosition[];
}

export interface LedgerRow extends LedgerPosition {
  delivered: boolean;
  latest: string;
  /** When that was attempted; milliseconds since 1970 UTC. */
  latestAtMs: number;
}

interface Raw {
  p: number;
  o: number | string;
  i: number;
  delivered: number;
  latest: string;
  latest_at: number;
}

/** Clocks of different machines may differ by this. */
const CLOCK_MARGIN_MS = 3_600_000;

/**
 * The outcomes of some events from `delivery_outcomes`; events without one are left out. The number of coordinates asked for
 * limits the size of the answer, and how far apart they arrived what is read: rows that were written since, which may be those of
 * weeks, are passed over by an index. @throws WarehouseError
 */
export async function queryLedger(warehouse: Pick<Warehouse, 'query'>, question: LedgerQuery): Promise<LedgerRow[]> {
  const { destination, siteIds, arrived, places } = question;
  if (places.length === 0) return [];
  const tuples = places.map(({ partition, offset, index }) => `(${partition},${offset},${index})`).join(',');
  const query = `
    SELECT coordinate_partition AS p, coordinate_offset AS o, coordinate_index AS i,
           max(outcome = 'delivered') AS delivered, argMax(outcome, attempted_at) AS latest,
           toFloat64(toUnixTimestamp64Milli(max(attempted_at))) AS latest_at
    FROM delivery_outcomes
    WHERE site_id IN {sites:Array(String)} AND destination = {destination:String}
      AND attempted_at >= fromUnixTimestamp64Milli({since:Int64})
      AND received_at >= fromUnixTimestamp64Milli({first:Int64}) AND received_at <= fromUnixTimestamp64Milli({last:Int64})
      AND (coordinate_partition, coordinate_offset, coordinate_index) IN (${tuples})
    GROUP BY p, o, i`;
  const { firstMs: first, lastMs: last } = arrived;
  const since = Math.max(0, first - CLOCK_MARGIN_MS);
  const rows = await select<Raw>(warehouse, query, { sites: [...siteIds], destination, since, first, last });
  return rows.map(({ p: partition, o, i: index, delivered, latest, latest_at: latestAtMs }) => ({
    ...{ partition, offset: Number(o), index },
    delivered: delivered === 1,
    ...{ latest, latestAtMs },
  }));
}
