import { renderTable } from '#services/render.ts';

/** What a drill found. It held where there are no problems. */
export interface Report {
  headings: string[];
  rows: string[][];
  notes: string[];
  problems: string[];
}

export function printed({ headings, rows, notes, problems }: Report): string {
  const verdict = problems.length === 0 ? ['The drill held.'] : problems.map((problem) => `FAILED  ${problem}`);
  return [renderTable(headings, rows, ''), '', ...notes, '', ...verdict].join('\n');
}
