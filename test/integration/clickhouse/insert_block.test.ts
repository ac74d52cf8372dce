import { expect, test } from 'vitest';
import { insertBlock } from '#infra/clickhouse/client.ts';
import { columnarEvents } from '#infra/clickhouse/event_columns.ts';
import { ACTION_SOURCES, type Event, type EventEntry, type Identifiers } from '#schemas/event.ts';
import { createBatchWriter, encodeEvent, encodePerson, noPerson, readBatch } from '#schemas/event_batch.ts';
import { WIRE_HEADER_BYTES } from '#schemas/wire.ts';
import { eventRow, testPhoneHmac } from '#test/harness/event_row.ts';
import { sampleEvent } from '#test/unit/schemas/sample_event.ts';
import { type Database, rowsOf, useClickhouse } from './warehouse_world.ts';

const create = useClickhouse();
const IDENTIFIERS: Identifiers = {
  email: 'e',
  email_google: 'eg',
  email_stripped: 'es',
  phone: 'p',
  phone_digits: 'pd',
  first_name: 'f',
  first_name_google: 'fg',
  last_name: 'l',
  last_name_google: 'lg',
  external_id: 'x',
};
const DAY_MS = 86_400_000;

function row(changes: Partial<Event>, personId = 'p_1') {
  return eventRow({
    coordinate: { partition: 1, offset: 2, index: 3 },
    person: { person_id: personId, identifiers: null },
    event: sampleEvent(changes),
  });
}

const count = async (database: Database): Promise<unknown> =>
  rowsOf(database, 'SELECT count() AS rows FROM event_rows SETTINGS optimize_trivial_count_query = 0');

test('a block inserted twice under its token stands there once, over several months too', async () => {
  const database = await create.migrated();
  const rows = [0, 40, 80].map((days) =>
    row({ event_id: `e-${days}`, timestamp: Date.UTC(2026, 5, 1) + days * DAY_MS }),
  );
  for (let times = 0; times < 3; times++) await insertBlock(database.warehouse, 'event_rows', 'events/0/0-2', rows);
  expect(await count(database)).toEqual([{ rows: 3 }]);
});

test('the same rows under another token stand there again', async () => {
  const database = await create.migrated();
  await database.warehouse.command({ query: 'SYSTEM STOP MERGES event_rows' });
  for (const token of ['a', 'b']) await insertBlock(database.warehouse, 'event_rows', token, [row({})]);
  expect(await count(database)).toEqual([{ rows: 2 }]);
});

test('times, texts and numbers come back as they were sent', async () => {
  const database = await create.migrated();
  const events = [
    { event_id: 'a', timestamp: 1_790_000_000_123, received_at: 1_790_000_000_999, value: 0.1, currency: 'EUR' },
    { event_id: 'b', timestamp: Date.UTC(2024, 1, 29, 23, 59, 59, 1), received_at: 1_790_000_000_000, value: -1e-9 },
    {
      event_id: 'c\n"\\\u{1f600}',
      timestamp: Date.UTC(2026, 0, 1),
      properties: '{"text":"\\"quoted\\" \\n \u{1f600}"}',
    },
  ];
  const rows = events.map((event) => row(event));
  await insertBlock(database.warehouse, 'event_rows', 'token', rows);
  const found = await rowsOf(
    database,
    `SELECT * EXCEPT (property_texts) REPLACE (toUnixTimestamp64Milli(timestamp) AS timestamp, toUnixTimestamp64Milli(received_at) AS received_at)
     FROM event_rows ORDER BY event_id`,
  );
  expect(found).toEqual(rows);
});

const EVENTS: readonly Partial<Event>[] = [
  {},
  { value: null, currency: null, order_id: null, city: null, state: null, zip: null, country: null },
  { value: Number.MIN_VALUE, identify: true, caller: 'server', mode: 'offline', original_timestamp: 'in 3026' },
  ...ACTION_SOURCES.map((action_source) => ({ action_source })),
  { identifiers: null, client_ip: null, client_user_agent: null },
  { identifiers: IDENTIFIERS },
  { identifiers: { ...IDENTIFIERS, email: null, last_name: null } },
  { timestamp: Date.UTC(1970, 0, 1) - 1, received_at: Date.UTC(2099, 11, 31) },
  ...[31, 32, 33, 127, 128, 16_384, 600_000].map((length) => ({
    properties: 'ä'.repeat(length),
    event: '\u{1f600}\n\0',
  })),
];

test('events in columns make the rows that their values make', async () => {
  const [columns, json] = [await create.migrated(), await create.migrated()];
  const entries = EVENTS.map(
    (changes, index): EventEntry => ({
      event: sampleEvent({ ...changes, event_id: `e-${String(index).padStart(2, '0')}` }),
      person: index % 3 === 0 ? null : { person_id: `p_${index}`, identifiers: index % 2 === 0 ? null : IDENTIFIERS },
      coordinate: index % 4 === 0 ? null : { partition: 11, offset: 2 ** 40 + index, index },
    }),
  );
  const writer = createBatchWriter(1);
  for (const { coordinate, person, event } of entries) {
    writer.add(coordinate, person === null ? noPerson() : encodePerson(person), encodeEvent(event));
  }
  const views = readBatch(writer.finish().subarray(WIRE_HEADER_BYTES));
  const written = columnarEvents(views.slice(0, -3), testPhoneHmac).rows;
  const madeAnew = columnarEvents(views, testPhoneHmac).rows.slice(-3);
  await insertBlock(columns.warehouse, 'event_rows', 'block', [...written, ...madeAnew]);
  await insertBlock(json.warehouse, 'event_rows', 'block', entries.map(eventRow));
  const query = 'SELECT * FROM event_rows ORDER BY event_id';
  const found = await rowsOf(columns, query);
  expect(found).toHaveLength(EVENTS.length);
  expect(found).toEqual(await rowsOf(json, query));
});

test('rows of wrong types are refused, unknown columns and tables are the table’s fault, without rows in the error', async () => {
  const database = await create.migrated();
  const wrong = [
    { ...row({}), timestamp: 'yesterday' },
    { ...row({}), value: 'much' },
    { ...row({}), raw_offset: 'secret' },
    { ...row({}), identify: 'perhaps' },
    { ...row({}), site_id: null },
  ];
  for (const [index, one] of wrong.entries()) {
    const inserting = insertBlock(database.warehouse, 'event_rows', `wrong-${index}`, [one]);
    await expect(inserting, `case ${index}`).rejects.toMatchObject({ code: 'warehouse_refused' });
    await expect(inserting).rejects.not.toThrow(/secret|yesterday|much|perhaps/);
  }
  const atFault = { code: 'warehouse_mismatch', recovery: 'wait' };
  const column = insertBlock(database.warehouse, 'event_rows', 'column', [{ ...row({}), unknown_column: 'secret' }]);
  await expect(column).rejects.toMatchObject(atFault);
  await expect(column).rejects.not.toThrow(/secret/);
  const nowhere = insertBlock(database.warehouse, 'no_such_table', 'token', [row({})]);
  await expect(nowhere).rejects.toMatchObject(atFault);
});
