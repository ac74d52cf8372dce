import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { insertBlock } from '#infra/clickhouse/client.ts';
import { migrate, renewDictionaries, statementsOf } from '#infra/clickhouse/migrate.ts';
import { definitionsOf, runInRounds } from '#infra/clickhouse/new_servers.ts';
import { eventRow } from '#test/harness/event_row.ts';
import { until } from '#test/harness/until.ts';
import { sampleEvent } from '#test/unit/schemas/sample_event.ts';
import { type Database, rowsOf, useClickhouse } from './warehouse_world.ts';

const BASELINE = '0001_baseline.sql';
const HOURS = '0004_counts_by_query.sql';
const SMALLER = '0007_smaller_parts.sql';
const TEXTS = '0008_property_texts.sql';
const PLAIN_TEXTS = '0016_plain_texts.sql';
const UUIDS = '0015_uuids.sql';
const SENT_ID = '0018_sent_id.sql';
const LATER = [
  '0009_person_seen.sql',
  '0010_visitors.sql',
  '0011_visits.sql',
  '0012_currency_rates.sql',
  '0013_merges.sql',
  '0014_cohort_members.sql',
  '0015_historical.sql',
  UUIDS,
  PLAIN_TEXTS,
  '0017_no_statistics.sql',
  SENT_ID,
  '0019_outcomes_by_arrival.sql',
];
const CHANGES = ['0005_more_parts_a_merge.sql', '0006_consent.sql', SMALLER, TEXTS, ...LATER];
const ALL = [BASELINE, '0002_names_of_copies.sql', '0003_erasing.sql', HOURS, ...CHANGES];
const textOf = (name: string): string =>
  readFileSync(new URL(`../../../infra/clickhouse/migrations/${name}`, import.meta.url), 'utf8');
const create = useClickhouse();

