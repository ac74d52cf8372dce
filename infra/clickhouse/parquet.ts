import { randomUUID } from 'node:crypto';
import type { AnswerTable, Cell } from '#pipelines/analytics/answer_table.ts';
import { type Warehouse, WarehouseError } from './client.ts';
import { readClickhouseLogin } from './servers.ts';

const ANSWER_MS_MAX = 25_000;

/** Writes a table as a Parquet file. @throws WarehouseError */
export type WriteParquet = (table: AnswerTable) => Promise<Buffer>;

/**
 * Parquet by ClickHouse, which gets the rows beside a SELECT (external data) and stores nothing; nothing a caller gave is
 * part of the statement. @throws WarehouseError
 */
export function createParquetWriter(warehouse: Pick<Warehouse, 'attempt'>): WriteParquet {
  return (table) => {
    const types = table.columns.map((_, index) => typeOf(table.rows.map((row) => row[index] ?? null)));
    const boundary = randomUUID();
    const body = formOf(boundary, linesOf(table, types));
    const ask = ({ url }: { url: string }): Promise<Response> => {
      const { username, password } = readClickhouseLogin(url);
      const authorization = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
      return fetch(new URL(`/?${settingsOf(table.columns, types)}`, new URL(url).origin), {
        method: 'POST',
        headers: { authorization, 'content-type': `multipart/form-data; boundary=${boundary}` },
        body,
        signal: AbortSignal.timeout(ANSWER_MS_MAX),
      });
    };
    return answered(() => warehouse.attempt(ask));
  };
}

/** The file, or why there is none: also when the connection ends in the middle of it. */
async function answered(ask: () => Promise<Response>): Promise<Buffer> {
  let what: string;
  try {
    const response = await ask();
    if (response.ok) return Buffer.from(await response.arrayBuffer());
    what = `${response.status} ${response.headers.get('x-clickhouse-exception-code') ?? ''}`.trim();
  } catch (error) {
    what = error instanceof Error ? error.name : 'error';
  }
  throw new WarehouseError('warehouse_unavailable', `clickhouse: ${what}`);
}

const quoted = (name: string): string => `\`${name.replaceAll(/[\\`]/g, '\\$&')}\``;

function settingsOf(columns: readonly string[], types: readonly ColumnType[]): string {
  const structure = columns.map((column, index) => `${quoted(column)} Nullable(${types[index]})`).join(', ');
  return new URLSearchParams({
    query: 'SELECT * FROM answer FORMAT Parquet',
    answer_format: 'JSONCompactEachRow',
    answer_structure: structure,
    readonly: '2',
    wait_end_of_query: '1',
    // Texts as Parquet's own texts, which every reader shows as such.
    output_format_parquet_string_as_string: '1',
  }).toString();
}

type ColumnType = 'Bool' | 'Int64' | 'Float64' | 'String';

/** The narrowest type that all values of a column have; a column of nothing is one of texts. */
function typeOf(cells: readonly Cell[]): ColumnType {
  const given = cells.filter((cell) => cell !== null);
  if (given.length === 0) return 'String';
  if (given.every((cell) => typeof cell === 'boolean')) return 'Bool';
  if (given.every((cell) => Number.isSafeInteger(cell))) return 'Int64';
  return given.every((cell) => typeof cell === 'number') ? 'Float64' : 'String';
}

function linesOf({ rows }: AnswerTable, types: readonly ColumnType[]): string {
  const cellOf = (cell: Cell, index: number): Cell =>
    cell !== null && types[index] === 'String' ? String(cell) : cell;
  return rows.map((row) => JSON.stringify(row.map(cellOf))).join('\n');
}

function formOf(boundary: string, lines: string): Buffer<ArrayBuffer> {
  const head = `--${boundary}\r\ncontent-disposition: form-data; name="answer"; filename="answer"\r\n\r\n`;
  return Buffer.from(`${head}${lines}\r\n--${boundary}--\r\n`);
}
