import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { insertBlock } from '#infra/clickhouse/client.ts';
import { createPersonEraser } from '#infra/clickhouse/erasure/erase_rows.ts';
import { insertBlockFirst, retryInsert } from '#infra/clickhouse/inserts/deduplicated_insert.ts';
import { type ColumnarEvent, columnarEvents } from '#infra/clickhouse/inserts/event_columns.ts';
import { createUuidTexts } from '#infra/clickhouse/inserts/uuid_texts.ts';
import { migrate, statementsOf } from '#infra/clickhouse/migrate.ts';
import { storedEventStatement } from '#pipelines/analytics/event_trace/trace.ts';
import { createBatchWriter, encodeEvent, encodePerson, readBatch } from '#schemas/event_batch.ts';
import { WIRE_HEADER_BYTES } from '#schemas/wire.ts';
import { eventRow, testPhoneHmac } from '#test/harness/event_row.ts';
import { uniqueName } from '#test/harness/kafka.ts';
import { sampleEvent } from '#test/unit/schemas/sample_event.ts';
import { type Database, deleteAll, rowsOf, useClickhouse } from './warehouse_world.ts';

const create = useClickhouse();
const AT_MS = Date.UTC(2026, 10, 5, 12);
const UUIDS = [
  '0193a1b2-c3d4-7e5f-8a6b-0c1d2e3f4a5b',
  '0193a1b2-c3d4-7e5f-8a6b-0c1d2e3f4a5c',
  '00000000-0000-0000-0000-000000000000',
  'ffffffff-ffff-ffff-ffff-ffffffffffff',
] as const;
const TEXTS = ['0193A1B2-C3D4-7E5F-8A6B-0C1D2E3F4A5B', 'order-2001'] as const;
const IDS: readonly string[] = [...UUIDS, ...TEXTS];
const PERSON = `p_${'a'.repeat(32)}`;

const entryOf = (event_id: string, at: number) => ({
  coordinate: { partition: 0, offset: at, index: 0 },
  person: { person_id: PERSON, identifiers: null },
  event: sampleEvent({ event_id, timestamp: AT_MS, received_at: AT_MS, historical: false }),
});

/** Rows as the warehouse makes them. */
function blockOf(ids: readonly string[]) {
  const writer = createBatchWriter(1);
  for (const [at, id] of ids.entries()) {
    const { coordinate, person, event } = entryOf(id, at);
    writer.add(coordinate, encodePerson(person), encodeEvent(event));
  }
  return columnarEvents(readBatch(writer.finish().subarray(WIRE_HEADER_BYTES)), testPhoneHmac).rows;
}

/** Rows whose ids are texts, as versions before made them. */
const rowsOfBefore = (ids: readonly string[]) => ids.map((id, at) => eventRow(entryOf(id, at)));

const idsIn = async (database: Database, from: string): Promise<string[]> =>
  (await rowsOf<{ id: string }>(database, `SELECT ${from} ORDER BY id`)).map(({ id }) => id);

test.for(['stored as numbers', 'stored as texts'])(
  'ids %s are shown, counted and found as they were sent',
  async (kind) => {
    const database = await create.migrated();
    const { warehouse } = database;
    await insertBlock(
      warehouse,
      'event_rows',
      uniqueName('ids'),
      kind === 'stored as texts' ? rowsOfBefore(IDS) : blockOf(IDS),
    );
    const sorted = IDS.toSorted();
    expect(await idsIn(database, 'event_id AS id FROM events')).toEqual(sorted);
    expect(await idsIn(database, 'sent_id AS id FROM event_rows')).toEqual(sorted);
    const [counted] = await rowsOf(
      database,
      "SELECT toUInt32(uniqExact(event_hash)) AS hashes, toUInt32(countIf(event_id != '')) AS texts FROM event_rows",
    );
    expect(counted).toEqual({ hashes: IDS.length, texts: kind === 'stored as texts' ? IDS.length : TEXTS.length });
    for (const id of IDS) {
      expect(await idsIn(database, `event_id AS id FROM events WHERE event_id = '${id}'`)).toEqual([id]);
      const { sql, parameters } = storedEventStatement(sampleEvent().site_id, id);
      const found = await warehouse.query({ query: sql, query_params: parameters, format: 'JSONEachRow' });
      expect(await found.json()).toHaveLength(1);
    }
  },
);

test('an id is looked for by its index, in the view as in the table', async () => {
  const database = await create.migrated();
  await insertBlock(database.warehouse, 'event_rows', uniqueName('ids'), blockOf(IDS));
  for (const from of ['events WHERE event_id', 'event_rows WHERE sent_id']) {
    const plan = await rowsOf<{ explain: string }>(
      database,
      `EXPLAIN indexes = 1 SELECT event FROM ${from} = 'not-there' AND site_id = '${sampleEvent().site_id}'`,
    );
    expect(plan.map(({ explain }) => explain.trim())).toContain('Name: by_sent_id');
  }
});

test('a block whose events stand there as texts is not stored a second time', async () => {
  const database = await create.migrated();
  const { warehouse } = database;
  await insertBlock(warehouse, 'event_rows', uniqueName('of-before'), rowsOfBefore(IDS));
  await retryInsert(warehouse, 'event_rows', uniqueName('another'), blockOf(IDS));
  await retryInsert(warehouse, 'event_rows', uniqueName('another'), blockOf([...IDS, 'one-more']));
  expect(await idsIn(database, 'sent_id AS id FROM event_rows')).toEqual([...IDS, 'one-more'].toSorted());
});

