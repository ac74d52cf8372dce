import { expect, onTestFinished, test } from 'vitest';
import { insertBlock } from '#infra/clickhouse/client.ts';
import { columnarEvents } from '#infra/clickhouse/inserts/event_columns.ts';
import type { Filter } from '#pipelines/analytics/filters.ts';
import { conditionOf } from '#pipelines/analytics/sql/expressions.ts';
import { createBinder } from '#pipelines/analytics/sql/statement.ts';
import { topStatement } from '#pipelines/analytics/top.ts';
import { encodeEvent, noPerson } from '#schemas/event_batch.ts';
import { testPhoneHmac } from '#test/harness/event_row.ts';
import { uniqueName } from '#test/harness/kafka.ts';
import { sampleEvent } from '#test/unit/schemas/sample_event.ts';
import { type Database, useClickhouse } from './warehouse_world.ts';

const create = useClickhouse();
const SITE = 'shop';

const command = ({ warehouse }: Database, query: string) => warehouse.command({ query });

const PROPERTIES = {
  text: 'q"uo\\te\né \u{1f600}',
  empty: '',
  number: 12.5,
  large: 1.5e21,
  yes: true,
  none: null,
  list: ['a', { b: 1 }],
  object: { 'a.b': { c: 'deep' }, n: null },
  'a.b': 'dotted',
  '': 'unnamed',
};

/** Each field of the properties with its text. */
const TEXTS: readonly [path: string[], text: string][] = [
  [['text'], PROPERTIES.text],
  [['empty'], ''],
  [['number'], '12.5'],
  [['large'], '1.5e+21'],
  [['yes'], 'true'],
  [['none'], ''],
  [['list'], '["a",{"b":1}]'],
  [['object'], '{"a.b":{"c":"deep"},"n":null}'],
  [['object', 'a.b', 'c'], 'deep'],
  [['object', 'n'], ''],
  [['a.b'], 'dotted'],
  [['a', 'b'], ''],
  [[''], 'unnamed'],
  [['missing'], ''],
];

async function topOf(database: Database, property: string[], filters: Filter[] = []): Promise<string[]> {
  const { sql, parameters } = topStatement(SITE, {
    from: 0,
    to: Date.UTC(2100, 0, 1),
    filters,
    selection: {},
    field: { property },
    by: 'events',
    limit: 9,
  } as Parameters<typeof topStatement>[1]);
  const answer = await database.warehouse.query({ query: sql, query_params: parameters, format: 'JSONEachRow' });
  return (await answer.json<{ text: string }>()).map(({ text }) => text);
}

/** A row as the warehouse makes it, in a chunk of its own. */
function rowOf(event_id: string, properties: string): object {
  const event = sampleEvent({ site_id: SITE, event_id, properties });
  const { site_id: siteId, distinct_id: distinctId, received_at: receivedAtMs } = event;
  const view = { coordinate: null, personBytes: noPerson(), eventBytes: encodeEvent(event), siteId, distinctId };
  const { rows } = columnarEvents([{ ...view, eventId: event_id, receivedAtMs }], testPhoneHmac);
  return rows[0] as object;
}

async function insertOne(database: Database, id: string): Promise<void> {
  await insertBlock(database.warehouse, 'event_rows', uniqueName(id), [rowOf(id, JSON.stringify(PROPERTIES))]);
}

test.each([
  ['a new part', (database: Database) => insertOne(database, 'new')],
  [
    'a merged part',
    async (database: Database) => {
      await insertOne(database, 'one');
      await insertOne(database, 'other');
      await command(database, 'OPTIMIZE TABLE event_rows FINAL');
    },
  ],
])('%s has the text of every property', async (_name, fill) => {
  const database = await create.migrated();
  await fill(database);
  const texts = await Promise.all(TEXTS.map(([path]) => topOf(database, path)));
  expect(texts).toEqual(TEXTS.map(([, text]) => [text]));
});

/** More names than the table of them has places, than a byte or two can number, and than are kept. */
const manyNames = (from: number, count: number): object =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`name ${from + at}`, at]));

