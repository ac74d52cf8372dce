// Trends: what may be asked, what a query decides, and what of it no schema can say.

import { type Static, Type } from 'typebox';
import type { Calendar } from '#pipelines/settings/calendar.ts';
import { type Problem, problem } from '#pipelines/settings/problems.ts';
import { closed, type Field, fieldShape } from '../filters.ts';
import {
  calendarFields,
  common,
  cutOf,
  type Interval,
  interval,
  limitOf,
  type Scope,
  SERIES_MAX,
  type Selection,
  selectionShape,
} from '../question.ts';
import type { Earlier } from '../sql/event_rows.ts';
import { FORMULA_TEXT_MAX, readFormula } from './formula.ts';

/** How much earlier the time may be that another is compared with. */
const COMPARED_DAYS_MAX = 800;
/** Values of a breakdown that are given one by one. */
const VALUES = 100;
const FORMULAS_MAX = 10;
const BREAKDOWN_FIELDS_MAX = 3;
const ROLLING_MAX = 100;

const measureShape = closed({
  of: Type.Enum(['events', 'persons', 'sum', 'average', 'min', 'max', 'median', 'p90', 'p99', 'unique'], {
    description: 'Events, different persons, something of the numbers of a field, or its different values',
  }),
  field: Type.Optional(fieldShape),
});

export const trendsShape = closed({
  ...common,
  interval,
  ...calendarFields,
  series: Type.Array(
    closed({ ...selectionShape.properties, sum: Type.Optional(fieldShape), measure: Type.Optional(measureShape) }),
    { minItems: 1, maxItems: SERIES_MAX },
  ),
  formulas: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: FORMULA_TEXT_MAX }), {
      description: 'Over what the series measure, which are A, B, ...: "A / B", "(A - B) * 100"',
      maxItems: FORMULAS_MAX,
    }),
  ),
  breakdown: Type.Optional(
    closed({
      field: Type.Optional(fieldShape),
      fields: Type.Optional(
        Type.Array(fieldShape, {
          description: 'By several fields together, in place of field',
          minItems: 1,
          maxItems: BREAKDOWN_FIELDS_MAX,
        }),
      ),
      limit: limitOf(VALUES),
    }),
  ),
  compare: Type.Optional(
    Type.Union([
      Type.Enum(['previous', 'year'], {
        description:
          'previous: beside it the time before, of as many intervals; year: the same time a year earlier, of weeks 52 weeks',
      }),
      closed({
        days: Type.Integer({
          description: 'The same time so many days earlier; of weeks the whole weeks that are no less; not with months',
          minimum: 1,
          maximum: COMPARED_DAYS_MAX,
        }),
      }),
    ]),
  ),
  rolling: Type.Optional(
    Type.Integer({
      description: 'How many intervals a rolling average is over: each and those before it in the answer',
      minimum: 2,
      maximum: ROLLING_MAX,
    }),
  ),
  empty_intervals: Type.Optional(
    Type.Enum(['left_out', 'zeros'], {
      description: 'Intervals without events; always given with formulas, compare or rolling',
      default: 'left_out',
    }),
  ),
});
export type TrendsQuery = Static<typeof trendsShape>;

export type MeasureOf = NonNullable<TrendsQuery['series'][number]['measure']>['of'];

/** Measures that are a value of some rank: which part of the sorted numbers lies below it. */
export const QUANTILES = { median: 0.5, p90: 0.9, p99: 0.99 } as const;

/** Measures of the numbers of a field. */
const OF_NUMBERS: ReadonlySet<MeasureOf> = new Set(['sum', 'average', 'min', 'max', 'median', 'p90', 'p99']);

