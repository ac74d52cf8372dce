import { createWarehouse } from '#infra/clickhouse/client.ts';
import { alterRows } from '#infra/clickhouse/cluster.ts';
import { select } from '#test/harness/clickhouse.ts';
import type { World } from '../world/fault_world.ts';
import { canonical } from './people.ts';

/** How many rows each event id of a site has in the table, without FINAL. */
export async function rowsById({ ready }: Pick<World, 'ready'>, site: string): Promise<Map<string, number>> {
  const rows = await select<{ event_id: string; times: number }>(
    ready.clickhouse,
    'SELECT sent_id AS event_id, toUInt32(count()) AS times FROM event_rows WHERE site_id = {site:String} GROUP BY sent_id',
    { site },
  );
  return new Map(rows.map(({ event_id, times }) => [event_id, times]));
}

/** The distinct ids of each person of a site, merges resolved. */
export async function storedPeople({ ready }: Pick<World, 'ready'>, site: string): Promise<string[][]> {
  const rows = await select<{ ids: string[] }>(
    ready.clickhouse,
    'SELECT groupUniqArray(distinct_id) AS ids FROM events WHERE site_id = {site:String} GROUP BY person_id',
    { site },
  );
  return canonical(rows.map(({ ids }) => ids));
}

/** How often each event of a site was noted as delivered, as `destination event`. No merge ever thins this table out. */
export async function deliveredOutcomes({ ready }: Pick<World, 'ready'>, site: string): Promise<Map<string, number>> {
  const rows = await select<{ name: string; times: number }>(
    ready.clickhouse,
    `SELECT concat(destination, ' ', event_id) AS name, toUInt32(count()) AS times FROM delivery_outcomes
     WHERE site_id = {site:String} AND outcome = 'delivered' GROUP BY name`,
    { site },
  );
  return new Map(rows.map(({ name, times }) => [name, times]));
}

/**
 * The largest part that merges may make, so that they make none. Other than `SYSTEM STOP MERGES` it outlives a kill. Of an hour's
 * blocks more parts are left than an insert is taken at (3,000) otherwise.
 */
const WITHOUT_MERGES = {
  max_bytes_to_merge_at_max_space_in_pool: 1,
  max_bytes_to_merge_at_min_space_in_pool: 1,
  parts_to_delay_insert: 100_000,
  parts_to_throw_insert: 100_000,
};

/** Stops or starts the merges of the events' table: they would take a second row of an event away before it is seen. */
export async function setMerging(world: Pick<World, 'ready' | 'special'>, merging: 'STOP' | 'START'): Promise<void> {
  const settings = Object.entries(WITHOUT_MERGES).map(([name, value]) =>
    merging === 'STOP' ? `${name} = ${value}` : name,
  );
  const change = `${merging === 'STOP' ? 'MODIFY' : 'RESET'} SETTING ${settings.join(', ')}`;
  const warehouse = createWarehouse(world.ready.clickhouse);
  try {
    await alterRows(warehouse, world.special.shards?.cluster ?? null, 'event_rows', change);
  } finally {
    await warehouse.close();
  }
}
