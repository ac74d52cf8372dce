// The answer to a question in SQL: its rows, and the same as a table.
import { type Static, Type } from 'typebox';
import type { AnswerTable, Cell } from './answer_table.ts';

/** What a question in SQL is answered. */
export const sqlAnswerShape = Type.Object({
  columns: Type.Array(Type.Object({ name: Type.String(), type: Type.String({ description: "ClickHouse's name" }) })),
  rows: Type.Array(
    Type.Array(
      Type.Unknown({
        description:
          'A value of each column. Decimals, and whole numbers from 2^53 on, are texts with all their digits, and so is every whole number of 64 bits or more in a tuple or map; what is no number is null',
      }),
    ),
  ),
});
export type SqlAnswer = Static<typeof sqlAnswerShape>;

/** Reads ClickHouse's JSONCompact with whole numbers of 64 bits and more as texts. */
export function readSqlRows(text: string): SqlAnswer {
  const { meta, data } = JSON.parse(text) as { meta: SqlAnswer['columns']; data: unknown[][] };
  for (const [index, { type }] of meta.entries()) {
    if (!isWide(type)) continue;
    for (const row of data) row[index] = numbersOf(row[index]);
  }
  return { columns: meta, rows: data };
}

/** A whole number of 64 bits or more, or lists of them. Tuples and maps have other things too: their texts stay. */
const isWide = (type: string): boolean =>
  /^((Array|Nullable|LowCardinality)\()*U?Int(64|128|256)\)*$/.test(type) ||
  /^SimpleAggregateFunction\(\w+, U?Int(64|128|256)\)$/.test(type);

/** Texts of digits as numbers, but for those that no number of ours is exactly. */
function numbersOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(numbersOf);
  return typeof value === 'string' && Number.isSafeInteger(Number(value)) ? Number(value) : value;
}

/** The rows as a table; lists and objects are cells of JSON. */
export function sqlTable({ columns, rows }: SqlAnswer): AnswerTable {
  return { columns: columns.map(({ name }) => name), rows: rows.map((row) => row.map(cellOf)) };
}

function cellOf(value: unknown): Cell {
  if (value === null || typeof value === 'number' || typeof value === 'boolean') return value;
  return typeof value === 'string' ? value : JSON.stringify(value);
}