test('a block has every property of each row under its name, however its JSON is written', async () => {
  const { warehouse } = await create.migrated();
  const texts = [
    ...[{}, PROPERTIES, { 'é "\\': '\u2028/\u0001' }, { a: '\\"', b: [{}, []], c: {} }, { a: -0.5e-9, b: null }].map(
      (one) => JSON.stringify(one),
    ),
    ...[0, 200, 300, 9_000, 70_000].map((from) => JSON.stringify(manyNames(from, from < 9_000 ? 100 : 40_000))),
    ...['{ "a" : [1, {"b": "}"}] , "c":"," }', '{"\\u0061":1}', '[1]', '"text"', '{"a":1', '{"a":}', '', '{"a":1}x'],
    JSON.stringify(PROPERTIES),
  ];
  const rows = texts.map((json, at) => rowOf(String(at), json));
  await insertBlock(warehouse, 'event_rows', uniqueName('block'), rows);
  const query = 'SELECT property_texts FROM event_rows ORDER BY toUInt32(event_id)';
  const stored = await (await warehouse.query({ query, format: 'JSONEachRow' })).json<{ property_texts: object }>();
  expect(stored.map(({ property_texts }) => property_texts)).toEqual(texts.map(textsOf));
  await insertBlock(warehouse, 'event_rows', uniqueName('none'), [rowOf('none', '{}'), rowOf('nothing', '')]);
});

/** The JSON of each property; of what is no JSON object there are none. */
function textsOf(json: string): Record<string, string> {
  try {
    const value: unknown = JSON.parse(json);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return {};
    return Object.fromEntries(Object.entries(value).map(([name, of]) => [name, JSON.stringify(of)]));
  } catch {
    return {};
  }
}

const ROWS = 200_000;

/** What a query read, as ClickHouse counts it. */
async function readBytes({ warehouse }: Database, query: string, query_params = {}): Promise<number> {
  const answer = await warehouse.query({
    query,
    query_params,
    format: 'JSONEachRow',
    clickhouse_settings: { wait_end_of_query: 1, use_query_condition_cache: 0 },
  });
  await answer.json();
  return Number(JSON.parse(String(answer.response_headers['x-clickhouse-summary'])).read_bytes);
}

test('a property is read with at most twice the bytes that it has in a column of its own', async () => {
  const database = await create.migrated();
  const plan = `['free', 'pro', 'team'][1 + cityHash64(number) % 3]`;
  const price = 'toString(cityHash64(number, 1) % 100000 / 100)';
  const url = `concat('https://shop.example/', hex(cityHash64(number, 2)))`;
  await command(
    database,
    `INSERT INTO event_rows (site_id, event_id, timestamp, properties)
    SELECT '${SITE}', toString(number), now(), concat('{"plan":"', ${plan}, '","price":', ${price}, ',"url":"', ${url}, '"}') FROM numbers(${ROWS})`,
  );
  await command(database, 'OPTIMIZE TABLE event_rows FINAL');
  onTestFinished(async () => void (await command(database, 'DROP TABLE alone')));
  await command(
    database,
    'CREATE TABLE alone (plan String, price String, url String) ENGINE = MergeTree ORDER BY () SETTINGS min_bytes_for_wide_part = 0',
  );
  await command(
    database,
    `INSERT INTO alone SELECT property_texts['plan'], property_texts['price'], property_texts['url'] FROM event_rows`,
  );
  for (const name of ['plan', 'price', 'url']) {
    const alone = await readBytes(database, `SELECT sum(cityHash64(${name})) FROM alone`);
    const binder = createBinder();
    const condition = conditionOf({ field: { property: [name] }, is: 'equal', to: ['x'] }, binder);
    const { sql, parameters } = binder.statement(binder.withNames(`SELECT count() FROM event_rows WHERE ${condition}`));
    const read = await readBytes(database, sql, parameters);
    expect(read).toBeLessThanOrEqual(2 * alone);
  }
});
