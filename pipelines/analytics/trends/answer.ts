// Trends: the answer, and the figures of each series.

import { type Static, Type } from 'typebox';
import { AMOUNT_UNITS } from '../sql/expressions.ts';
import { type Formula, readFormula, valueOfFormula } from './formula.ts';
import {
  type MeasureOf,
  QUANTILES,
  type TrendRow,
  type TrendSeries,
  type TrendsPlan,
  type TrendsQuery,
  trendsPlan,
} from './query.ts';

const measured = Type.Union([Type.Number(), Type.Null()], {
  description:
    'What the series measures: its sum where it has one, else its events. Without events 0, but null for average, min, max, median, p90, p99',
});
const rolling = Type.Optional(
  Type.Union([Type.Number(), Type.Null()], {
    description: 'The average of what is measured in this interval and those before it, as many as were asked for',
  }),
);
const figures = {
  events: Type.Integer({ minimum: 0 }),
  persons: Type.Integer({ minimum: 0 }),
  sum: Type.Number({ description: 'Of the numbers of the field to sum or measure; 0 where none is given' }),
  measured,
};
const intervals = Type.Array(Type.Object({ from: Type.Integer(), ...figures, rolling }), {
  description: 'Those that have no event only where empty_intervals or something that needs them is asked for',
});
const group = Type.Object({ ...figures, intervals });
const before = Type.Optional(group);
const value = {
  value: Type.String({ description: 'The texts of the fields, with a comma between several' }),
  parts: Type.Array(Type.String(), { description: 'The text of each field' }),
};

const result = {
  measured: Type.Union([Type.Number(), Type.Null()], { description: 'Null where it is divided by zero' }),
  intervals: Type.Array(Type.Object({ from: Type.Integer(), measured, rolling })),
};
const resultBefore = Type.Optional(Type.Object(result));

/** The answer to trends. */
export const trendsAnswerShape = Type.Object({
  series: Type.Array(
    Type.Object({
      ...group.properties,
      before,
      breakdown: Type.Array(Type.Object({ ...value, ...group.properties, before }), {
        description: 'The values with most of what is measured, the greatest first; the empty text is for no value',
      }),
      other: Type.Union(
        [Type.Object({ values: Type.Integer({ minimum: 0 }), ...group.properties, before }), Type.Null()],
        { description: 'All other values together, and how many they are; null where there are none' },
      ),
    }),
  ),
  formulas: Type.Array(
    Type.Object({
      formula: Type.String(),
      ...result,
      before: resultBefore,
      breakdown: Type.Array(Type.Object({ ...value, ...result, before: resultBefore })),
      other: Type.Union([Type.Object({ ...result, before: resultBefore }), Type.Null()]),
    }),
    { description: 'With a breakdown, of the values of the first series' },
  ),
});
export type TrendsAnswer = Static<typeof trendsAnswerShape>;

type Group = Figures & { intervals: (Figures & { from: number; rolling?: number | null })[] };
type Compared<Of> = Of & { before?: Of };
type Result = Pick<TrendsAnswer['formulas'][number], 'measured' | 'intervals'>;

/** The answer from the rows of the statement. */
export function trendsAnswer(query: TrendsQuery, rows: readonly TrendRow[]): TrendsAnswer {
  const plan = trendsPlan(query);
  const found = findRows(rows);
  const groups: Groups = { query, plan, found, calendars: [0, 1].map((period) => calendarOf(rows, period)) };
  const series = plan.series.map((_, index) => seriesAnswer(groups, index));
  const formulas = (query.formulas ?? []).map((text) => formulaAnswer(groups, text, series));
  return { series: series.map(withoutEmptyRest), formulas };
}

interface Groups {
  query: TrendsQuery;
  plan: TrendsPlan;
  found: FoundRows;
  /** When the intervals begin, of the time asked for and of the one before. */
  calendars: readonly number[][];
}

/** Rows of one series, and of one value where there is a breakdown. */
interface FoundRows {
  of(period: number, series: number, part: Part): { total?: TrendRow; intervals: TrendRow[] };
  values(series: number): TrendRow[];
}

/** All events of a series, those of one value, or those of the values not given one by one. */
type Part = 'all' | 'rest' | readonly string[];

function findRows(rows: readonly TrendRow[]): FoundRows {
  const groups = Map.groupBy(rows, (row) => keyOf(row.period, row.series, partOf(row)));
  return {
    of(period, series, part) {
      const group = groups.get(keyOf(period, series, part)) ?? [];
      const total = group.find(({ kind }) => kind === 'all' || kind === 'value');
      const intervals = group.filter((row) => row !== total).toSorted((a, b) => a.bucket - b.bucket);
      return { ...(total === undefined ? {} : { total }), intervals };
    },
    values: (series) =>
      rows.filter((row) => row.kind === 'value' && row.rest === 0 && row.period === 0 && row.series === series),
  };
}

const keyOf = (period: number, series: number, part: Part): string => JSON.stringify([period, series, part]);

function partOf({ kind, rest, parts }: TrendRow): Part {
  if (kind !== 'value' && kind !== 'value_interval') return 'all';
  return rest === 1 ? 'rest' : parts;
}

