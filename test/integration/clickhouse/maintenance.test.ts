import { expect, test } from 'vitest';
import { insertBlock } from '#infra/clickhouse/client.ts';
import { dropAgedWeekly, keepDays } from '#infra/clickhouse/maintenance.ts';
import { eventRow } from '#test/harness/event_row.ts';
import { until } from '#test/harness/until.ts';
import { sampleEvent } from '#test/unit/schemas/sample_event.ts';
import { type Database, rowsOf, useClickhouse } from './warehouse_world.ts';

const create = useClickhouse();
const DAY_MS = 86_400_000;

const row = (id: string, personId: string, timestamp = Date.now()) =>
  eventRow({
    coordinate: { partition: 0, offset: 0, index: 0 },
    person: { person_id: personId, identifiers: null },
    event: sampleEvent({ event_id: id, timestamp }),
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
      row(`${name}-new`, 'p_1'),
    ]);
  const ids = async (): Promise<string[]> => persons(database, 'event_id', 'event_rows');
  await keepDays(warehouse, 'event_rows', 30);
  await keepDays(warehouse, 'event_rows', 30);
  await insert('one');
  await warehouse.command({ query: 'OPTIMIZE TABLE event_rows FINAL' });
  expect(await ids()).toEqual(['one-new']);
  await keepDays(warehouse, 'event_rows', 0);
  await keepDays(warehouse, 'event_rows', 0);
  await insert('two');
  await warehouse.command({ query: 'OPTIMIZE TABLE event_rows FINAL' });
  expect(await ids()).toEqual(['one-new', 'two-new', 'two-old']);
  const others = ['event_hours', 'delivery_outcomes', 'inventory'] as const;
  for (const table of others) await keepDays(warehouse, table, 400);
  // Tests behind this one have the same tables, and rows of any time.
  for (const table of others) await keepDays(warehouse, table, 0);
});

test('a rule that is so already changes nothing', async () => {
  const { warehouse, url } = await create.migrated();
  await keepDays(warehouse, 'inventory', 10);
  const query = `SELECT metadata_version AS version, metadata_modification_time AS at FROM system.tables WHERE name = 'inventory' AND database = currentDatabase()`;
  const before = await rowsOf({ warehouse, url }, query);
  await keepDays(warehouse, 'inventory', 10);
  expect(await rowsOf({ warehouse, url }, query)).toEqual(before);
  await keepDays(warehouse, 'inventory', 0);
});

/** How often the newest part of the table was written anew. */
async function levelOf(database: Database): Promise<number> {
  const query =
    "SELECT max(level) AS level FROM system.parts WHERE database = currentDatabase() AND table = 'duplicates' AND active";
  return Number((await rowsOf<{ level: number }>(database, query))[0]?.level);
}

test('rows that grow too old one after the other do not have their part written anew each time', {
  timeout: 120_000,
}, async () => {
  const [often, weekly] = [await create.migrated(), await create.migrated()];
  await often.warehouse.command({ query: 'ALTER TABLE duplicates MODIFY SETTING merge_with_ttl_timeout = 1' });
  for (let times = 0; times < 2; times++) await dropAgedWeekly(weekly.warehouse, 'duplicates');
  for (const { warehouse } of [often, weekly]) {
    // Kept for 30 days: one of them is too old already, and one more each second.
    const query = `INSERT INTO duplicates (site_id, event_id, received_at)
      SELECT 'site', toString(number), now() - toIntervalDay(30) + toIntervalSecond(number) FROM numbers(300)`;
    await warehouse.command({ query });
  }
  const untilLevel = (wanted: number) =>
    until(
      'the part to be written anew again and again',
      () => levelOf(often),
      (level) => level >= wanted,
    );
  await untilLevel(4);
  const before = await levelOf(weekly);
  await untilLevel(10);
  expect(await levelOf(weekly)).toBe(before);
  const settings =
    "SELECT engine_full AS rule FROM system.tables WHERE database = currentDatabase() AND name = 'duplicates'";
  // Four hours by itself.
  expect((await rowsOf<{ rule: string }>(weekly, settings))[0]?.rule).toContain('merge_with_ttl_timeout = 604800');
});
