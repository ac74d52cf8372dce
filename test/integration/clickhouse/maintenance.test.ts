import { expect, test } from 'vitest';
import { insertBlock } from '#infra/clickhouse/client.ts';
import { dropAgedOfSites, dropAgedWeekly, keepDays } from '#infra/clickhouse/retention.ts';
import { readServerHealth, watchServerHealth } from '#infra/clickhouse/server_health.ts';
import { createMetrics } from '#infra/metrics/metrics.ts';
import { eventRow } from '#test/harness/event_row.ts';
import { until } from '#test/harness/until.ts';
import { sampleEvent } from '#test/unit/schemas/sample_event.ts';
import { type Database, rowsOf, useClickhouse } from './warehouse_world.ts';

const create = useClickhouse();
const DAY_MS = 86_400_000;

const row = (id: string, personId: string, timestamp = Date.now(), received_at = timestamp) =>
  eventRow({
    coordinate: { partition: 0, offset: 0, index: 0 },
    person: { person_id: personId, identifiers: null },
    event: sampleEvent({ event_id: id, timestamp, received_at }),
  });

async function persons(database: Database, of: string, table: string): Promise<string[]> {
  const rows = await rowsOf<{ person: string }>(database, `SELECT ${of} AS person FROM ${table} ORDER BY event_id`);
  return rows.map(({ person }) => person);
}

test('rows older than a table keeps them go, until it keeps them for ever again', async () => {
  const database = await create.migrated();
  const { warehouse } = database;
  const insert = (name: string): Promise<void> =>
    insertBlock(warehouse, 'event_rows', name, [
      row(`${name}-old`, 'p_1', Date.now() - 40 * DAY_MS),
      row(`${name}-late`, 'p_1', Date.now() - 700 * DAY_MS, Date.now()),
      row(`${name}-new`, 'p_1'),
    ]);
  const ids = async (): Promise<string[]> => persons(database, 'event_id', 'event_rows');
  await keepDays(warehouse, 'event_rows', 30);
  await keepDays(warehouse, 'event_rows', 30);
  await insert('one');
  await warehouse.command({ query: 'OPTIMIZE TABLE event_rows FINAL' });
  expect(await ids()).toEqual(['one-late', 'one-new']);
  await keepDays(warehouse, 'event_rows', 0);
  await keepDays(warehouse, 'event_rows', 0);
  await insert('two');
  await warehouse.command({ query: 'OPTIMIZE TABLE event_rows FINAL' });
  expect(await ids()).toEqual(['one-late', 'one-new', 'two-late', 'two-new', 'two-old']);
  const others = ['delivery_outcomes', 'inventory'] as const;
  for (const table of others) await keepDays(warehouse, table, 400);
  // Tests behind this one have the same tables, and rows of any time.
  for (const table of others) await keepDays(warehouse, table, 0);
});

test('the parts of the fullest partition and the free space are read, and told once where they cannot be', async () => {
  const { warehouse } = await create.migrated();
  await warehouse.command({ query: 'SYSTEM STOP MERGES repeat_checks' });
  for (const place of ['a', 'b', 'c']) {
    await warehouse.insert({
      table: 'repeat_checks',
      values: [{ place, checked_below: '0', checked_at: 0 }],
      format: 'JSONEachRow',
    });
  }
  const { parts, disks } = await readServerHealth(warehouse, null);
  expect(parts.find(({ table }) => table === 'repeat_checks')?.parts).toBeGreaterThanOrEqual(3);
  expect(disks.map(({ free }) => free > 0 && free <= 1)).toContain(true);
  await warehouse.command({ query: 'SYSTEM START MERGES repeat_checks' });

  const metrics = createMetrics('warehouse');
  const stop = watchServerHealth(warehouse, null, metrics, { warn: () => undefined } as never);
  await until(
    'the parts to be told',
    () => metrics.text(),
    (text) => /svc_clickhouse_parts\{table="\w+",/.test(text),
  );
  expect(await metrics.text()).toMatch(/svc_clickhouse_disk_free_ratio\{disk="\w+",stage="warehouse"\} 0\.\d+/);
  stop();

  const lines: string[] = [];
  const refusing = { query: () => Promise.reject(new Error('no rights')) };
  const refused = watchServerHealth(refusing as never, null, createMetrics('warehouse'), {
    warn: (_: object, line: string) => void lines.push(line),
  } as never);
  await until('it to be logged', () => lines.length);
  refused();
  expect(lines).toEqual(['parts and disks of ClickHouse not read']);
});

test('a rule that is so already changes nothing', async () => {
  const { warehouse } = await create.migrated();
  await keepDays(warehouse, 'inventory', 10);
  const query = `SELECT metadata_version AS version, metadata_modification_time AS at FROM system.tables WHERE name = 'inventory' AND database = currentDatabase()`;
  const before = await rowsOf({ warehouse }, query);
  await keepDays(warehouse, 'inventory', 10);
  expect(await rowsOf({ warehouse }, query)).toEqual(before);
  await keepDays(warehouse, 'inventory', 0);
});

test('rows that are too old are taken out once a week', async () => {
  const database = await create.migrated();
  for (let times = 0; times < 2; times++) await dropAgedWeekly(database.warehouse, 'duplicates');
  const query =
    "SELECT engine_full AS rule FROM system.tables WHERE database = currentDatabase() AND name = 'duplicates'";
  // Four hours by itself.
  expect((await rowsOf<{ rule: string }>(database, query))[0]?.rule).toContain('merge_with_ttl_timeout = 604800');
});

test('rows that a site keeps no longer are deleted once some are a week too old, and no others', async () => {
  const database = await create.migrated();
  const { warehouse } = database;
  const aged = (site_id: string, id: string, days: number, arrivedDays = days) => ({
    ...row(id, 'p_1', Date.now() - days * DAY_MS, Date.now() - arrivedDays * DAY_MS),
    site_id,
  });
  await insertBlock(warehouse, 'event_rows', 'aged', [
    ...[aged('few', 'few-1', 1), aged('few', 'few-32', 32), aged('few', 'few-late', 300, 2)],
    ...[aged('all', 'all-99', 99), aged('other', 'other-32', 32)],
  ]);
  const few = { siteId: 'few', days: 30 };
  const drop = () => dropAgedOfSites(warehouse, 'event_rows', [few, { siteId: 'other', days: 60 }]);
  const ids = (): Promise<string[]> => persons(database, 'event_id', 'event_rows');
  const before = ['all-99', 'few-1', 'few-32', 'few-late', 'other-32'];
  expect([await dropAgedOfSites(warehouse, 'event_rows', []), await drop(), await ids()]).toEqual([0, 0, before]);
  await insertBlock(warehouse, 'event_rows', 'older', [aged('few', 'few-38', 38)]);
  // In one month or in two; what is aged in another month than that of the oldest waits its week.
  expect(await drop()).toBeGreaterThan(0);
  const kept = (await ids()).filter((id) => id !== 'few-32');
  expect(kept).toEqual(['all-99', 'few-1', 'few-late', 'other-32']);
  expect(await drop()).toBe(0);
  const others = ['delivery_outcomes', 'inventory', 'duplicates'] as const;
  const dropped: number[] = [];
  for (const table of others) dropped.push(await dropAgedOfSites(warehouse, table, [few]));
  expect(dropped).toEqual([0, 0, 0]);
});
