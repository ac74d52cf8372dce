// The rows of a file, a piece of it at a time: CSV, newline-delimited JSON, or Parquet as such JSON.

import { createHash } from 'node:crypto';
import { open, stat } from 'node:fs/promises';
import { pipeline, type Readable } from 'node:stream';
import { TextDecoder } from 'node:util';
import { createGunzip } from 'node:zlib';
import { UsageError } from '../command.ts';
import { type JsonReviver, objectIn } from '../read.ts';
import { firstLine, nextRecord, RECORD_BYTES_MAX, separatorOf, splitFields } from './csv.ts';
import { type ParquetForm, parquetLines, readParquetForm } from './parquet.ts';
import type { Cell, Cells, RowProblem } from './row_event.ts';

export const ENCODINGS = ['utf-8', 'windows-1252'] as const;
export type Encoding = (typeof ENCODINGS)[number];
export const FORMATS = ['csv', 'ndjson', 'parquet'] as const;
export type Format = (typeof FORMATS)[number];

/** A row as it was, and what it holds or why that cannot be said. */
export interface SourceRow {
  /** The first line of it, from 1 on; of Parquet its number. */
  line: number;
  /** Without its line break. */
  raw: Buffer;
  cells: Cells | null;
  problem: RowProblem | null;
}

/** What a file's beginning says. */
export interface SourceForm {
  format: Format;
  encoding: Encoding;
  /** Of CSV; empty for JSON. */
  separator: string;
  /** Of JSON those that the rows of its beginning have. */
  columns: readonly string[];
  /** The header as it was, with a byte order mark where it has one; null where the file has none. */
  header: Buffer | null;
  /** A zone that the file itself states for its times. */
  zone: string | null;
  /** Where the rows begin. */
  offset: number;
  line: number;
  parquet: ParquetForm | null;
  /** With gzip; absent: it is not. */
  isPacked?: boolean;
}

/** What was said of a file's form; null: its name and its beginning tell. */
export interface WantedForm {
  format: Format | null;
  encoding: Encoding;
  separator: string | null;
  /** Names of the columns of a file without a header. */
  columns: readonly string[] | null;
  /** The program that reads Parquet; null: the embedded one. */
  clickhouse: string | null;
}

/** In our own files of errors, and no part of a row's contents. */
export const ERROR_COLUMNS = ['import_line', 'import_error', 'import_reason'] as const;

const PIECE_BYTES = 256 * 1024;
/** Of a file's beginning, for its form. */
const HEAD_BYTES = 1024 * 1024;
const PARQUET_ROWS_LOOKED_AT = 100;
const UTF8_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

/** What is another when a file was written to or replaced. */
export async function fileVersion(path: string): Promise<string> {
  const { ino, size, mtimeMs } = await stat(path);
  return `${ino} ${size} ${mtimeMs}`;
}

/** SHA-256 of a file, and its size. */
export async function digestFile(path: string): Promise<{ sha256: string; bytes: number }> {
  const file = await open(path);
  try {
    const hash = createHash('sha256');
    let bytes = 0;
    for await (const piece of file.createReadStream({ highWaterMark: PIECE_BYTES, autoClose: false })) {
      hash.update(piece as Buffer);
      bytes += (piece as Buffer).length;
    }
    return { sha256: hash.digest('hex'), bytes };
  } finally {
    await file.close();
  }
}

function formatOf(path: string): Format {
  if (/\.(?:ndjson|jsonl)$/i.test(path)) return 'ndjson';
  if (/\.(?:csv|tsv|txt)$/i.test(path)) return 'csv';
  if (/\.parquet$/i.test(path)) return 'parquet';
  throw new UsageError(
    'format_unknown',
    `${path} is neither .csv, .tsv, .txt, .ndjson, .jsonl nor .parquet: say --format`,
  );
}

/** What files that are no text begin with, and what is to be done about them. */
const OTHER_KINDS = [
  ['encoding_unsupported', [0xff, 0xfe], 'is UTF-16: save it as UTF-8 or Windows-1252'],
  ['encoding_unsupported', [0xfe, 0xff], 'is UTF-16: save it as UTF-8 or Windows-1252'],
  ['format_unknown', [0x50, 0x4b, 0x03, 0x04], 'is a workbook or an archive: save its sheet as CSV'],
  ['format_unknown', [0xd0, 0xcf, 0x11, 0xe0], 'is an old workbook: save its sheet as CSV'],
  ['format_unknown', [0x1f, 0x8b], 'is compressed: unpack it first'],
] as const;

const OTHER_KIND_BYTES = 4;
const GZIP = [0x1f, 0x8b];

