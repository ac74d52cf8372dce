import { select } from '#test/harness/clickhouse.ts';
import type { SharedService } from '#test/harness/shared_service.ts';
import { until } from '#test/harness/until.ts';

/** Waits until a site has so many rows; a query that counts, as a client's tests store many. */
export async function untilCounted({ ready }: SharedService, site: string, count: number): Promise<void> {
  await until(
    `${count} rows of ${site}`,
    async () => {
      const query = 'SELECT toInt32(count()) AS rows FROM events WHERE site_id = {site:String}';
      const [row] = await select<{ rows: number }>(ready.clickhouse, query, { site });
      return row?.rows ?? 0;
    },
    (rows) => rows >= count,
    { timeoutMs: 120_000, everyMs: 250 },
  );
}

/** How far the times of a site's events lie from their arrival, in seconds. */
export async function timesOff({ ready }: SharedService, site: string): Promise<{ from: number; to: number }> {
  const [row] = await select<{ from: number; to: number }>(
    ready.clickhouse,
    `SELECT toInt32(min(dateDiff('second', timestamp, received_at))) AS from,
       toInt32(max(dateDiff('second', timestamp, received_at))) AS to
     FROM events WHERE site_id = {site:String}`,
    { site },
  );
  if (row === undefined) throw new Error('no row');
  return row;
}
