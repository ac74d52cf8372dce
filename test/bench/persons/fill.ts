import type { Warehouse } from '#infra/clickhouse/client.ts';
import { one } from '../warehouse_alone.ts';

const BLOCK = 2_000_000;

/** Makes it so many persons that were merged yesterday. */
export async function fillTo(warehouse: Warehouse, persons: number): Promise<void> {
  const found = await one<{ there: number }>(warehouse, 'SELECT count() AS there FROM merged_persons');
  for (let from = Number(found?.there ?? 0); from < persons; from += BLOCK) {
    const count = Math.min(BLOCK, persons - from);
    await warehouse.command({
      query: `INSERT INTO merged_persons (key, actor, person, leads, version, changed_at)
        SELECT cityHash64('shop', cityHash64(number)), sipHash64(intDiv(number, 2)), MD5(toString(intDiv(number, 2))), 0,
          1790000000000000 + number, now64(3) - toIntervalDay(1)
        FROM numbers(${from}, ${count}) SETTINGS max_threads = 1`,
    });
  }
}
