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
