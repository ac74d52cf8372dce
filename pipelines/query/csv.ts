import type { AnswerTable, Cell } from './answer_table.ts';

/**
 * What spreadsheets take for the beginning of a formula. An apostrophe before it makes the cell a text (OWASP, CSV Injection):
 * names of events and values of properties come from whoever sends events.
 */
const FORMULA = /^[=+\-@\t\r]/;

/** A table as CSV (RFC 4180), with its columns in the first line. */
export function csvOf({ columns, rows }: AnswerTable): string {
  return [columns, ...rows].map((row) => `${csvLine(row)}\r\n`).join('');
}

/** A line of CSV without its end. */
export function csvLine(cells: readonly (Cell | undefined)[]): string {
  return cells.map(csvCell).join(',');
}

function csvCell(value: Cell | undefined): string {
  const text = typeof value === 'string' && FORMULA.test(value) ? `'${value}` : String(value ?? '');
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
