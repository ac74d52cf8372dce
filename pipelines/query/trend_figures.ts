import { AMOUNT_UNITS } from './amounts.ts';
import { type MeasureOf, QUANTILES, type TrendRow, type TrendSeries } from './trends.ts';

/** What is told of some events of a series. */
export interface Figures {
  events: number;
  persons: number;
  sum: number;
  /** What the series measures. */
  measured: number | null;
}

/** The figures of a row; those of no events where there is none. */
export function figuresOf(series: TrendSeries | undefined, row: TrendRow | undefined): Figures {
  const of = series?.measure ?? 'events';
  if (row === undefined) return { events: 0, persons: 0, sum: 0, measured: WITHOUT_EVENTS[of] };
  return {
    events: row.events,
    persons: row.persons,
    sum: Number(row.units) / AMOUNT_UNITS,
    measured: measureOf(of, row),
  };
}

/** What a series measures where it has no events. */
const WITHOUT_EVENTS: Record<MeasureOf, 0 | null> = {
  events: 0,
  persons: 0,
  sum: 0,
  unique: 0,
  average: null,
  min: null,
  max: null,
  median: null,
  p90: null,
  p99: null,
};

function measureOf(of: MeasureOf, row: TrendRow): number | null {
  switch (of) {
    case 'events':
      return row.events;
    case 'persons':
      return row.persons;
    case 'sum':
      return Number(row.units) / AMOUNT_UNITS;
    case 'average':
      return row.numbers === 0 ? null : Number(row.units) / (AMOUNT_UNITS * row.numbers);
    case 'min':
      return row.least;
    case 'max':
      return row.most;
    case 'unique':
      return row.uniques;
    case 'median':
    case 'p90':
    case 'p99':
      return quantileOf(of, row);
  }
}

/** The digest's value may lie a little beyond the numbers themselves. */
function quantileOf(of: keyof typeof QUANTILES, { quantiles, least, most }: TrendRow): number | null {
  if (least === null || most === null) return null;
  return Math.min(most, Math.max(least, quantiles[QUANTILE_NAMES.indexOf(of)] ?? least));
}

const QUANTILE_NAMES = Object.keys(QUANTILES);

/** What the statement ranks values by: of a quantile the digest's own value. */
export function rankOf(of: MeasureOf, row: TrendRow): number | null {
  return of in QUANTILES && row.numbers > 0 ? (row.quantiles[QUANTILE_NAMES.indexOf(of)] ?? null) : measureOf(of, row);
}

/** Adds the average of each interval and those before it that have a value. */
export function withRolling<Point extends { measured: number | null }>(
  points: readonly Point[],
  length: number | undefined,
): (Point & { rolling?: number | null })[] {
  if (length === undefined) return [...points];
  return points.map((point, at) => {
    const numbers = points
      .slice(Math.max(0, at + 1 - length), at + 1)
      .flatMap((one) => (one.measured === null ? [] : [one.measured]));
    const sum = numbers.reduce((total, number) => total + number, 0);
    return { ...point, rolling: numbers.length === 0 ? null : sum / numbers.length };
  });
}
