import { expect, test } from 'vitest';
import { readSqlRows, sqlTable } from '#pipelines/analytics/answer_table.ts';

const TEXT =
  '{"meta":[{"name":"n","type":"UInt64"},{"name":"n","type":"Array(Nullable(UInt64))"},{"name":"s","type":"String"}],"data":[["18446744073709551615",["1","9007199254740993"],"7"],["9007199254740991",[],"08"],["-5",[null],""]],"rows":3}';

test('whole numbers that no number is exactly are texts of their digits, in lists too', () => {
  expect(readSqlRows(TEXT).rows).toEqual([
    ['18446744073709551615', [1, '9007199254740993'], '7'],
    [9007199254740991, [], '08'],
    [-5, [null], ''],
  ]);
});

test('columns keep their names and types, also where two have one name', () => {
  expect(readSqlRows(TEXT).columns).toEqual([
    { name: 'n', type: 'UInt64' },
    { name: 'n', type: 'Array(Nullable(UInt64))' },
    { name: 's', type: 'String' },
  ]);
});

test('lists and objects are cells of JSON', () => {
  const columns = ['a', 'b', 'c', 'd', 'e'].map((name) => ({ name, type: 'String' }));
  expect(sqlTable({ columns, rows: [['x', 1, true, null, { a: [1] }]] })).toEqual({
    columns: ['a', 'b', 'c', 'd', 'e'],
    rows: [['x', 1, true, null, '{"a":[1]}']],
  });
});
