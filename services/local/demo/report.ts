import { drawFunnel } from '#services/funnel_drawing.ts';
import { renderNumber, renderTable } from '#services/render.ts';
import { countDiffering, type Findings, type Row, type Section } from './compare.ts';
import { SITE_SLOTS } from './world/demo_event.ts';
import { FUNNEL_STEPS } from './world/demo_funnel.ts';

const LABEL_WIDTH = 34;
const CELL_WIDTH = 9;
const SURPRISES_SHOWN = 5;

function cellsOf({ label, cells, equal }: Row, columns: number): string[] {
  const numbers = Array.from({ length: columns }, (_, nth) => {
    const cell = cells[nth];
    return (cell === undefined ? '' : renderNumber(cell)).padStart(CELL_WIDTH);
  });
  const verdict = equal === null ? '' : equal ? 'equal' : 'DIFFERS';
  return [`  ${label.slice(0, LABEL_WIDTH - 2)}`.padEnd(LABEL_WIDTH), ...numbers, verdict];
}

/** A section as a table of at most 80 columns; what a row has no cell for is left empty. */
export function drawSection({ title, columns, rows }: Section): string {
  const headings = [title, ...columns.map((column) => column.padStart(CELL_WIDTH)), ''];
  return `${renderTable(
    headings,
    rows.map((row) => cellsOf(row, columns.length)),
    '',
  )}\n`;
}

/** The answers that were not as planned, the commonest first. */
export function drawSurprises(outcomes: Findings['outcomes']): string[] {
  const surprises = outcomes.flatMap(({ surprise }) => (surprise === null ? [] : [surprise]));
  const groups = [...Map.groupBy(surprises, (text) => text)].toSorted(([, a], [, b]) => b.length - a.length);
  if (groups.length === 0) return [];
  const lines = groups.slice(0, SURPRISES_SHOWN).map(([text, times]) => `  ${times.length} × ${text}`);
  return ['Answers that were not as planned', ...lines, ''];
}

/** `every count equal`, or how many are not. */
export function closingLine(sections: readonly Section[]): string {
  const differing = countDiffering(sections);
  if (differing === 0) return 'every count equal';
  return differing === 1 ? '1 count differs' : `${differing} counts differ`;
}

/** Everything that is printed at the end. */
export function drawSummary({ outcomes, sites }: Findings, sections: readonly Section[], coloured: boolean): string {
  const funnels = SITE_SLOTS.map((slot) =>
    drawFunnel(`${slot}: from page to purchase, by person`, FUNNEL_STEPS, sites[slot].funnel),
  );
  const text = [
    ...sections.map(drawSection),
    ...drawSurprises(outcomes),
    closingLine(sections),
    '',
    funnels.join('\n\n'),
    '',
  ].join('\n');
  return coloured ? paint(text) : text;
}

/** The same words, good ones green and bad ones red. */
function paint(text: string): string {
  return text
    .replaceAll(/equal$/gm, '\u001b[32m$&\u001b[0m')
    .replaceAll(/DIFFERS$|\d+ counts? differs?$/gm, '\u001b[31m$&\u001b[0m');
}
