import { expect, onTestFinished, test } from 'vitest';
import { createWarehouse, insertBlock } from '#infra/clickhouse/client.ts';
import { insertBlockFirst, retryInsert } from '#infra/clickhouse/inserts/deduplicated_insert.ts';
import { keepDays } from '#infra/clickhouse/retention.ts';
import { startClickhouseProxy } from '#test/fault/world/clickhouse_proxy.ts';
import { eventRow } from '#test/harness/event_row.ts';
import { uniqueName } from '#test/harness/kafka.ts';
import { sampleEvent } from '#test/unit/schemas/sample_event.ts';
import { type Database, rowsOf, useClickhouse } from './warehouse_world.ts';

const create = useClickhouse();
const DAY_MS = 86_400_000;
const NOW = Date.UTC(2026, 10, 21);
const COUNT = 5;

type Row = Record<string, unknown>;

/** Rows as the warehouse stage makes them, over two months where a table is cut by them; `block` tells blocks apart. */
const ROWS: Record<string, (block: number) => Row[]> = {
  event_rows: (block) =>
    numbers().map((index) => ({
      ...eventRow({
        coordinate: { partition: index % 2, offset: block, index },
        person: { person_id: 'p_1', identifiers: null },
        event: sampleEvent({ event_id: `e-${block}-${index}`, timestamp: NOW - index * 10 * DAY_MS }),
      }),
    })),
  delivery_outcomes: (block) =>
    numbers().map((index) => ({
      site_id: `s${index % 2}`,
      destination: 'meta',
      event_id: `e-${block}-${index}`,
      event: 'purchase',
      coordinate_partition: 0,
      coordinate_offset: block,
      coordinate_index: index,
      outcome: 'delivered',
      reason: '',
      attempt: 1,
      received_at: NOW,
      attempted_at: NOW - index * 10 * DAY_MS,
      took_ms: 12,
    })),
  person_links: (block) =>
    numbers().map((index) => ({
      site_id: 's',
      person_id: `p_${block}_${index}`,
      target: 'p_0',
      first_seen: NOW,
      version: block * COUNT + index,
    })),
  quota_usage: (block) =>
    numbers().map((index) => ({
      account_id: 'a',
      month: '2026-11',
      partition: block * COUNT + index,
      used: index,
      settled_offset: index,
      settled_at: NOW,
    })),
  inventory: (block) =>
    numbers().map((position) => ({
      site_id: 's',
      page: '/',
      received_at: NOW,
      inventory_id: `i-${block}`,
      position,
      url: 'https://shop.example/',
      title: '',
      content_hash: 'h',
      type: 'button',
      selector: '',
      text: '',
      href: '',
      event_hint: '',
    })),
};

const NEWEST_COUNTS: ReadonlySet<string> = new Set(['person_links', 'quota_usage', 'inventory']);

const numbers = (): number[] => Array.from({ length: COUNT }, (_, index) => index);

/** Rows by what tells them apart: where the newest of a key counts, one that stands twice does no harm. */
async function countIn(database: Database, table: string): Promise<number> {
  const final = NEWEST_COUNTS.has(table) ? 'FINAL' : '';
  const query = `SELECT count() AS rows FROM ${table} ${final} SETTINGS optimize_trivial_count_query = 0`;
  const [found] = (await rowsOf(database, query)) as { rows: number }[];
  return found?.rows ?? 0;
}

/** A database of which a table merges nothing, and the topic whose blocks it has not seen: it keeps the tokens of what it held. */
async function withTable(table: string): Promise<Database & { topic: string }> {
  const database = await create.migrated();
  await database.warehouse.command({ query: `SYSTEM STOP MERGES ${table}` });
  onTestFinished(async () => void (await database.warehouse.command({ query: `SYSTEM START MERGES ${table}` })));
  return { ...database, topic: uniqueName('topic') };
}