/** The same of files that have to hold lines. */
const NO_LINES = [
  ['format_unknown', [0x5b], 'is one list: make lines of it, as jq -c ".[]" does'],
  ['format_unknown', [0x50, 0x41, 0x52, 0x31], 'is Parquet: export JSON lines'],
  ['format_unknown', [0x28, 0xb5, 0x2f, 0xfd], 'is packed with zstd: unpack it first'],
] as const;

/** Reads a file's beginning. @throws UsageError where its form cannot be told */
export async function readForm(path: string, wanted: WantedForm): Promise<SourceForm> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0);
    const bytes = buffer.subarray(0, bytesRead);
    const other = OTHER_KINDS.find(([, first]) => first.every((byte, at) => bytes[at] === byte));
    if (other !== undefined) throw new UsageError(other[0], `${path} ${other[2]}`);
    const format = wanted.format ?? formatOf(path);
    if (format === 'parquet') return await parquetForm(path, wanted);
    const isWhole = bytesRead < HEAD_BYTES;
    return format === 'csv' ? csvForm(path, bytes, isWhole, wanted) : jsonForm(bytes, isWhole, wanted);
  } finally {
    await file.close();
  }
}

/** The form of a file of newline-delimited JSON, packed with gzip or not. @throws UsageError for another kind of file */
export async function readLinesForm(path: string): Promise<SourceForm> {
  const file = await open(path);
  try {
    const { buffer } = await file.read(Buffer.alloc(OTHER_KIND_BYTES), 0, OTHER_KIND_BYTES, 0);
    const isPacked = buffer[0] === GZIP[0] && buffer[1] === GZIP[1];
    const begins = ([, first]: (typeof OTHER_KINDS | typeof NO_LINES)[number]): boolean =>
      first.every((byte, at) => buffer[at] === byte);
    const other = isPacked ? undefined : [...OTHER_KINDS, ...NO_LINES].find(begins);
    if (other !== undefined) throw new UsageError(other[0], `${path} is no newline-delimited JSON: it ${other[2]}`);
    const form = { format: 'ndjson', encoding: 'utf-8', separator: '', columns: [], header: null, zone: null } as const;
    return { ...form, offset: 0, line: 1, parquet: null, ...(isPacked ? { isPacked } : {}) };
  } finally {
    await file.close();
  }
}

const hasMark = (bytes: Buffer): boolean => bytes.subarray(0, UTF8_MARK.length).equals(UTF8_MARK);

const decoders = {
  'utf-8': new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }),
  'windows-1252': new TextDecoder('windows-1252'),
};

/** Null for what is not of this encoding. */
function decoded(bytes: Buffer, encoding: Encoding): string | null {
  try {
    return decoders[encoding].decode(bytes);
  } catch (error) {
    if (error instanceof TypeError) return null;
    throw error;
  }
}

const SEPARATOR_LINE = /^"?sep=(.)"?$/;
/** The first line of Google's templates for conversions. */
const PARAMETERS = /^"?Parameters:\s*TimeZone=([\w/+:-]+)/i;

function csvForm(path: string, bytes: Buffer, isWhole: boolean, wanted: WantedForm): SourceForm {
  let offset = hasMark(bytes) ? UTF8_MARK.length : 0;
  let line = 1;
  let { separator } = wanted;
  let zone: string | null = null;
  const begin = { format: 'csv', encoding: wanted.encoding, parquet: null } as const;
  for (;;) {
    const first = nextRecord(bytes, offset, 0, isWhole);
    const text = first === null ? null : decoded(bytes.subarray(offset, first.end), wanted.encoding);
    if (first === null || text === null) throw headerError(path, text === null);
    const said = SEPARATOR_LINE.exec(text)?.[1];
    const stated = PARAMETERS.exec(text)?.[1];
    if (said === undefined && stated === undefined && (text.trim() !== '' || first.next >= bytes.length)) break;
    separator ??= said ?? null;
    zone ??= stated ?? null;
    offset = first.next;
    line += first.lines;
  }
  const lineEnd = nextRecord(bytes, offset, 0, isWhole)?.end ?? bytes.length;
  separator ??= separatorOf(decoded(bytes.subarray(offset, lineEnd), wanted.encoding) ?? '');
  if (separator === null) {
    throw new UsageError('separator_ambiguous', `${path}: its separator cannot be told: say --separator`);
  }
  const { columns } = wanted;
  if (columns !== null) return { ...begin, separator, columns, header: null, zone, offset, line };
  const header = nextRecord(bytes, offset, separator.charCodeAt(0), isWhole);
  const text = header === null ? null : decoded(bytes.subarray(offset, header.end), wanted.encoding);
  if (header === null || header.problem !== null || text === null || text.trim() === '') {
    throw headerError(path, header !== null && text === null);
  }
  const mark = hasMark(bytes) ? UTF8_MARK : Buffer.alloc(0);
  return {
    ...begin,
    separator,
    columns: splitFields(text, separator).map((name) => name.trim()),
    header: Buffer.concat([mark, bytes.subarray(offset, header.end)]),
    zone,
    offset: header.next,
    line: line + header.lines,
  };
}

