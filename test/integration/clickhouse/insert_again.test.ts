import { expect, test } from 'vitest';
import { insertBlock } from '#infra/clickhouse/client.ts';
import { insertBlockAgain } from '#infra/clickhouse/insert_again.ts';
import { migrate } from '#infra/clickhouse/migrate.ts';
import { eventRow } from '#pipelines/warehouse/event_row.ts';
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

const numbers = (): number[] => Array.from({ length: COUNT }, (_, index) => index);

async function countIn(database: Database, table: string): Promise<number> {
  const query = `SELECT count() AS rows FROM ${table} SETTINGS optimize_trivial_count_query = 0`;
  const [found] = (await rowsOf(database, query)) as { rows: number }[];
  return found?.rows ?? 0;
}

async function withTable(table: string): Promise<Database> {
  const database = await create();
  await migrate(database.warehouse, database.url);
  await database.warehouse.command({ query: `SYSTEM STOP MERGES ${table}` });
  return database;
}

test.for(Object.entries(ROWS))('a block of %s goes in once, whether it was in or not', async ([table, rows]) => {
  const database = await withTable(table);
  const { warehouse } = database;
  await insertBlockAgain(warehouse, table, 'topic/0/1-1', rows(1));
  await insertBlock(warehouse, table, 'topic/0/2-2', rows(2));
  await insertBlockAgain(warehouse, table, 'topic/0/2-2', rows(2));
  await insertBlockAgain(warehouse, table, 'topic/0/2-2', rows(2));
  expect(await countIn(database, table)).toBe(2 * COUNT);
});

/** What a kill between the token and the part leaves: rows of another kind took the token. */
test.for(Object.entries(ROWS))('a block of %s whose token is there without its rows goes in', async ([table, rows]) => {
  const database = await withTable(table);
  const { warehouse } = database;
  await insertBlock(warehouse, table, 'topic/0/2-2', rows(1));
  await insertBlock(warehouse, table, 'topic/0/2-2', rows(2));
  expect(await countIn(database, table)).toBe(COUNT);
  for (let times = 0; times < 2; times++) await insertBlockAgain(warehouse, table, 'topic/0/2-2', rows(2));
  expect(await countIn(database, table)).toBe(2 * COUNT);
});

test('of a block that is there in part the rest goes in', async () => {
  const database = await withTable('event_rows');
  const rows = ROWS['event_rows']?.(1) ?? [];
  await insertBlock(database.warehouse, 'event_rows', 'topic/0/1-1', rows.slice(0, 2));
  await insertBlockAgain(database.warehouse, 'event_rows', 'topic/0/1-1', rows);
  expect(await countIn(database, 'event_rows')).toBe(COUNT);
});
