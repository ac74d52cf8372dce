import type { RowResult } from './run_row.ts';

const HEAD = ['row', 'sent', 'accepted', 'unknown', 'lost', 'doubled', 'recovered', 'took', ''];

const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;

function cells(result: RowResult): string[] {
  const { name, sent, accepted, unknown, lost, doubled, recoverMs, tookMs, problems } = result;
  const counts = [sent, accepted, unknown, lost, doubled].map(String);
  return [name, ...counts, seconds(recoverMs), seconds(tookMs), problems.length === 0 ? 'ok' : 'FAILED'];
}

/** The results as a table, then what is wrong where something is, then the sums. */
export function report(results: readonly RowResult[], seed: number): string {
  const table = [HEAD, ...results.map(cells)];
  const widths = HEAD.map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0)));
  const lines = table.map((row) =>
    row
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0)))
      .join('  ')
      .trimEnd(),
  );
  const failed = results.filter(({ problems }) => problems.length > 0);
  const sum = (count: (result: RowResult) => number): number => results.reduce((all, one) => all + count(one), 0);
  return [
    ...lines,
    ...failed.flatMap(({ name, problems }) => ['', `${name}:`, ...problems.map((problem) => `  ${problem}`)]),
    '',
    `seed ${seed}: ${sum((one) => one.sent)} events sent, ${sum((one) => one.accepted)} accepted, ${sum((one) => one.unknown)} unknown, ` +
      `lost ${sum((one) => one.lost)}, doubled ${sum((one) => one.doubled)}; ${results.length - failed.length} of ${results.length} rows held`,
  ].join('\n');
}
