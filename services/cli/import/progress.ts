// What an import has done so far, beside its file: how far it is, and the rows that were not taken.

import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { basename, dirname, extname, join } from 'node:path';
import { csvField } from './csv.ts';
import { ERROR_COLUMNS, type SourceForm } from './read_rows.ts';

/** What became of the rows of a file so far. */
export interface Counts {
  rows: number;
  accepted: number;
  /** Not counted by the edge: robots, and what the site's rules block. */
  filtered: number;
  /** Of the accepted, those of more than seven days ago. */
  late: number;
  /** Rows that say again what an earlier one said. */
  repeated: number;
  /** Rows in the file of errors, by code. */
  failed: Record<string, number>;
}

export const noCounts = (): Counts => ({ rows: 0, accepted: 0, filtered: 0, late: 0, repeated: 0, failed: {} });

/** A row that was not taken. */
export interface FailedRow {
  line: number;
  code: string;
  reason: string;
  raw: Buffer;
}

interface Saved {
  /** SHA-256 of the file, and of all that decides what is sent for it. */
  source: string;
  options: string;
  errors_bytes: number;
  counts: Counts;
  finished_at: string | null;
}

export interface Progress {
  readonly counts: Counts;
  /** When the file was imported whole; null while it was not. */
  readonly finishedAt: string | null;
  readonly errorsPath: string;
  /** Takes in what became of further rows; it counts from the next `save`. */
  fail(rows: readonly FailedRow[]): Promise<void>;
  /** Makes what was done so far durable: a run that is killed goes on here. */
  save(finishedAt?: string): Promise<void>;
  close(): Promise<void>;
}

/** The files that an import of a path keeps in a folder. */
export function importPaths(path: string, folder: string = dirname(path)): { progress: string; errors: string } {
  const whole = basename(path);
  // Of a packed file they are not packed.
  const name = whole.replace(/\.gz$/i, '');
  const kind = extname(name);
  // Rows of Parquet are written as the JSON that they were read as.
  const errorsKind = kind.toLowerCase() === '.parquet' ? '.ndjson' : kind;
  return {
    progress: join(folder, `${whole}.progress.json`),
    errors: join(folder, `${name.slice(0, name.length - kind.length)}.errors${errorsKind}`),
  };
}

/** What a run before this one has left; null where it was of other contents or other options. */
function readProgress(path: string, source: string, options: string): Saved | null {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw error;
  }
  const saved = JSON.parse(text) as Saved;
  return saved.source === source && saved.options === options ? saved : null;
}

/** Opens the progress of an import, where a run before this one left it or from the beginning. */
export async function openProgress(
  path: string,
  folder: string,
  { source, options, form, isAgain }: { source: string; options: string; form: SourceForm; isAgain: boolean },
): Promise<Progress> {
  const paths = importPaths(path, folder);
  const found = isAgain ? null : readProgress(paths.progress, source, options);
  const isWhole = found === null || found.finished_at !== null || found.errors_bytes === 0 || existsSync(paths.errors);
  const saved = isWhole ? found : null;
  const counts = saved?.counts ?? noCounts();
  let finishedAt = saved?.finished_at ?? null;
  let bytes = saved?.errors_bytes ?? 0;
  let file: FileHandle | null = null;
  // Of what was written behind the last save, nobody knows whether it is whole. The errors of a file that is done are its owner's.
  if (bytes === 0) rmSync(paths.errors, { force: true });
  else if (finishedAt === null) await truncate(paths.errors, bytes);

  async function write(content: Buffer): Promise<void> {
    file ??= await open(paths.errors, bytes === 0 ? 'w' : 'r+');
    await file.write(content, 0, content.length, bytes);
    bytes += content.length;
  }

  return {
    counts,
    get finishedAt() {
      return finishedAt;
    },
    errorsPath: paths.errors,
    async fail(rows) {
      if (rows.length === 0) return;
      const head = bytes === 0 ? [errorsHeader(form)] : [];
      await write(Buffer.concat([...head, ...rows.map((row) => errorsRow(row, form))]));
      for (const { code } of rows) counts.failed[code] = (counts.failed[code] ?? 0) + 1;
    },
    async save(finished) {
      await file?.datasync();
      finishedAt = finished ?? null;
      const state: Saved = { source, options, errors_bytes: bytes, counts, finished_at: finishedAt };
      const draft = `${paths.progress}.new`;
      writeFileSync(draft, `${JSON.stringify(state, null, 2)}\n`);
      renameSync(draft, paths.progress);
    },
    async close() {
      await file?.close();
    },
  };
}

async function truncate(path: string, bytes: number): Promise<void> {
  const file = await open(path, 'r+');
  await file.truncate(bytes);
  await file.close();
}

/** In the file's own encoding; column names are all that is not ASCII. */
const encoded = (text: string, { encoding }: SourceForm): Buffer =>
  encoding === 'utf-8' ? Buffer.from(text) : Buffer.from(text.replace(/[^\0-\u00ff]/g, '?'), 'latin1');

const MARK_BYTES = 3;

/** The header of the file with our columns before it, so that what was corrected can be imported as it stands. */
function errorsHeader(form: SourceForm): Buffer {
  if (form.format !== 'csv') return Buffer.alloc(0);
  const own = encoded(`${ERROR_COLUMNS.join(form.separator)}${form.separator}`, form);
  const { header } = form;
  if (header === null) {
    const names = form.columns.map((name) => csvField(name, form.separator)).join(form.separator);
    return Buffer.concat([own, encoded(`${names}\r\n`, form)]);
  }
  const hasMark = header[0] === 0xef && header[1] === 0xbb;
  const mark = header.subarray(0, hasMark ? MARK_BYTES : 0);
  return Buffer.concat([mark, own, header.subarray(mark.length), Buffer.from('\r\n')]);
}

function errorsRow({ line, code, reason, raw }: FailedRow, form: SourceForm): Buffer {
  if (form.format !== 'csv') return Buffer.from(`${jsonError(line, code, reason, raw.toString('utf8'))}\n`);
  const { separator } = form;
  const own = [String(line), code, reason].map((text) => csvField(text, separator)).join(separator);
  // Its quotation marks would take the rows below it for a part of it, wherever the file of errors is opened.
  const isBroken = code.startsWith('quote_');
  const row = isBroken ? Buffer.from(`"${raw.toString('latin1').replaceAll('"', '""')}"`, 'latin1') : raw;
  return Buffer.concat([encoded(`${own}${separator}`, form), row, Buffer.from('\r\n')]);
}

/** Of rows that no fields can be put into. */
const TEXT_ONLY: ReadonlySet<string> = new Set(['row_unreadable', 'row_too_long', 'encoding_invalid']);

function jsonError(line: number, code: string, reason: string, raw: string): string {
  const own = JSON.stringify({ import_line: line, import_error: code, import_reason: reason }).slice(0, -1);
  if (TEXT_ONLY.has(code)) return `${own},"import_row":${JSON.stringify(raw)}}`;
  const inner = raw.slice(raw.indexOf('{') + 1).trim();
  return inner === '}' ? `${own}}` : `${own},${inner}`;
}