test('events of before that are read again are not stored a second time, though their ids are other columns', async () => {
  const database = await create.migrated();
  const { warehouse } = database;
  await insertBlock(warehouse, 'event_rows', uniqueName('of-before'), rowsOfBefore(UUIDS.slice(0, 2)));
  const hoursLater = (hours: number): number => AT_MS + hours * 3_600_000;
  // Just arrived: nothing is asked, and so nothing is said of them.
  const fresh = blockOf(UUIDS.slice(0, 1));
  expect((await createUuidTexts(warehouse, () => hoursLater(0.9))(fresh))(fresh[0] as ColumnarEvent)).toBe(false);
  const again = blockOf(UUIDS.slice(0, 3));
  const mayBeThere = await createUuidTexts(warehouse, () => hoursLater(2))(again);
  await insertBlockFirst(warehouse, 'event_rows', uniqueName('again'), again, (row) =>
    mayBeThere(row as ColumnarEvent),
  );
  expect(await idsIn(database, 'sent_id AS id FROM event_rows')).toEqual(UUIDS.slice(0, 3).toSorted());
});

test('of days whose ids are numbers, or no UUIDs, no event is looked for', async () => {
  const database = await create.migrated();
  const { warehouse } = database;
  await insertBlock(warehouse, 'event_rows', uniqueName('ids'), blockOf(IDS));
  const [one] = blockOf(UUIDS.slice(0, 1));
  const mayBeThere = await createUuidTexts(warehouse, () => AT_MS + 7_200_000)([one as ColumnarEvent]);
  expect(mayBeThere(one as ColumnarEvent)).toBe(false);
});

test('copies of an event are one row once they are merged, and different events stay apart', async () => {
  const database = await create.migrated();
  const { warehouse } = database;
  await insertBlock(warehouse, 'event_rows', uniqueName('one'), blockOf(IDS));
  await insertBlock(warehouse, 'event_rows', uniqueName('other'), blockOf(IDS));
  await warehouse.command({ query: 'OPTIMIZE TABLE event_rows FINAL' });
  expect(await idsIn(database, 'sent_id AS id FROM event_rows')).toEqual(IDS.toSorted());
});

test.for(['numbers', 'texts'])(
  'what was delivered of a person whose ids are %s is erased with their events',
  async (kind) => {
    const database = await create.migrated();
    const { warehouse, cluster } = database;
    const { site_id } = sampleEvent();
    await insertBlock(warehouse, 'event_rows', uniqueName('ids'), kind === 'texts' ? rowsOfBefore(IDS) : blockOf(IDS));
    const outcomes = [...IDS, 'another'].map((event_id, at) => ({
      ...{ site_id, destination: 'meta', event_id, event: 'purchase', coordinate_partition: 0, coordinate_offset: at },
      ...{ coordinate_index: 0, outcome: 'delivered', reason: '', attempt: 1, received_at: AT_MS, attempted_at: AT_MS },
      ...{ took_ms: 1, answer_status: 200, answer: '' },
    }));
    await insertBlock(warehouse, 'delivery_outcomes', uniqueName('outcomes'), outcomes);
    const eraser = createPersonEraser(warehouse, cluster);
    await eraser.begin([{ erasure_id: 'e1', site_id, kind: 'person', value: PERSON, until: AT_MS }]);
    await deleteAll(eraser);
    expect(await idsIn(database, 'sent_id AS id FROM event_rows')).toEqual([]);
    expect(await idsIn(database, 'event_id AS id FROM delivery_outcomes')).toEqual(['another']);
  },
);

const MIGRATION = '0015_uuids.sql';
const FOLDER = new URL('../../../infra/clickhouse/migrations/', import.meta.url);

/** A folder of the migrations before the one of ids. */
function migrationsBefore(): URL {
  const folder = mkdtempSync(join(tmpdir(), 'migrations-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const name of readdirSync(FOLDER)) if (name < MIGRATION) cpSync(new URL(name, FOLDER), join(folder, name));
  return pathToFileURL(`${folder}/`);
}

test('rows of before ids were numbers are the same after it, also where the migration stopped on its way', {
  timeout: 60_000,
}, async () => {
  const database = await create();
  const { warehouse, url } = database;
  await migrate(warehouse, url, null, migrationsBefore());
  await insertBlock(warehouse, 'event_rows', uniqueName('of-before'), rowsOfBefore(IDS));
  const hashes = 'toString(event_hash) AS id FROM event_rows';
  const old = await idsIn(database, hashes);
  const [first = ''] = statementsOf(readFileSync(new URL(MIGRATION, FOLDER), 'utf8'), url);
  await warehouse.command({ query: first });
  expect(await idsIn(database, hashes)).toEqual(old);
  await migrate(warehouse, url);
  // Killed before it was noted that it is done.
  const forget = `ALTER TABLE schema_migrations DELETE WHERE name = '${MIGRATION}' SETTINGS mutations_sync = 1`;
  await warehouse.command({ query: forget });
  expect((await migrate(warehouse, url)).applied).toEqual([MIGRATION]);
  expect(await idsIn(database, hashes)).toEqual(old);
  expect(await idsIn(database, 'event_id AS id FROM events')).toEqual(IDS.toSorted());
  const more = '0193a1b2-c3d4-7e5f-8a6b-0c1d2e3f4a60';
  await insertBlock(warehouse, 'event_rows', uniqueName('new'), blockOf([more]));
  await warehouse.command({ query: 'OPTIMIZE TABLE event_rows FINAL' });
  expect(await idsIn(database, 'event_id AS id FROM events')).toEqual([...IDS, more].toSorted());
  expect(await idsIn(database, hashes)).toHaveLength(IDS.length + 1);
});
