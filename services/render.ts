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

/** When an interval begins, by the clock of a time zone: the day, and the time where it is not its first moment. */
export function renderMoment(timeMs: number, timeZone = 'UTC'): string {
  const text = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'short' }).format(timeMs);
  return text.replace(' 00:00', '').replace(' ', 'T');
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