test.for(Object.entries(ROWS))('a block of %s goes in once, whether it was in or not', async ([table, rows]) => {
  const database = await withTable(table);
  const { warehouse, topic } = database;
  await retryInsert(warehouse, table, `${topic}/0/1-1`, rows(1));
  await insertBlock(warehouse, table, `${topic}/0/2-2`, rows(2));
  await retryInsert(warehouse, table, `${topic}/0/2-2`, rows(2));
  await retryInsert(warehouse, table, `${topic}/0/2-2`, rows(2));
  expect(await countIn(database, table)).toBe(2 * COUNT);
});

/** What a kill between the token and the part leaves: rows of another kind took the token. */
test.for(Object.entries(ROWS))('a block of %s whose token is there without its rows goes in', async ([table, rows]) => {
  const database = await withTable(table);
  const { warehouse, topic } = database;
  await insertBlock(warehouse, table, `${topic}/0/2-2`, rows(1));
  await insertBlock(warehouse, table, `${topic}/0/2-2`, rows(2));
  expect(await countIn(database, table)).toBe(COUNT);
  for (let times = 0; times < 2; times++) await retryInsert(warehouse, table, `${topic}/0/2-2`, rows(2));
  expect(await countIn(database, table)).toBe(2 * COUNT);
});

test.for(Object.entries(ROWS))('a block of %s goes in once though its token is forgotten', async ([table, rows]) => {
  const database = await withTable(table);
  const { warehouse, topic } = database;
  const windowOf = async (blocks: number): Promise<void> =>
    void (await warehouse.command({
      query: `ALTER TABLE ${table} MODIFY SETTING non_replicated_deduplication_window = ${blocks}`,
    }));
  const [made] = await rowsOf<{ window: string }>(
    database,
    `SELECT extract(engine_full, 'non_replicated_deduplication_window = (\\\\d+)') AS window FROM system.tables
    WHERE database = currentDatabase() AND name = '${table}'`,
  );
  onTestFinished(() => windowOf(Number(made?.window)));
  await windowOf(4);
  await insertBlock(warehouse, table, `${topic}/0/1-1`, rows(1));
  for (const other of [2, 3, 4, 5, 6]) await insertBlock(warehouse, table, `${topic}/1/${other}-${other}`, rows(other));
  for (let times = 0; times < 2; times++) await retryInsert(warehouse, table, `${topic}/0/1-1`, rows(1));
  expect(await countIn(database, table)).toBe(6 * COUNT);
});

/** The first of an event stays, before and after merges, in the rows and in the counts of hours. */
test('an event that is sent again after its claim is forgotten changes nothing', async () => {
  const database = await withTable('event_rows');
  const { warehouse, topic } = database;
  const event = { event_id: 'order-1', timestamp: NOW - 20 * DAY_MS };
  const row = (offset: number, value: number, receivedAt: number, changes = {}) =>
    eventRow({
      coordinate: { partition: 0, offset, index: 0 },
      person: { person_id: 'p_1', identifiers: null },
      event: sampleEvent({ ...event, value, received_at: receivedAt, ...changes }),
    });
  const again = [row(2, 99, NOW), row(3, 7, NOW, { event_id: 'order-2' })];
  await insertBlock(warehouse, 'event_rows', `${topic}/0/1-1`, [row(1, 10, event.timestamp)]);
  expect(await insertBlockFirst(warehouse, 'event_rows', `${topic}/0/2-3`, again, () => true)).toEqual({
    sentAgain: 1,
    gone: 0,
  });
  expect(await retryInsert(warehouse, 'event_rows', `${topic}/0/2-3`, again)).toEqual({ sentAgain: 1, gone: 0 });
  const sums = async () => [
    await rowsOf(database, 'SELECT sum(value) AS value, count() AS events FROM event_rows'),
    await rowsOf(database, 'SELECT sum(value) AS value, sum(events) AS events FROM event_hours'),
  ];
  const once = [[{ value: 17, events: 2 }], [{ value: 17, events: 2 }]];
  expect(await sums()).toEqual(once);
  await warehouse.command({ query: 'SYSTEM START MERGES event_rows' });
  await warehouse.command({ query: 'OPTIMIZE TABLE event_rows FINAL' });
  expect(await sums()).toEqual(once);
});

