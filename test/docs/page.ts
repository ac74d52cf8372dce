import { readFileSync } from 'node:fs';

const FOLDER = new URL('../../docs/', import.meta.url);

/** The text of a page of docs/. */
export function page(name: string): string {
  return readFileSync(new URL(name, FOLDER), 'utf8');
}

/** The text under a heading of the second level, up to the next one. Throws where the page has no such heading. */
export function section(name: string, heading: string): string {
  const parts = page(name).split(/^## /m);
  const found = parts.find((part) => part.startsWith(`${heading}\n`));
  if (found === undefined) throw new Error(`${name} has no section ${heading}`);
  return found;
}

const DASHES = /^\|[ |-]+\|$/;

/** The rows of the tables in a text, as their cells with ` | ` between; without heads and lines of dashes. */
export function tableRows(text: string): string[] {
  const lines = text.split('\n');
  return lines.flatMap((line, index) => {
    if (!line.startsWith('|') || DASHES.test(line) || DASHES.test(lines[index + 1] ?? '')) return [];
    const cells = line.slice(1, -1).split('|');
    return [cells.map((cell) => cell.trim()).join(' | ')];
  });
}
