/** A line of a chart: a value for every start, null where there is none. */
export interface Series {
  name: string;
  values: readonly (number | null)[];
  /** Of the time before: thin and dashed, in the colour of the line before it. */
  isBefore?: boolean;
}

/** How many lines have a colour of their own. */
export const COLOURS = 8;

/** Which colour a series has, from 1: one of its own, or that of the series whose time before it shows. */
export function colourOf(series: readonly Series[], at: number): number {
  const own = series.slice(0, at + 1).filter(({ isBefore = false }) => !isBefore).length;
  return ((Math.max(1, own) - 1) % COLOURS) + 1;
}
