// CSV as spreadsheets and tills write it (RFC 4180): where a record ends in the bytes of a file, and its fields.

/** Bytes of one record; a longer one is rather a quotation mark that nobody closed. */
export const RECORD_BYTES_MAX = 256 * 1024;

type CsvProblem = 'quote_unclosed' | 'quote_misplaced' | 'row_too_long';

/** Where a record lies in the bytes: its end is before the line break, `next` behind it. */
export interface CsvRecord {
  start: number;
  end: number;
  next: number;
  /** Line breaks in it, its own included. */
  lines: number;
  problem: CsvProblem | null;
}

const QUOTE = 0x22;
const LF = 0x0a;
const CR = 0x0d;

/**
 * The record that begins at `start`; null where the bytes do not reach to its end and more may follow. Of one whose quotation
 * marks are wrong only its first line is taken, so that the rows that it would swallow are rows all the same.
 *
 * @param separator Its byte.
 * @param isLast No bytes follow these.
 */
export function nextRecord(bytes: Buffer, start: number, separator: number, isLast: boolean): CsvRecord | null {
  let at = start;
  let isQuoted = false;
  for (;;) {
    const field = endOfField(bytes, at, separator, isLast);
    if (field === null || field.end - start > RECORD_BYTES_MAX) {
      if (field === null && bytes.length - start <= RECORD_BYTES_MAX) return null;
      return firstLine(bytes, start, isLast, isQuoted || bytes[at] === QUOTE ? 'quote_unclosed' : 'row_too_long');
    }
    if (field.problem !== null) return firstLine(bytes, start, isLast, field.problem);
    isQuoted ||= field.isQuoted;
    if (bytes[field.end] === separator) {
      at = field.end + 1;
      continue;
    }
    const next = behindBreak(bytes, field.end, isLast);
    if (next === null) return null;
    return {
      start,
      end: field.end,
      next,
      lines: isQuoted ? lineBreaks(bytes, start, next) : Number(next > field.end),
      problem: null,
    };
  }
}

interface Field {
  /** At a separator, a line break, or the end of the bytes. */
  end: number;
  isQuoted: boolean;
  problem: CsvProblem | null;
}

function endOfField(bytes: Buffer, start: number, separator: number, isLast: boolean): Field | null {
  if (bytes[start] === QUOTE) return endOfQuoted(bytes, start, separator, isLast);
  const to = Math.min(bytes.length, start + RECORD_BYTES_MAX + 1);
  for (let at = start; at < to; at++) {
    const byte = bytes[at];
    if (byte === separator || byte === LF || byte === CR) return { end: at, isQuoted: false, problem: null };
  }
  if (to < bytes.length || isLast) return { end: to, isQuoted: false, problem: null };
  return null;
}

function endOfQuoted(bytes: Buffer, start: number, separator: number, isLast: boolean): Field | null {
  let at = start + 1;
  for (;;) {
    at = bytes.indexOf(QUOTE, at);
    if (at < 0) return isLast ? { end: bytes.length, isQuoted: true, problem: 'quote_unclosed' } : null;
    if (at + 1 === bytes.length && !isLast) return null;
    if (bytes[at + 1] !== QUOTE) break;
    at += 2;
  }
  const behind = bytes[at + 1];
  const isEnd = behind === undefined || behind === separator || behind === LF || behind === CR;
  return { end: at + 1, isQuoted: true, problem: isEnd ? null : 'quote_misplaced' };
}

/** Null where what follows a CR is not known yet. */
function behindBreak(bytes: Buffer, end: number, isLast: boolean): number | null {
  if (bytes[end] !== CR) return Math.min(bytes.length, end + 1);
  if (end + 1 === bytes.length && !isLast) return null;
  return bytes[end + 1] === LF ? end + 2 : end + 1;
}

/** A line, or as much of one as is here. Null where its end may follow soon. */
export function firstLine(bytes: Buffer, start: number, isLast: boolean, problem: CsvProblem): CsvRecord | null {
  for (let end = start; end < bytes.length; end++) {
    if (bytes[end] !== LF && bytes[end] !== CR) continue;
    const next = behindBreak(bytes, end, isLast);
    return next === null ? null : { start, end, next, lines: 1, problem };
  }
  if (!isLast && bytes.length - start <= RECORD_BYTES_MAX) return null;
  // A line without an end is given away in pieces.
  return { start, end: bytes.length, next: bytes.length, lines: 0, problem };
}

function lineBreaks(bytes: Buffer, start: number, end: number): number {
  let lines = 0;
  for (let at = start; at < end; at++) {
    if (bytes[at] === LF || (bytes[at] === CR && bytes[at + 1] !== LF)) lines++;
  }
  return lines;
}

/** The fields of a record without a problem, without their quotation marks. */
export function splitFields(record: string, separator: string): string[] {
  if (!record.includes('"')) return record.split(separator);
  const fields: string[] = [];
  let at = 0;
  for (;;) {
    if (record[at] === '"') {
      let end = at + 1;
      for (end = record.indexOf('"', end); record[end + 1] === '"'; end = record.indexOf('"', end + 2));
      fields.push(record.slice(at + 1, end).replaceAll('""', '"'));
      at = end + 1;
    } else {
      const end = record.indexOf(separator, at);
      fields.push(record.slice(at, end < 0 ? undefined : end));
      at = end < 0 ? record.length : end;
    }
    if (at >= record.length) return fields;
    at++;
    if (at === record.length) {
      fields.push('');
      return fields;
    }
  }
}

/** A text as one field, in quotation marks where it needs them. */
export function csvField(text: string, separator: string): string {
  return text.includes(separator) || /["\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

const SEPARATORS = [';', '\t', ','] as const;

/** The separator that a header uses; null where it cannot be told: two of them occur equally often. */
export function separatorOf(header: string): string | null {
  const plain = header.replace(/"(?:[^"]|"")*"/g, '');
  const [first, second] = SEPARATORS.map((sign) => ({ sign, count: plain.split(sign).length - 1 })).sort(
    (a, b) => b.count - a.count,
  );
  if (first === undefined || first.count === 0) return ',';
  return first.count === second?.count ? null : first.sign;
}
