// Tables and times for a terminal; secrets of ready.json hidden.

/** Rows under headings in aligned columns, without trailing spaces; the note when there are no rows. */
export function renderTable(headings: string[], rows: string[][], noteWhenEmpty: string): string {
  if (rows.length === 0) return noteWhenEmpty;
  const lines = [headings, ...rows];
  const widths = headings.map((_, column) => Math.max(...lines.map((line) => (line[column] ?? '').length)));
  return lines
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** A time in UTC, to the second; `never` for null. */
export function renderTime(timeMs: number | null): string {
  return timeMs === null ? 'never' : `${new Date(timeMs).toISOString().slice(0, 19)}Z`;
}

/** A list in one cell. */
export function renderList(items: readonly string[], whenEmpty = '-'): string {
  return items.length === 0 ? whenEmpty : items.join(',');
}

const NUMBERS = new Intl.NumberFormat('en-US', { maximumFractionDigits: 6 });

/** `12345.5` as `12,345.5`. */
export function renderNumber(value: number): string {
  return NUMBERS.format(value);
}

const VALUE_CHARACTERS_MAX = 60;

/** A text that somebody sent, in one cell: without what terminals obey, and not too long; `-` where there is none. */
export function renderValue(text: string): string {
  const line = text.replace(/\p{C}+/gu, ' ').trim();
  if (line === '') return '-';
  return line.length > VALUE_CHARACTERS_MAX ? `${line.slice(0, VALUE_CHARACTERS_MAX - 1)}…` : line;
}

/** Messages may repeat what was typed, line breaks and terminal codes included. */
export function oneLine(text: string): string {
  return text.replace(/\p{Cc}+/gu, ' ');
}

/** Names of values in ready.json that are secrets as a whole. */
const SECRET_NAME = /^(?:serverKey|password|secret|token)$/;

/**
 * The facts of ready.json as they may stand in a log: in place of each secret it says where it is. The standard output of a
 * service is kept by whatever runs it, where more people read than may read ready.json.
 */
export function withoutSecrets<T>(facts: T, file: string): T {
  return hidden(facts, '', `(in ${file})`) as T;
}

function hidden(value: unknown, name: string, instead: string): unknown {
  if (Array.isArray(value)) return value.map((one) => hidden(one, name, instead));
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, hidden(one, key, instead)]));
  }
  if (typeof value !== 'string') return value;
  if (SECRET_NAME.test(name)) return instead;
  const url = URL.canParse(value) ? new URL(value) : null;
  return url === null || url.password === '' ? value : value.replace(`:${url.password}@`, `:${instead}@`);
}
