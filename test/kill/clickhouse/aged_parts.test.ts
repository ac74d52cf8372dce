import { expect, onTestFinished, test } from 'vitest';
import { createWarehouse, type Warehouse } from '#infra/clickhouse/client.ts';
import { migrate } from '#infra/clickhouse/migrate.ts';
import { dropAgedWeekly } from '#infra/clickhouse/retention.ts';
import { useOwnParts } from '#test/harness/own_parts.ts';
import { until } from '#test/harness/until.ts';
import { rowsOf } from '#test/integration/clickhouse/warehouse_world.ts';

const parts = useOwnParts('clickhouse');

async function migrated(name: string): Promise<{ warehouse: Warehouse; url: string }> {
  const root = createWarehouse(parts().addresses.clickhouseUrl);
  await root.command({ query: `CREATE DATABASE ${name}` });
  await root.close();
  const url = new URL(parts().addresses.clickhouseUrl);
  url.pathname = `/${name}`;
  const warehouse = createWarehouse(url.href);
  onTestFinished(() => warehouse.close());
  await migrate(warehouse, url.href);
  return { warehouse, url: url.href };
}

/** How often the newest part of the table was written anew. */
async function levelOf(database: { warehouse: Warehouse; url: string }): Promise<number> {
  const query =
    "SELECT max(level) AS level FROM system.parts WHERE database = currentDatabase() AND table = 'duplicates' AND active";
  return Number((await rowsOf<{ level: number }>(database, query))[0]?.level);
}

/** It takes the server's own time: rows must grow too old, and the server must come to look. */
test('rows that grow too old one after the other do not have their part written anew each time', {
  timeout: 300_000,
}, async () => {
  const [often, weekly] = [await migrated('often'), await migrated('weekly')];
  await often.warehouse.command({ query: 'ALTER TABLE duplicates MODIFY SETTING merge_with_ttl_timeout = 1' });
  await dropAgedWeekly(weekly.warehouse, 'duplicates');
  for (const { warehouse } of [often, weekly]) {
    // Kept for 30 days: one of them is too old already, and one more each second.
    const query = `INSERT INTO duplicates (site_id, event_id, received_at)
      SELECT 'site', toString(number), now() - toIntervalDay(30) + toIntervalSecond(number) FROM numbers(1000)`;
    await warehouse.command({ query });
  }
  const untilLevel = (wanted: number) =>
    until(
      'the part to be written anew again and again',
      () => levelOf(often),
      (level) => level >= wanted,
      { timeoutMs: 120_000 },
    );
  await untilLevel(4);
  const before = await levelOf(weekly);
  await untilLevel(10);
  expect(await levelOf(weekly)).toBe(before);
});