function calendarOf(rows: readonly TrendRow[], period: number): number[] {
  return rows
    .filter((row) => row.kind === 'start' && row.period === period)
    .map(({ bucket }) => bucket)
    .sort((a, b) => a - b);
}

interface SeriesAnswer extends Compared<Group> {
  breakdown: (Compared<Group> & { value: string; parts: string[] })[];
  /** Also where there are no other values; a formula may need it. */
  other: Compared<Group> & { values: number };
  hasOther: boolean;
}

function seriesAnswer(groups: Groups, index: number): SeriesAnswer {
  const { found, plan } = groups;
  const rests = [0, 1].map((period) => found.of(period, index + 1, 'rest').total);
  return {
    ...compared(groups, index, 'all'),
    breakdown: valuesOf(groups, index).map((parts) => ({
      value: parts.join(', '),
      parts,
      ...compared(groups, index, parts),
    })),
    other: { values: rests[0]?.texts ?? 0, ...compared(groups, index, 'rest') },
    hasOther: plan.breakdown !== null && rests.some((rest) => rest !== undefined),
  };
}

const withoutEmptyRest = ({ hasOther, other, ...series }: SeriesAnswer) => ({
  ...series,
  other: hasOther ? other : null,
});

/** The values of a breakdown in order: the greatest first, those without a number last. */
function valuesOf({ plan, found }: Groups, index: number): string[][] {
  if (plan.breakdown === null) return [];
  const ranking = plan.breakdown.rankedBy === 'first' ? 0 : index;
  const series = plan.series[ranking];
  if (series === undefined) return [];
  return found
    .values(ranking + 1)
    .map((row) => ({ parts: row.parts, rank: rankOf(series.rank, row) ?? Number.NEGATIVE_INFINITY }))
    .sort((a, b) => (a.rank === b.rank ? compareTexts(a.parts, b.parts) : b.rank - a.rank))
    .map(({ parts }) => parts);
}

function compareTexts(one: readonly string[], other: readonly string[]): number {
  const at = one.findIndex((text, index) => text !== other[index]);
  return (one[at] ?? '') < (other[at] ?? '') ? -1 : 1;
}

function compared(groups: Groups, index: number, part: Part): Compared<Group> {
  const now = groupOf(groups, 0, index, part);
  return groups.plan.compares ? { ...now, before: groupOf(groups, 1, index, part) } : now;
}

function groupOf({ query, plan, found, calendars }: Groups, period: number, index: number, part: Part): Group {
  const { total, intervals } = found.of(period, index + 1, part);
  const series = plan.series[index];
  const byStart = new Map(intervals.map((row) => [row.bucket, row]));
  const starts = plan.filled ? (calendars[period] ?? []) : [...byStart.keys()];
  const points = starts.map((from) => ({ from, ...figuresOf(series, byStart.get(from)) }));
  return { ...figuresOf(series, total), intervals: withRolling(points, query.rolling) };
}

function formulaAnswer(
  { query }: Groups,
  text: string,
  series: readonly SeriesAnswer[],
): TrendsAnswer['formulas'][number] {
  const read = readFormula(text, series.length);
  if (!read.ok) throw new Error('a formula is read before it is asked');
  const result = (of: readonly (Compared<Group> | undefined)[]): Compared<Result> =>
    comparedResult(read.formula, of, query.rolling);
  const values = series[0]?.breakdown ?? [];
  return {
    formula: text,
    ...result(series),
    breakdown: values.map(({ value, parts }, at) => ({
      value,
      parts,
      ...result(series.map((one) => one.breakdown[at])),
    })),
    other: series.some(({ hasOther }) => hasOther) ? result(series.map(({ other }) => other)) : null,
  };
}

function comparedResult(
  formula: Formula,
  of: readonly (Compared<Group> | undefined)[],
  rolling: number | undefined,
): Compared<Result> {
  const now = resultOf(formula, of, rolling);
  if (of[0]?.before === undefined) return now;
  return {
    ...now,
    before: resultOf(
      formula,
      of.map((one) => one?.before),
      rolling,
    ),
  };
}

function resultOf(formula: Formula, groups: readonly (Group | undefined)[], rolling: number | undefined): Result {
  const computed = (figures: readonly ({ measured: number | null } | undefined)[]): number | null =>
    valueOfFormula(
      formula,
      figures.map((one) => one?.measured ?? null),
    );
  const points = (groups[0]?.intervals ?? []).map(({ from }, at) => ({
    from,
    measured: computed(groups.map((group) => group?.intervals[at])),
  }));
  return { measured: computed(groups), intervals: withRolling(points, rolling) };
}

/** What is told of some events of a series. */
interface Figures {
  events: number;
  persons: number;
  sum: number;
  /** What the series measures. */
  measured: number | null;
}

/** The figures of a row; those of no events where there is none. */
function figuresOf(series: TrendSeries | undefined, row: TrendRow | undefined): Figures {
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
function rankOf(of: MeasureOf, row: TrendRow): number | null {
  return of in QUANTILES && row.numbers > 0 ? (row.quantiles[QUANTILE_NAMES.indexOf(of)] ?? null) : measureOf(of, row);
}

/** Adds the average of each interval and those before it that have a value. */
function withRolling<Point extends { measured: number | null }>(
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
