import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { migrate, statementsOf } from '#infra/clickhouse/migrate.ts';
import { rowsOf, useClickhouse } from './warehouse_world.ts';

const FOLDER = new URL('../../../infra/clickhouse/migrations/', import.meta.url);
const NAMES = readdirSync(FOLDER).sort();
const create = useClickhouse();

test('every migration is applied once', async () => {
  const database = await create();
  expect(await migrate(database.warehouse, database.url)).toEqual({ applied: NAMES, mismatches: [] });
  expect(await migrate(database.warehouse, database.url)).toEqual({ applied: [], mismatches: [] });
  expect(await rowsOf(database, 'SELECT count() AS c FROM schema_migrations')).toEqual([{ c: NAMES.length }]);
});

test('a migration that changed and one that is unknown are told and not applied', async () => {
  const database = await create();
  await migrate(database.warehouse, database.url);
  const [first] = NAMES;
  await database.warehouse.command({
    query: `ALTER TABLE schema_migrations UPDATE checksum = 'other' WHERE name = '${first}' SETTINGS mutations_sync = 1`,
  });
  await database.warehouse.command({
    query: `INSERT INTO schema_migrations (name, checksum) VALUES ('9999.sql', 'x')`,
  });
  const { applied, mismatches } = await migrate(database.warehouse, database.url);
  expect(applied).toEqual([]);
  expect(mismatches.sort((a, b) => (a.name < b.name ? -1 : 1))).toEqual([
    { name: first, reason: 'changed' },
    { name: '9999.sql', reason: 'unknown' },
  ]);
});

test('a migration that stopped after any statement is finished by the next run', { timeout: 60_000 }, async () => {
  const text = readFileSync(new URL(NAMES[0] ?? '', FOLDER), 'utf8');
  const whole = await create();
  await migrate(whole.warehouse, whole.url);
  const tables = 'SELECT name, engine FROM system.tables WHERE database = currentDatabase() ORDER BY name';
  const count = statementsOf(text, whole.url).length;
  expect(count).toBeGreaterThan(3);
  for (let done = 1; done <= count; done++) {
    const database = await create();
    for (const query of statementsOf(text, database.url).slice(0, done)) await database.warehouse.command({ query });
    expect((await migrate(database.warehouse, database.url)).applied).toEqual(NAMES);
    expect(await rowsOf(database, tables)).toEqual(await rowsOf(whole, tables));
  }
});
