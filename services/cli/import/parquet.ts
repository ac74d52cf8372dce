// Parquet through ClickHouse's reader: `clickhouse local` of a program that was named, or of the chdb package in a process of its own.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { UsageError } from '../command.ts';

/** Takes the arguments of `clickhouse local`. */
const EMBEDDED = fileURLToPath(new URL('./embedded_clickhouse.ts', import.meta.url));
/** Exit status of the embedded one where its package is not installed. */
export const NOT_INSTALLED = 3;
/** What the embedded one says last when it has written all rows, however it ends then. */
export const FINISHED = 'finished\n';
const STDERR_CHARACTERS_MAX = 16 * 1024;
/** Of pandas: the number of the row in its file, by which equal sales of two files would differ. */
const INDEX_COLUMN = /^__index_level_\d+__$/;

/** How a file's columns are selected, and how many rows it has. */
export interface ParquetForm {
  select: string;
  rows: number;
}

/**
 * What a file holds. Times that state no zone are written without one, as the reader would take them for UTC; where such are nested
 * in a column it is left out.
 *
 * @param program `clickhouse`, or null for the embedded one.
 * @throws UsageError where there is no ClickHouse, or the file is no Parquet
 */
export async function readParquetForm(program: string | null, path: string): Promise<ParquetForm> {
  const sql = `SELECT num_rows AS rows, arrayMap(c -> [c.path, c.name, c.physical_type, c.logical_type], columns) AS columns
FROM file(${fileOf(path)}, 'ParquetMetadata') SETTINGS output_format_json_quote_64bit_integers = 0`;
  const chunks: Buffer[] = [];
  for await (const chunk of run(program, path, sql)) chunks.push(chunk);
  const { rows, columns } = JSON.parse(Buffer.concat(chunks).toString()) as { rows: number; columns: string[][] };
  const except = new Set<string>();
  const replace: string[] = [];
  for (const [column = '', name, physical, logical = ''] of columns) {
    const isTime = logical.startsWith('Time(');
    const isZoneless = isTime || physical === 'INT96' || /^Timestamp\(isAdjustedToUTC=false/.test(logical);
    if (INDEX_COLUMN.test(column)) except.add(column);
    else if (isZoneless && column !== name) except.add(column.split('.')[0] ?? column);
    else if (isZoneless) {
      const text = `toString(${identifier(column)})`;
      replace.push(`${isTime ? `substring(${text}, 12)` : text} AS ${identifier(column)}`);
    }
  }
  const without = except.size === 0 ? '' : ` EXCEPT (${[...except].map(identifier).join(', ')})`;
  return { select: `*${without}${replace.length === 0 ? '' : ` REPLACE (${replace.join(', ')})`}`, rows };
}

const SETTINGS = [
  'input_format_parquet_preserve_order = 1',
  "session_timezone = 'UTC'",
  "date_time_output_format = 'iso'",
  'output_format_json_quote_64bit_integers = 0',
  'output_format_json_quote_decimals = 0',
  'output_format_json_named_tuples_as_objects = 1',
].join(', ');

/** The rows as lines of JSON, in the order of the file. @throws UsageError */
export function parquetLines(
  program: string | null,
  path: string,
  { select, rows }: ParquetForm,
  rowsMax: number = rows,
): AsyncGenerator<Buffer> {
  const from = `file(${fileOf(path)}, 'Parquet')`;
  return run(program, path, `SELECT ${select} FROM ${from} LIMIT ${rowsMax} SETTINGS ${SETTINGS}`);
}

const identifier = (name: string): string => `\`${name.replaceAll(/[\\`]/g, '\\$&')}\``;

function fileOf(path: string): string {
  const whole = resolve(path);
  if (/[*?{}]|::/.test(whole)) {
    throw new UsageError('file_unreadable', `${path}: rename it: ClickHouse takes * ? { } and :: for patterns`);
  }
  return `'${whole.replaceAll(/[\\']/g, '\\$&')}'`;
}

async function* run(program: string | null, path: string, query: string): AsyncGenerator<Buffer> {
  const [command, first] = program === null ? [process.execPath, EMBEDDED] : [program, 'local'];
  const words = [first, '--output-format', 'JSONEachRow', '--query', query];
  const child = spawn(command, words, { stdio: ['ignore', 'pipe', 'pipe'] });
  let complaint = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaint = (complaint + text).slice(-STDERR_CHARACTERS_MAX);
  });
  const ended = once(child, 'close').then(
    ([code]) => code as number | null,
    (error: unknown) => error,
  );
  try {
    yield* child.stdout as AsyncIterable<Buffer>;
    const end = await ended;
    if (end === 0 || complaint.endsWith(FINISHED)) return;
    if (end instanceof Error || end === NOT_INSTALLED) {
      const hint = 'name its program in SVC_CLICKHOUSE_PROGRAM, or install the npm package chdb';
      throw new UsageError('clickhouse_missing', `Parquet is read by ClickHouse, which is not here: ${hint}`);
    }
    // Its messages may quote rows; the names of its errors do not.
    const reason = [...complaint.matchAll(/\(([A-Z]+(?:_[A-Z0-9]+)+)\)/g)].at(-1)?.[1] ?? `exit status ${String(end)}`;
    throw new UsageError('file_unreadable', `${path}: ClickHouse cannot read it as Parquet (${reason})`);
  } finally {
    child.kill('SIGKILL');
  }
}
