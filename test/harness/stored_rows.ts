import { select } from './clickhouse.ts';
import { until } from './until.ts';

/** Whatever says where ClickHouse is, as the shared service does. */
interface Warehouse {
  ready: { clickhouse: string };
}

/** The ids of a site's rows in the view `events`, each as often as it is there, in no order. */
export async function storedIds({ ready }: Warehouse, site: string): Promise<string[]> {
  const rows = await select<{ event_id: string }>(
    ready.clickhouse,
    'SELECT event_id FROM events WHERE site_id = {site:String}',
    { site },
  );
  return rows.map(({ event_id }) => event_id);
}

/** Waits until a site has this many rows. */
export async function untilStored(service: Warehouse, site: string, count: number): Promise<void> {
  await until(
    `${count} rows of ${site} in ClickHouse`,
    async () => (await storedIds(service, site)).length,
    (seen) => seen >= count,
  );
}

/** Events of the account that were settled against its allowance, by what the quota stage published last. */
export async function settledUsage({ ready }: Warehouse, account: string): Promise<number> {
  const [row] = await select<{ used: number }>(
    ready.clickhouse,
    `SELECT toInt32(sum(used)) AS used FROM (
       SELECT argMax(used, settled_offset) AS used FROM quota_usage WHERE account_id = {account:String} GROUP BY month, partition
     )`,
    { account },
  );
  return row?.used ?? 0;
}