test('an id that is used for something else is another event', async () => {
  const database = await withTable('event_rows');
  const { topic } = database;
  const [first = {}, second = {}] = ROWS['event_rows']?.(1) ?? [];
  const named = { ...second, event_id: first['event_id'], event: 'refund' };
  await insertBlock(database.warehouse, 'event_rows', `${topic}/0/1-1`, [first]);
  await insertBlockFirst(database.warehouse, 'event_rows', `${topic}/0/2-2`, [named], () => true);
  expect(await countIn(database, 'event_rows')).toBe(2);
});

test('of a block that is there in part the rest goes in', async () => {
  const database = await withTable('event_rows');
  const { topic } = database;
  const rows = ROWS['event_rows']?.(1) ?? [];
  await insertBlock(database.warehouse, 'event_rows', `${topic}/0/1-1`, rows.slice(0, 2));
  await retryInsert(database.warehouse, 'event_rows', `${topic}/0/1-1`, rows);
  expect(await countIn(database, 'event_rows')).toBe(COUNT);
});

test('of many versions of a key in one block the newest is there', async () => {
  const database = await withTable('quota_usage');
  const { topic } = database;
  const [first = {}] = ROWS['quota_usage']?.(1) ?? [];
  const rows = Array.from({ length: 20 }, (_, index) => ({ ...first, used: index, settled_offset: index }));
  for (let times = 0; times < 3; times++) await retryInsert(database.warehouse, 'quota_usage', `${topic}/0/1-1`, rows);
  const query = 'SELECT max(used) AS used, uniqExact(partition) AS keys FROM quota_usage FINAL';
  expect(await rowsOf(database, query)).toEqual([{ used: 19, keys: 1 }]);
});

test('an outcome of the same attempt at another time is a row of its own', async () => {
  const database = await withTable('delivery_outcomes');
  const { topic } = database;
  const [first = {}] = ROWS['delivery_outcomes']?.(1) ?? [];
  const paused = { ...first, outcome: 'paused' };
  const delivered = { ...first, attempted_at: NOW + 5_000 };
  await insertBlock(database.warehouse, 'delivery_outcomes', `${topic}/0/1-1`, [paused]);
  await insertBlock(database.warehouse, 'delivery_outcomes', `${topic}/0/2-2`, [{ ...first, event_id: 'other' }]);
  await retryInsert(database.warehouse, 'delivery_outcomes', `${topic}/0/2-2`, [delivered]);
  expect(await countIn(database, 'delivery_outcomes')).toBe(3);
});

test('rows that the table keeps no more stop nothing', async () => {
  const database = await withTable('event_rows');
  const { topic } = database;
  await keepDays(database.warehouse, 'event_rows', 1);
  onTestFinished(() => keepDays(database.warehouse, 'event_rows', 0));
  await database.warehouse.command({ query: 'SYSTEM START MERGES event_rows' });
  const old = ROWS['event_rows']?.(1) ?? [];
  const { gone } = await retryInsert(database.warehouse, 'event_rows', `${topic}/0/1-1`, old);
  expect(gone).toBeLessThanOrEqual(old.length);
});

/** Node's server, like other fronts of ClickHouse, takes no address of more than 16 KB. */
test('a large block is looked for through a front that takes no long address', async () => {
  const { url, topic } = await withTable('event_rows');
  const proxy = await startClickhouseProxy(url);
  const warehouse = createWarehouse(proxy.url);
  onTestFinished(async () => {
    await warehouse.close();
    await proxy.stop();
  });
  const [first = {}] = ROWS['event_rows']?.(1) ?? [];
  const rows = Array.from({ length: 1_000 }, (_, index) => ({ ...first, event_id: `${"'".repeat(240)}-${index}` }));
  for (let times = 0; times < 2; times++) {
    expect((await retryInsert(warehouse, 'event_rows', `${topic}/0/1-1`, rows)).gone).toBe(0);
  }
});
