import { inspect } from 'node:util';

const ROW_CHARS_MAX = 300;

type Check<Row> = (row: Row) => unknown;

/**
 * Checks every row of a table in one test. Where some miss, the test fails once and shows all of them, each with what was wrong:
 * as much as a test for each row would say.
 */
export function checkAll<Row extends unknown[] | [unknown]>(table: readonly Row[], check: Check<Row>): Promise<void>;
export function checkAll<Row>(table: readonly Row[], check: Check<Row>): Promise<void>;
export async function checkAll<Row>(table: readonly Row[], check: Check<Row>): Promise<void> {
  if (table.length === 0) throw new Error('the table has no rows');
  const misses: string[] = [];
  for (const row of table) {
    try {
      await check(row);
    } catch (error) {
      misses.push(`${shown(row).slice(0, ROW_CHARS_MAX)}\n${reasonOf(error)}`);
    }
  }
  if (misses.length > 0) throw new Error(`${misses.length} of ${table.length} rows miss:\n\n${misses.join('\n\n')}`);
}

const shown = (value: unknown): string => inspect(value, { breakLength: 120, depth: 6 });

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return shown(error);
  if (!('expected' in error && 'actual' in error)) return error.stack ?? error.message;
  return `  ${error.message}\n  expected: ${shown(error.expected)}\n  received: ${shown(error.actual)}`;
}
