export interface Style {
  good(text: string): string;
  bad(text: string): string;
  strong(text: string): string;
  faint(text: string): string;
}

function paint(on: boolean, code: number): (text: string) => string {
  return (text) => (on ? `\u001b[${code}m${text}\u001b[0m` : text);
}

/** Colours for a terminal; without them the same words in plain. */
export function styleFor(coloured: boolean): Style {
  return { good: paint(coloured, 32), bad: paint(coloured, 31), strong: paint(coloured, 1), faint: paint(coloured, 2) };
}

const FORMAT = new Intl.NumberFormat('en-US');

/** `12345` as `12,345`. */
export function number(value: number): string {
  return FORMAT.format(value);
}

export const BAR_WIDTH = 28;
const EIGHTHS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'] as const;

/** A bar of `share` times BAR_WIDTH columns, to an eighth of a column; what is not nothing is at least a sliver. */
export function bar(share: number): string {
  const eighths = Math.round(Math.min(Math.max(share, 0), 1) * BAR_WIDTH * 8);
  const drawn = share > 0 ? Math.max(eighths, 1) : 0;
  return ('█'.repeat(Math.floor(drawn / 8)) + (EIGHTHS[drawn % 8] ?? '')).padEnd(BAR_WIDTH);
}