function headerError(path: string, isEncoding: boolean): UsageError {
  if (isEncoding) return new UsageError('encoding_invalid', `${path} is not UTF-8: say --encoding windows-1252`);
  return new UsageError('header_missing', `${path} has no header that can be read: say --columns for one without`);
}

function jsonForm(bytes: Buffer, isWhole: boolean, { encoding }: WantedForm): SourceForm {
  const columns = new Set<string>();
  const start = hasMark(bytes) ? UTF8_MARK.length : 0;
  let at = start;
  while (at < bytes.length) {
    const record = nextLine(bytes, at, isWhole);
    if (record === null) break;
    // A column is one though its first rows say nothing.
    const text = decoded(bytes.subarray(at, record.end), encoding) ?? '';
    for (const column of Object.keys((isTooDeep(text) ? null : jsonCells(text, true)) ?? {})) columns.add(column);
    at = record.next;
  }
  const form = { format: 'ndjson', encoding, separator: '', header: null, zone: null, parquet: null } as const;
  return { ...form, columns: [...columns], offset: start, line: 1 };
}

async function parquetForm(path: string, wanted: WantedForm): Promise<SourceForm> {
  const parquet = await readParquetForm(wanted.clickhouse, path);
  const lines: Buffer[] = [];
  for await (const piece of parquetLines(wanted.clickhouse, path, parquet, PARQUET_ROWS_LOOKED_AT)) lines.push(piece);
  return { ...jsonForm(Buffer.concat(lines), true, { ...wanted, encoding: 'utf-8' }), format: 'parquet', parquet };
}

/** The rows of a file behind its header, some at a time. No more of it is in memory than a piece and a row. */
export async function* readRows(
  path: string,
  form: SourceForm,
  clickhouse: string | null,
): AsyncGenerator<SourceRow[]> {
  const file = await open(path);
  try {
    let line = form.line;
    const stored = () => file.createReadStream({ start: form.offset, highWaterMark: PIECE_BYTES, autoClose: false });
    const plain = form.isPacked === true ? unpacked(path, stored()) : stored();
    const chunks = form.parquet === null ? plain : parquetLines(clickhouse, path, form.parquet);
    // Behind the beginning of a line that is too long: the rest of it is no row.
    let isCut = false;
    const next = (bytes: Buffer, at: number, isLast: boolean) => {
      if (form.format !== 'csv') return nextLine(bytes, at, isLast);
      if (isCut) return firstLine(bytes, at, isLast, 'row_too_long');
      return nextRecord(bytes, at, form.separator.charCodeAt(0), isLast);
    };
    for await (const { bytes, isLast, take } of pieces(chunks)) {
      const rows: SourceRow[] = [];
      let at = 0;
      while (at < bytes.length) {
        const record = next(bytes, at, isLast);
        if (record === null) break;
        const row = isCut ? null : rowOf(bytes.subarray(at, record.end), line, record.problem, form);
        if (row !== null) rows.push(row);
        isCut = record.lines === 0 && (isCut || record.problem !== null);
        line += record.lines;
        at = record.next;
      }
      take(at);
      yield rows;
    }
  } finally {
    await file.close();
  }
}

/** @throws UsageError for what is cut off or broken */
async function* unpacked(path: string, source: Readable): AsyncGenerator<Buffer> {
  const gunzip = createGunzip();
  try {
    for await (const chunk of pipeline(source, gunzip, () => undefined)) yield chunk as Buffer;
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && String(error.code).startsWith('Z_'))) throw error;
    throw new UsageError('file_corrupt', `${path} cannot be unpacked to its end (${String(error.code)})`);
  }
}

interface Piece {
  bytes: Buffer;
  isLast: boolean;
  /** Says how many of the bytes were read; the others come again with the next piece. */
  take(bytes: number): void;
}

async function* pieces(chunks: AsyncIterable<Buffer>): AsyncGenerator<Piece> {
  let bytes = Buffer.alloc(0);
  const take = (count: number): void => {
    bytes = bytes.subarray(count);
  };
  for await (const chunk of chunks) {
    bytes = Buffer.concat([bytes, chunk]);
    yield { bytes, isLast: false, take };
  }
  yield { bytes, isLast: true, take };
}