export interface TrendRow {
  /** 0: the time that was asked for; 1: the one before it. */
  period: number;
  /** From 1. */
  series: number;
  /** `start`: an interval begins at `bucket`, whether it has events or not. */
  kind: 'all' | 'value' | 'interval' | 'value_interval' | 'start';
  /** The texts of the breakdown's fields. */
  parts: string[];
  /** 1: of the values together that are not given one by one. */
  rest: number;
  /** How many these are. */
  texts: number;
  bucket: number;
  events: number;
  persons: number;
  /** The sum in whole millionths. */
  units: string;
  /** How many of the events have a number. */
  numbers: number;
  least: number | null;
  most: number | null;
  /** In the order of QUANTILES. */
  quantiles: (number | null)[];
  uniques: number;
}

/** Events, and what is measured of them. */
export interface TrendSeries extends Selection {
  measure: MeasureOf;
  /** What values of a breakdown are put in order by. */
  rank: MeasureOf;
  /** The field whose numbers are measured, or added up. */
  number: Field | null;
  /** The field whose different texts are counted. */
  unique: Field | null;
}

/** Trends with everything decided that their question leaves open. */
export interface TrendsPlan extends Scope {
  interval: Interval;
  calendar: Calendar;
  series: readonly TrendSeries[];
  /** `rankedBy`: each series has its own greatest values, or all have those of the first. */
  breakdown: { fields: readonly Field[]; limit: number; rankedBy: 'each' | 'first' } | null;
  /** Whether an earlier time is looked at too, and how much earlier it is; null: as many intervals as the question has. */
  compares: boolean;
  earlier: Earlier | null;
  /** Whether intervals without events are given. */
  filled: boolean;
}

export function trendsPlan(query: TrendsQuery): TrendsPlan {
  const { series, compare, empty_intervals: empty } = query;
  const hasFormulas = (query.formulas ?? []).length > 0;
  const compares = compare !== undefined;
  return {
    ...cutOf(query),
    series: series.map(planOfSeries),
    breakdown: planOfBreakdown(query.breakdown, hasFormulas),
    compares,
    earlier: earlierOf(query),
    filled: empty === 'zeros' || compares || hasFormulas || query.rolling !== undefined,
  };
}

const YEAR_WEEKS = 52;

function earlierOf({ compare, interval: cut }: Pick<TrendsQuery, 'compare' | 'interval'>): Earlier | null {
  if (compare === undefined || compare === 'previous') return null;
  if (compare === 'year') return cut === 'week' ? { unit: 'week', count: YEAR_WEEKS } : { unit: 'month', count: 12 };
  return cut === 'week' ? { unit: 'week', count: Math.ceil(compare.days / 7) } : { unit: 'day', count: compare.days };
}

function planOfSeries({ sum, measure, ...selection }: TrendsQuery['series'][number]): TrendSeries {
  const of = measure?.of ?? (sum === undefined ? 'events' : 'sum');
  const number = OF_NUMBERS.has(of) ? (measure?.field ?? sum ?? null) : null;
  return { ...selection, measure: of, rank: measure?.of ?? 'events', number, unique: uniqueOf(measure) };
}

const uniqueOf = (measure: TrendsQuery['series'][number]['measure']): Field | null =>
  measure?.of === 'unique' ? (measure.field ?? null) : null;

/** Formulas need the same values in every series. */
function planOfBreakdown(breakdown: TrendsQuery['breakdown'], hasFormulas: boolean): TrendsPlan['breakdown'] {
  if (breakdown === undefined) return null;
  const { field, fields = field === undefined ? [] : [field], limit = VALUES } = breakdown;
  return { fields, limit, rankedBy: hasFormulas ? 'first' : 'each' };
}

/** Whether a measure is of a field, which must then be named. */
function isOfField(of: MeasureOf): boolean {
  return OF_NUMBERS.has(of) || of === 'unique';
}

/** Figures that an answer with its empty intervals may have. */
const POINTS_MAX = 100_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** The length of an interval, or the least it may have. */
export const INTERVAL_MS_MIN: Record<Interval, number> = {
  hour: HOUR_MS,
  day: DAY_MS,
  week: 7 * DAY_MS,
  month: 28 * DAY_MS,
};