/** A folder of a test's own migrations; more can be put into it. */
function folderWith(files: Record<string, string>): { url: URL; put(name: string, text: string): void } {
  const folder = mkdtempSync(join(tmpdir(), 'migrations-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const put = (name: string, text: string): void => writeFileSync(join(folder, name), text);
  for (const [name, text] of Object.entries(files)) put(name, text);
  return { url: pathToFileURL(`${folder}/`), put };
}

test('each migration is applied once', async () => {
  const database = await create();
  expect(await migrate(database.warehouse, database.url)).toEqual({ applied: ALL, mismatches: [] });
  expect(await migrate(database.warehouse, database.url)).toEqual({ applied: [], mismatches: [] });
  expect(await rowsOf(database, 'SELECT name FROM schema_migrations ORDER BY name')).toEqual(
    ALL.map((name) => ({ name })),
  );
});

test('a baseline that stopped after any statement is finished by the next run', { timeout: 60_000 }, async () => {
  const text = textOf(BASELINE);
  const folder = folderWith({ [BASELINE]: text });
  const whole = await create();
  await migrate(whole.warehouse, whole.url, null, folder.url);
  const tables = 'SELECT name, engine FROM system.tables WHERE database = currentDatabase() ORDER BY name';
  const count = statementsOf(text, whole.url).length;
  expect(count).toBeGreaterThan(3);
  for (let done = 1; done <= count; done++) {
    const database = await create();
    for (const query of statementsOf(text, database.url).slice(0, done)) await database.warehouse.command({ query });
    const { applied } = await migrate(database.warehouse, database.url, null, folder.url);
    expect(applied).toEqual([BASELINE]);
    expect(await rowsOf(database, tables)).toEqual(await rowsOf(whole, tables));
  }
});

test('hours are counted from the rows there were, though that change stopped half way', async () => {
  const database = await create();
  const { warehouse, url } = database;
  const before = ALL.filter((name) => name !== HOURS);
  const folder = folderWith(Object.fromEntries(before.map((name) => [name, textOf(name)])));
  await migrate(warehouse, url, null, folder.url);
  const event = sampleEvent({ value: 2, timestamp: Date.UTC(2026, 9, 5, 12, 30) });
  await insertBlock(warehouse, 'event_rows', 'before', [eventRow({ coordinate: null, person: null, event })]);
  const hours = () => rowsOf(database, 'SELECT * FROM event_hours');
  const counted = await hours();
  expect(counted).toMatchObject([{ site_id: 'shop', hour: '2026-10-05 12:00:00', event: 'page_view', value: 2 }]);
  for (const query of statementsOf(textOf(HOURS), url)) await warehouse.command({ query });
  await migrate(warehouse, url);
  expect(await hours()).toEqual(counted);
});

/** Also what is computed, and what only `event_rows` has. */
const WHOLE_ROWS =
  'SELECT *, property_texts, person_hash, event_hash, person_id, actor FROM event_rows ORDER BY event_id';
const PROPERTIES = { plan: 'pro', 'Größe "x"': 12.5, empty: '', deep: { a: [1, null, true] }, nothing: null };

/** Fifty rows of seven visitors. */
const rowsFrom = (first: number) =>
  Array.from({ length: 50 }, (_, index) => {
    const [event_id, distinct_id, value] = [`e${first + index}`, `d${index % 7}`, index % 2 === 0 ? index : null];
    const event = sampleEvent({ event_id, distinct_id, value, properties: JSON.stringify(PROPERTIES) });
    return eventRow({ coordinate: null, person: { person_id: `p_${distinct_id}`, identifiers: null }, event });
  });

/** Rows with all columns but those by which ids are numbers, which the table has only later. */
async function wholeRows(database: Database): Promise<object[]> {
  const rows = await rowsOf<Record<string, unknown>>(database, WHOLE_ROWS);
  return rows.map(({ uuid_high: _high, uuid_mixed: _mixed, ...row }) => row);
}

test('rows of before parts were made smaller, and texts of properties sent, are the same, beside new ones and merged with them', async () => {
  const database = await create();
  const { warehouse, url } = database;
  // With all columns, so that rows of today go in.
  const before = ALL.filter((name) => ![SMALLER, TEXTS, UUIDS, SENT_ID].includes(name));
  const folder = folderWith(Object.fromEntries(before.map((name) => [name, textOf(name)])));
  await migrate(warehouse, url, null, folder.url);
  await insertBlock(warehouse, 'event_rows', 'old', rowsFrom(100));
  const old = await wholeRows(database);
  expect(old).toHaveLength(50);

  // It stopped half way, and is run again.
  const [first = ''] = statementsOf(textOf(SMALLER), url);
  await warehouse.command({ query: first });
  await migrate(warehouse, url);
  await insertBlock(warehouse, 'event_rows', 'old', rowsFrom(100));
  await insertBlock(warehouse, 'event_rows', 'new', rowsFrom(200));
  const beside = await wholeRows(database);
  expect(beside).toHaveLength(100);
  expect(beside.slice(0, 50)).toEqual(old);
  await warehouse.command({ query: 'OPTIMIZE TABLE event_rows FINAL' });
  expect(await wholeRows(database)).toEqual(beside);
  const projected = `SELECT name, toUInt32(sum(rows)) AS rows FROM system.projection_parts
    WHERE active AND database = currentDatabase() GROUP BY name ORDER BY name`;
  expect(await rowsOf(database, projected)).toEqual([
    { name: 'persons_by_visitor', rows: 7 },
    { name: 'rows_by_person', rows: 100 },
  ]);
});

test('rows of before columns of few values were texts are the same in small and large parts, before they are rewritten and after', async () => {
  const database = await create();
  const { warehouse, url } = database;
  const before = ALL.filter((name) => name !== PLAIN_TEXTS && name !== SENT_ID);
  await migrate(warehouse, url, null, folderWith(Object.fromEntries(before.map((name) => [name, textOf(name)]))).url);
  const command = (query: string) => warehouse.command({ query });
  await insertBlock(warehouse, 'event_rows', 'small', rowsFrom(100));
  await command('ALTER TABLE event_rows MODIFY SETTING min_bytes_for_wide_part = 0');
  await insertBlock(warehouse, 'event_rows', 'large', rowsFrom(150));
  const old = await wholeRows(database);
  await command('SYSTEM STOP MERGES event_rows');
  await migrate(warehouse, url);
  const unfinished = 'SELECT mutation_id FROM system.mutations WHERE database = currentDatabase() AND NOT is_done';
  expect(await rowsOf(database, unfinished)).not.toEqual([]);
  expect(await wholeRows(database)).toEqual(old);

  await insertBlock(warehouse, 'event_rows', 'new', rowsFrom(200));
  const beside = await wholeRows(database);
  expect(beside.slice(0, 100)).toEqual(old);
  await command('SYSTEM START MERGES event_rows');
  await until(
    'old parts to be rewritten',
    () => rowsOf(database, unfinished),
    (rows) => rows.length === 0,
  );
  expect(await wholeRows(database)).toEqual(beside);
  await command('OPTIMIZE TABLE event_rows FINAL');
  expect(await wholeRows(database)).toEqual(beside);
  const few = `SELECT name FROM system.columns WHERE database = currentDatabase() AND table = 'event_rows'
    AND type LIKE 'LowCardinality%' ORDER BY name`;
  expect(await rowsOf(database, few)).toEqual([{ name: 'arrival' }, { name: 'event' }, { name: 'site_id' }]);
});

const THINGS = `-- Things; with a semicolon at the end of a comment;
CREATE TABLE things
(
    -- Of a thing
    id UInt8,
    note String DEFAULT '-- no comment' -- nor this
)
ENGINE = MergeTree ORDER BY id;

INSERT INTO things (id) VALUES (1);
`;

test('migrations that are added later are applied in order, once, and keep the rows', async () => {
  const { warehouse, url } = await create();
  const folder = folderWith({ '0001_things.sql': THINGS });
  const run = () => migrate(warehouse, url, null, folder.url);
  expect(await run()).toEqual({ applied: ['0001_things.sql'], mismatches: [] });
  folder.put('0003_doubled.sql', 'ALTER TABLE things UPDATE size = 2 * size WHERE true SETTINGS mutations_sync = 1;');
  folder.put('0002_size.sql', 'ALTER TABLE things ADD COLUMN IF NOT EXISTS size UInt8 DEFAULT id + 20;\n');
  folder.put('notes.txt', 'no SQL');
  expect(await run()).toEqual({ applied: ['0002_size.sql', '0003_doubled.sql'], mismatches: [] });
  expect(await run()).toEqual({ applied: [], mismatches: [] });
  expect(await rowsOf({ warehouse }, 'SELECT * FROM things')).toEqual([{ id: 1, note: '-- no comment', size: 42 }]);
});

test('a migration that fails is not taken as applied, and what comes before it is', async () => {
  const { warehouse, url } = await create();
  const later = (table: string): string =>
    `CREATE TABLE more (a Int8) ENGINE = Log;\nALTER TABLE ${table} DELETE WHERE 1;\n`;
  const folder = folderWith({ '0001_things.sql': THINGS, '0002_more.sql': later('nothing') });
  const run = () => migrate(warehouse, url, null, folder.url);
  await expect(run()).rejects.toThrow(/nothing/);
  const names = 'SELECT name FROM schema_migrations ORDER BY name';
  expect(await rowsOf({ warehouse }, names)).toEqual([{ name: '0001_things.sql' }]);
  // The first of its statements was executed already.
  folder.put('0002_more.sql', later('things'));
  expect(await run()).toEqual({ applied: ['0002_more.sql'], mismatches: [] });
});

test('a migration that changed and one that is unknown are told and not applied', async () => {
  const { warehouse, url } = await create();
  const folder = folderWith({ '0001_things.sql': THINGS });
  await migrate(warehouse, url, null, folder.url);
  await warehouse.command({ query: `INSERT INTO schema_migrations (name, checksum) VALUES ('9999.sql', 'x')` });
  folder.put('0001_things.sql', THINGS.replace('things', 'other_things'));
  const { applied, mismatches } = await migrate(warehouse, url, null, folder.url);
  expect(applied).toEqual([]);
  expect(mismatches.sort((a, b) => (a.name < b.name ? -1 : 1))).toEqual([
    { name: '0001_things.sql', reason: 'changed' },
    { name: '9999.sql', reason: 'unknown' },
  ]);
});

test('what a database has now makes another one the same, whatever the order, and is SQL for a whole cluster', {
  timeout: 60_000,
}, async () => {
  const [from, to] = [await create(), await create()];
  await migrate(from.warehouse, from.url, null);
  await renewDictionaries(from.warehouse, from.url);
  const [one, other] = [from, to].map(({ url }) => new URL(url).pathname.slice(1)) as [string, string];
  const statements = await definitionsOf(from.warehouse, '');
  const copied = statements.map((statement) => statement.replaceAll(`${one}.`, `${other}.`));
  // Dictionaries come from the migrations, as there.
  const dictionaries = `SELECT replaceAll(create_table_query, '${one}', '${other}') AS query FROM system.tables
    WHERE database = '${one}' AND engine = 'Dictionary' SETTINGS format_display_secrets_in_show_and_select = 1`;
  const made = await rowsOf<{ query: string }>(from, dictionaries);
  const all = [
    ...copied,
    ...made.map(({ query }) => query.replace('CREATE DICTIONARY', 'CREATE DICTIONARY IF NOT EXISTS')),
  ];
  await runInRounds(to.warehouse, all.toReversed(), {});
  // Where everything is there, nothing is done.
  await runInRounds(to.warehouse, copied, {});
  const tables = `SELECT name, engine, replaceAll(create_table_query, currentDatabase(), 'db') AS query FROM system.tables
    WHERE database = currentDatabase() ORDER BY name`;
  expect(await rowsOf(to, tables)).toEqual(await rowsOf(from, tables));
  await expect(runInRounds(to.warehouse, ['CREATE VIEW v AS SELECT * FROM nothing', 'SELECT 1'], {})).rejects.toThrow(
    /nothing/,
  );
  for (const statement of await definitionsOf(from.warehouse, ` ON CLUSTER 'main'`)) {
    expect(statement).toMatch(/^CREATE (TABLE|VIEW|MATERIALIZED VIEW) IF NOT EXISTS \S+ ON CLUSTER 'main' /);
    const { stream } = await from.warehouse.exec({ query: `EXPLAIN AST ${statement}` });
    expect(await text(stream), statement).toMatch(/^CreateQuery/);
  }
});
