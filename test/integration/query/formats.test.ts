import { expect, onTestFinished, test } from 'vitest';
import { createWarehouse, WarehouseError } from '#infra/clickhouse/client.ts';
import { createParquetWriter } from '#infra/clickhouse/parquet.ts';
import { type AnswerTable, answerTable, csvOf } from '#pipelines/analytics/answer_table.ts';
import { purchaseFunnel, storedRow } from './few_rows.ts';
import { type QueryWorld, rowsOf, useQueryWorld } from './query_world.ts';

const create = useQueryWorld();
const PATH = '/v1/query/shop/funnel';
const { fresh: _fresh, ...kept } = purchaseFunnel;
const query = { ...kept, breakdown: { field: { property: ['plan'] }, at: 'first_step' } };

async function shop(): Promise<QueryWorld> {
  const world = await create();
  const plan = (name: string) => ({ properties: JSON.stringify({ plan: name }) });
  await world.store([
    [storedRow('a', 'page_view', 0, plan('=HYPERLINK("x")')), storedRow('a', 'purchase', 1)],
    [storedRow('b', 'page_view', 0, plan('é, 日本'))],
  ]);
  return world;
}

/** A Parquet file as ClickHouse reads it. */
async function readBack(world: QueryWorld, file: Buffer): Promise<Record<string, unknown>[]> {
  const hex = file.toString('hex');
  return rowsOf(world.database, `SELECT * FROM format(Parquet, unhex('${hex}'))`);
}

test('an answer is JSON, CSV and Parquet of the same values', async () => {
  const world = await shop();
  const { body } = await world.control.call('POST', PATH, { body: query });
  const table = answerTable(body);
  const csv = await world.control.call('POST', `${PATH}?format=csv`, { body: query });
  expect([csv.status, csv.headers['content-type']]).toEqual([200, 'text/csv; charset=utf-8; header=present']);
  expect(csv.text).toBe(csvOf(table));
  expect(csv.text).toContain('"\'=HYPERLINK(""x"")"');
  const parquet = await world.control.bytes('POST', `${PATH}?format=parquet`, query);
  expect(parquet.contentType).toBe('application/vnd.apache.parquet');
  expect(await readBack(world, parquet.bytes)).toEqual(asObjects(table));
});

const asObjects = ({ columns, rows }: AnswerTable) =>
  rows.map((row) => Object.fromEntries(columns.map((column, index) => [column, row[index] ?? null])));

test.for([
  ['text/csv', '', 'text/csv'],
  ['text/html, application/vnd.apache.parquet;q=0.9, text/csv;q=0.8', '', 'application/vnd.apache.parquet'],
  ['application/json, text/csv', '', 'application/json'],
  ['*/*', '', 'application/json'],
  ['text/csv', '?format=json', 'application/json'],
] as const)('Accept %s with %s is answered with %s', async ([accept, parameters, type]) => {
  const world = await shop();
  const { headers } = await world.control.call('POST', PATH + parameters, { body: query, headers: { accept } });
  expect(String(headers['content-type'])).toContain(type);
});

test('an unknown format is refused', async () => {
  const world = await shop();
  const { status, body } = await world.control.call('POST', `${PATH}?format=xlsx`, { body: query });
  expect([status, body.problems[0].field]).toEqual([400, 'format']);
});

test('columns of a Parquet file have the type that all their values have', async () => {
  const world = await create();
  const table = {
    columns: ['text', 'whole', 'part', 'yes', 'mixed', 'none', 'a`b\\c'],
    rows: [
      ['\'\\\n"', 2 ** 53 - 1, 0.5, true, 'x', null, 1],
      [null, -1, 2, false, 3, null, null],
    ],
  };
  const file = await createParquetWriter(world.database.warehouse)(table);
  expect(await readBack(world, file)).toEqual(
    asObjects({ ...table, rows: [table.rows[0] ?? [], [null, -1, 2, false, '3', null, null]] }),
  );
});

test('Parquet of a ClickHouse that is away is refused by name', async () => {
  const away = createWarehouse('http://127.0.0.1:1/svc');
  onTestFinished(() => away.close());
  const write = createParquetWriter(away);
  await expect(write({ columns: ['a'], rows: [[1]] })).rejects.toThrow(WarehouseError);
});
