import type { VNode } from 'preact';
import { type AnswerTable, answerTable, type Cell } from '#pipelines/analytics/answer_table.ts';
import { type Column, DataTable } from '../../ui/data_table.tsx';

/** An answer of any kind as its table: of SQL its own columns, of others those that CSV has. */
export function AnswerRows({ answer, name }: { answer: object; name: string }): VNode {
  const { columns, rows } = name === 'sql' ? sqlTable(answer) : answerTable(answer);
  return (
    <DataTable
      caption="Answer"
      columns={columns.map((title, at): Column<Row> => ({ id: title, title, value: ({ cells }) => plain(cells[at]) }))}
      rows={rows.map((cells, number) => ({ cells, number }))}
      keyOf={({ number }) => String(number)}
      csvName={name}
    />
  );
}

interface Row {
  cells: readonly unknown[];
  number: number;
}

interface SqlAnswer {
  columns: { name: string }[];
  rows: Cell[][];
}

function sqlTable(answer: object): AnswerTable {
  const { columns, rows } = answer as SqlAnswer;
  return { columns: columns.map(({ name }) => name), rows };
}

function plain(cell: unknown): string | number | null {
  if (cell === null || cell === undefined) return null;
  return typeof cell === 'number' || typeof cell === 'string' ? cell : JSON.stringify(cell);
}
