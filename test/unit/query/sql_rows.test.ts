import { expect, test } from 'vitest';
import { readSqlRows, sqlTable } from '#pipelines/query/sql_rows.ts';

const TEXT =
  '{"meta":[{"name":"n","type":"UInt64"},{"name":"n","type":"Array(UInt64)"}],"data":[[18446744073709551615,[1,9007199254740993]],[9007199254740991,[]],[1e300,null]],"rows":3}';

test('whole numbers that no number is exactly are texts of their digits, at any depth', () => {
  expect(readSqlRows(TEXT).rows).toEqual([
    ['18446744073709551615', [1, '9007199254740993']],
    [9007199254740991, []],
    [1e300, null],
  ]);
});

test('columns keep their names and types, also where two have one name', () => {
  expect(readSqlRows(TEXT).columns).toEqual([
    { name: 'n', type: 'UInt64' },
    { name: 'n', type: 'Array(UInt64)' },
  ]);
});

test('lists and objects are cells of JSON', () => {
  const columns = ['a', 'b', 'c', 'd', 'e'].map((name) => ({ name, type: 'String' }));
  expect(sqlTable({ columns, rows: [['x', 1, true, null, { a: [1] }]] })).toEqual({
    columns: ['a', 'b', 'c', 'd', 'e'],
    rows: [['x', 1, true, null, '{"a":[1]}']],
  });
});