/** What of trends no schema can say. */
export function trendsProblems(query: TrendsQuery): Problem[] {
  return [
    ...query.series.flatMap(measureProblems),
    ...formulaProblems(query),
    ...breakdownProblems(query.breakdown),
    ...compareProblems(query),
    ...sizeProblems(query),
  ];
}

function measureProblems({ measure, sum }: TrendsQuery['series'][number], index: number): Problem[] {
  if (measure === undefined) return [];
  const field = `series[${index}].measure`;
  if (sum !== undefined) return [problem('field_malformed', field, 'is not taken beside sum')];
  if (!isOfField(measure.of)) {
    return measure.field === undefined ? [] : [problem('field_malformed', `${field}.field`, 'is not for this measure')];
  }
  return measure.field === undefined ? [problem('field_missing', `${field}.field`, 'is missing')] : [];
}

function formulaProblems({ formulas = [], series }: TrendsQuery): Problem[] {
  return formulas.flatMap((text, index) => {
    const read = readFormula(text, series.length);
    return read.ok ? [] : [problem('formula_malformed', `formulas[${index}]`, read.message)];
  });
}

function breakdownProblems(breakdown: TrendsQuery['breakdown']): Problem[] {
  if (breakdown === undefined || (breakdown.field === undefined) !== (breakdown.fields === undefined)) return [];
  return breakdown.field === undefined
    ? [problem('field_missing', 'breakdown.field', 'is missing')]
    : [problem('field_malformed', 'breakdown.fields', 'is not taken beside field')];
}

/** Where clocks change, a day is longer. */
const LONGER_MS = 2 * HOUR_MS;

/** Whether a time has events in common with the one that it is compared with: they cannot be told apart. */
function overlaps(query: TrendsQuery): boolean {
  const { from, to } = query;
  const earlier = earlierOf(query);
  if (earlier === null) return false;
  const apartMs = earlier.unit === 'month' ? yearMs(to) : earlier.count * INTERVAL_MS_MIN[earlier.unit];
  return to - from > apartMs + LONGER_MS;
}

/** How long the twelve months before a time are, by days: noon in UTC of 29 February is of that day nearly everywhere. */
function yearMs(to: number): number {
  const lastYear = new Date(to).getUTCFullYear();
  const leapDays = [lastYear - 1, lastYear].map((year) => Date.UTC(year, 1, 29, 12));
  const isLonger = leapDays.some((ms) => new Date(ms).getUTCDate() === 29 && ms >= to - 365 * DAY_MS && ms < to);
  return (isLonger ? 366 : 365) * DAY_MS;
}

function compareProblems(query: TrendsQuery): Problem[] {
  const { compare, from, to, interval: cut } = query;
  const field = compare === 'year' ? 'compare' : 'compare.days';
  if (cut === 'month' && typeof compare === 'object') {
    return [problem('field_malformed', field, 'is not taken with months')];
  }
  const days = Math.ceil((to - from - LONGER_MS) / DAY_MS);
  const message = `overlaps the time asked about: compare with one at least ${days} days earlier`;
  return overlaps(query) ? [problem('field_malformed', field, message)] : [];
}

/** A query that was written for another time, without what it is compared with where the two would overlap. */
export function withoutOverlap(query: TrendsQuery): TrendsQuery {
  const { compare: _compare, ...alone } = query;
  return overlaps(query) ? alone : query;
}

/** An answer that holds every interval is known in its size before it is asked. */
function sizeProblems(query: TrendsQuery): Problem[] {
  const { filled, compares, breakdown } = trendsPlan(query);
  if (!filled) return [];
  const intervals = Math.ceil(Math.max(0, query.to - query.from) / INTERVAL_MS_MIN[query.interval]) + 1;
  const groups = breakdown === null ? 1 : breakdown.limit + 2;
  const series = query.series.length + (query.formulas ?? []).length;
  const points = intervals * groups * series * (compares ? 2 : 1);
  if (points <= POINTS_MAX) return [];
  const message = `an answer has at most ${POINTS_MAX} figures, and this would have ${points}: ask for fewer intervals, values or series`;
  return [problem('too_many', 'interval', message)];
}