function nextLine(bytes: Buffer, start: number, isLast: boolean) {
  const found = bytes.indexOf(0x0a, start);
  const end = found < 0 ? bytes.length : found;
  const isLong = end - start > RECORD_BYTES_MAX;
  if (found < 0 && !isLast && !isLong) return null;
  const problem = isLong ? ('row_too_long' as const) : null;
  return { end, next: found < 0 ? end : end + 1, lines: found < 0 ? 0 : 1, problem };
}

/** Null for an empty line. A packed file, and each of several that were put together, may begin with a byte order mark. */
function rowOf(bytes: Buffer, line: number, problem: RowProblem | null, form: SourceForm): SourceRow | null {
  const raw = form.format !== 'csv' && hasMark(bytes) ? bytes.subarray(UTF8_MARK.length) : bytes;
  const bad = (found: RowProblem): SourceRow => ({ line, raw, cells: null, problem: found });
  if (problem !== null) return bad(problem);
  const text = decoded(raw, form.encoding);
  if (text === null) return bad('encoding_invalid');
  if (text.trim() === '') return null;
  if (form.format !== 'csv') {
    if (isTooDeep(text)) return bad('row_too_deep');
    const cells = jsonCells(text);
    return cells === null ? bad('row_unreadable') : { line, raw, cells, problem: null };
  }
  const fields = splitFields(text, form.separator);
  const { columns } = form;
  // Columns without a name, as spreadsheets leave them at the end, need not be there.
  const needed = columns.findLastIndex((name) => name !== '') + 1;
  if (fields.length < needed || fields.slice(columns.length).some((field) => field.trim() !== '')) {
    // A row of separators alone is what spreadsheets write below the last one.
    return fields.every((field) => field.trim() === '') ? null : bad('fields_count');
  }
  const cells: Record<string, Cell> = Object.create(null);
  columns.forEach((column, index) => {
    const field = fields[index]?.trim() ?? '';
    if (field !== '' && !isErrorColumn(column)) cells[column] = field;
  });
  return Object.keys(cells).length === 0 ? null : { line, raw, cells, problem: null };
}

const isErrorColumn = (column: string): boolean => (ERROR_COLUMNS as readonly string[]).includes(column);

/** Of what lies deeper nothing is read; so deep no row is walked. */
const NESTED_MAX = 64;

/** Whether JSON is nested deeper than a row is read. */
export function isTooDeep(json: string): boolean {
  let depth = 0;
  let isText = false;
  for (let at = 0; at < json.length; at++) {
    const sign = json[at];
    if (sign === '\\') at++;
    else if (sign === '"') isText = !isText;
    else if (isText) continue;
    else if (sign === '}' || sign === ']') depth--;
    else if ((sign === '{' || sign === '[') && ++depth > NESTED_MAX) return true;
  }
  return false;
}

/** An object of JSON, in which a whole number that would be rounded is the text that it is; null for anything else. */
export const exactObject = (json: string): Record<string, unknown> | null =>
  objectIn(json, LONG_NUMBER.test(json) ? exactNumber : undefined);

const LONG_NUMBER = /\d{16}/;

const exactNumber: JsonReviver = (_name, value, { source }) =>
  typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value) && /^-?\d+$/.test(source ?? '')
    ? source
    : value;

/** Values of an object by their path, as `properties.value`; null for what is no object. */
function jsonCells(json: string, isEmptyKept = false): Cells | null {
  const value = exactObject(json);
  if (value === null) return null;
  const cells: Record<string, Cell> = Object.create(null);
  flatten(value, '', cells, 0, isEmptyKept);
  return cells;
}

const DEPTH_MAX = 8;

function flatten(
  object: object,
  prefix: string,
  into: Record<string, Cell>,
  depth: number,
  isEmptyKept: boolean,
): void {
  for (const [name, value] of Object.entries(object) as [string, unknown][]) {
    if (depth === 0 && isErrorColumn(name)) continue;
    const path = prefix + name;
    if (value === null && isEmptyKept) into[path] = '';
    else if (typeof value === 'string') {
      if (isEmptyKept || value.trim() !== '') into[path] = value.trim();
    } else if (typeof value === 'number' || typeof value === 'boolean') into[path] = value;
    else if (Array.isArray(value)) into[path] = JSON.stringify(value);
    else if (typeof value === 'object' && value !== null && depth < DEPTH_MAX)
      flatten(value, `${path}.`, into, depth + 1, isEmptyKept);
  }
}
