import { type Static, Type } from 'typebox';
import type { AnswerTable, Cell } from './answer_table.ts';

/** What a question in SQL is answered. */
export const sqlAnswerShape = Type.Object({
  columns: Type.Array(Type.Object({ name: Type.String(), type: Type.String({ description: "ClickHouse's name" }) })),
  rows: Type.Array(
    Type.Array(
      Type.Unknown({
        description:
          'A value of each column. Decimals, and whole numbers from 2^53 on, are texts with all their digits; what is no number is null',
      }),
    ),
  ),
});
export type SqlAnswer = Static<typeof sqlAnswerShape>;

/** Reads ClickHouse's JSONCompact. */
export function readSqlRows(text: string): SqlAnswer {
  const { meta, data } = JSON.parse(text, exact) as { meta: SqlAnswer['columns']; data: unknown[][] };
  return { columns: meta, rows: data };
}

/** A whole number that no number of ours is exactly stays as it was written. */
function exact(_name: string, value: unknown, { source }: { source?: string } = {}): unknown {
  const isInexact = typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value);
  return isInexact && source !== undefined && /^-?\d+$/.test(source) ? source : value;
}

/** The rows as a table; lists and objects are cells of JSON. */
export function sqlTable({ columns, rows }: SqlAnswer): AnswerTable {
  return { columns: columns.map(({ name }) => name), rows: rows.map((row) => row.map(cellOf)) };
}

function cellOf(value: unknown): Cell {
  if (value === null || typeof value === 'number' || typeof value === 'boolean') return value;
  return typeof value === 'string' ? value : JSON.stringify(value);
}
