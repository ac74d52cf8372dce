import { number, type Style } from '#services/terminal_style.ts';
import type { Row, Section } from '../compare.ts';

const LABEL_WIDTH = 33;
const CELL_WIDTH = 11;

function verdict({ equal }: Row, style: Style): string {
  if (equal === null) return '';
  return equal ? style.good('  equal') : style.bad('  DIFFERS');
}

/** Rows without a comparison and rows with fewer cells leave the rest of their columns empty. */
function drawRow(row: Row, columns: number, style: Style): string {
  const label =
    row.label.length > LABEL_WIDTH ? `${row.label.slice(0, LABEL_WIDTH - 1)}…` : row.label.padEnd(LABEL_WIDTH);
  const cells = Array.from({ length: columns }, (_, nth) => {
    const cell = row.cells[nth];
    return (cell === undefined ? '' : number(cell)).padStart(CELL_WIDTH);
  });
  return `  ${label}${cells.join('')}${verdict(row, style)}`.trimEnd();
}

/** A section as lines of at most 80 columns. */
export function drawSection(section: Section, style: Style): string[] {
  const heads = section.columns.map((column) => style.faint(column.padStart(CELL_WIDTH))).join('');
  const title = style.strong(section.title.padEnd(LABEL_WIDTH + 2));
  return [`${title}${heads}`, ...section.rows.map((row) => drawRow(row, section.columns.length, style)), ''];
}
