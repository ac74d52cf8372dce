import type { AnswerTable } from '#pipelines/analytics/answer_table.ts';
import type { Field } from '#pipelines/analytics/filters.ts';
import type { ActorsQuery } from '#pipelines/analytics/people/query.ts';
import type { Interval } from '#pipelines/analytics/question.ts';
import type { TrendsAnswer } from '#pipelines/analytics/trends/answer.ts';
import type { TrendsQuery } from '#pipelines/analytics/trends/query.ts';
import { sortableStart } from '../../format.ts';
import { API_ZONE } from '../../period.ts';
import {
  conditionText,
  type FilterDraft,
  fieldLabel,
  filtersIn,
  isField,
  objectIn,
  objectsIn,
  oneOf,
  type SelectionDraft,
  selectionIn,
} from '../../questions/conditions.ts';

export const MEASURES = [
  'events',
  'persons',
  'sum',
  'average',
  'min',
  'max',
  'median',
  'p90',
  'p99',
  'unique',
] as const;
type Measure = (typeof MEASURES)[number];
/** What is counted without a field. */
const COUNTS: readonly Measure[] = ['events', 'persons'];
export const needsField = (of: Measure): boolean => !COUNTS.includes(of);

export const INTERVALS = ['hour', 'day', 'week', 'month'] as const;
export const SERIES_MAX = 10;
const FIELDS_MAX = 3;
const LINES = 10;

export type SeriesDraft = SelectionDraft & { measure?: { of: Measure; field?: Field } };

/** Trends as they are being written: what the API takes, without the time. */
export interface TrendsDraft {
  series: SeriesDraft[];
  /** Left out: as the period's length asks for. */
  interval?: Interval;
  formulas?: string[];
  breakdown?: { fields: Field[]; limit: number };
  compare?: 'previous';
  rolling?: number;
  filters?: FilterDraft[];
}

const USUAL: TrendsDraft = { series: [{ events: ['page_view'] }] };

/** The trends that an address asks for, or the usual ones. */
export function readTrends(given: unknown): TrendsDraft {
  if (given === undefined) return USUAL;
  const { series, interval, formulas, breakdown, compare, rolling, filters } = objectIn(given);
  const read = objectsIn(series).slice(0, SERIES_MAX).map(seriesIn);
  const texts = Array.isArray(formulas) ? formulas.filter((text) => typeof text === 'string') : [];
  const fields = fieldsIn(breakdown);
  const limit = objectIn(breakdown)['limit'];
  const conditions = filtersIn(filters);
  return {
    series: read.length === 0 ? USUAL.series : read,
    ...(interval !== undefined && { interval: oneOf(interval, INTERVALS) }),
    ...(texts.length > 0 && { formulas: texts }),
    ...(fields.length > 0 && { breakdown: { fields, limit: typeof limit === 'number' ? limit : LINES } }),
    ...(compare === 'previous' && { compare }),
    ...(typeof rolling === 'number' && { rolling }),
    ...(conditions.length > 0 && { filters: conditions }),
  };
}

function seriesIn(given: Readonly<Record<string, unknown>>): SeriesDraft {
  const { of, field } = objectIn(given['measure']);
  const sum = given['sum'];
  if (isField(sum)) return { ...selectionIn(given), measure: { of: 'sum', field: sum as Field } };
  return {
    ...selectionIn(given),
    ...(of !== undefined && {
      measure: { of: oneOf(of, MEASURES), ...(isField(field) && { field: field as Field }) },
    }),
  };
}

function fieldsIn(breakdown: unknown): Field[] {
  const { field, fields } = objectIn(breakdown);
  const given = Array.isArray(fields) ? fields : [field];
  return given.filter(isField).slice(0, FIELDS_MAX) as Field[];
}

/** A breakdown by some fields, or none. */
export const brokenDownBy = (fields: Field[]): Pick<TrendsDraft, 'breakdown'> =>
  fields.length === 0 ? {} : { breakdown: { fields, limit: LINES } };

/** The letter that formulas call a series by. */
export const letterOf = (at: number): string => String.fromCharCode(65 + at);

/** What can be asked: with every interval, and without what lacks its field or its text. */
export function trendsQuestion(draft: TrendsDraft, interval: Interval, timeZone: string): object {
  const formulas = (draft.formulas ?? []).map((text) => text.trim()).filter((text) => text !== '');
  const { formulas: _texts, ...rest } = draft;
  return {
    ...rest,
    interval: draft.interval ?? interval,
    time_zone: timeZone,
    empty_intervals: 'zeros',
    ...(formulas.length > 0 && { formulas }),
    series: draft.series.map(({ measure, ...selection }) =>
      measure === undefined || (needsField(measure.of) && measure.field === undefined)
        ? selection
        : { ...selection, measure },
    ),
  };
}

/** Which actors are behind a line, but for the interval; null: those of a formula cannot be listed. */
type LinePart = Omit<Extract<ActorsQuery['of'], { trends: object }>, 'trends' | 'interval_from'>;

/** A line of the chart, and a row of the table. */
export interface TrendLine {
  name: string;
  /** Over the whole time. */
  total: number | null;
  before: number | null;
  values: (number | null)[];
  /** Of the time before, interval by interval; null where nothing is compared. */
  valuesBefore: (number | null)[] | null;
  part: LinePart | null;
}

type Point = { from: number; measured: number | null; rolling?: number | null };
interface Figures {
  measured: number | null;
  intervals: Point[];
  before?: { measured: number | null; intervals: Point[] } | undefined;
}

const MEASURE_NAMES: Readonly<Record<Measure, string>> = {
  events: 'events',
  persons: 'people',
  sum: 'sum of',
  average: 'average of',
  min: 'minimum of',
  max: 'maximum of',
  median: 'median of',
  p90: '90th percentile of',
  p99: '99th percentile of',
  unique: 'unique values of',
};

/** What people call what a series measures. */
export const measureLabel = (of: Measure): string => MEASURE_NAMES[of];

/** What a series is called: its events, what is measured of them, and which of them count. */
function seriesName({ events = [], filters = [], measure, sum }: TrendsQuery['series'][number]): string {
  const of = measure?.of ?? (sum === undefined ? 'events' : 'sum');
  const field = measure?.field ?? sum;
  const names = events.join(' or ') || 'Any event';
  const measured = of === 'events' ? '' : `, ${MEASURE_NAMES[of]}${field === undefined ? '' : ` ${fieldLabel(field)}`}`;
  const where = filters.length === 0 ? '' : ` where ${filters.map(conditionText).join(' and ')}`;
  return `${names}${measured}${where}`;
}

/** When the intervals of an answer begin. */
export const startsOf = ({ series }: TrendsAnswer): number[] => series[0]?.intervals.map(({ from }) => from) ?? [];

/** The lines of an answer: of the formulas where there are any, by value where there is a breakdown. */
export function trendLines(query: TrendsQuery, answer: TrendsAnswer): TrendLine[] {
  const series = answer.series.flatMap((one, at) => {
    const asked = query.series[at];
    const name = asked === undefined ? '' : seriesName(asked);
    const letter = query.series.length > 1 ? `${letterOf(at)} ` : '';
    const value = letter === '' ? '' : `${letter}${name}: `;
    return linesOf({ whole: letter + name, value }, one, { series: at + 1 }, one.other?.values ?? null, query);
  });
  const formulas = answer.formulas.flatMap((one) => {
    const value = answer.formulas.length > 1 ? `${one.formula}: ` : '';
    return linesOf({ whole: one.formula, value }, one, null, null, query);
  });
  return formulas.length > 0 ? formulas : series;
}

/** The lines as a table: a row for each interval by its beginning, and a column for each line. */
export function trendTable(query: TrendsQuery, answer: TrendsAnswer): AnswerTable {
  const lines = trendLines(query, answer);
  const { interval, time_zone: zone = API_ZONE } = query;
  const columns = lines.flatMap(({ name, values, valuesBefore }) => [
    { name, values },
    ...(valuesBefore === null ? [] : [{ name: `${name}, previous period`, values: valuesBefore }]),
  ]);
  return {
    columns: [interval, ...columns.map(({ name }) => name)],
    rows: startsOf(answer).map((start, at) => [
      sortableStart(start, interval, zone),
      ...columns.map(({ values }) => values[at] ?? null),
    ]),
  };
}

interface Group extends Figures {
  breakdown: (Figures & { value: string; parts: string[] })[];
  other: Figures | null;
}

function linesOf(
  /** What the whole is called, and what stands before a value's name. */
  names: { whole: string; value: string },
  group: Group,
  part: LinePart | null,
  others: number | null,
  { breakdown }: TrendsQuery,
): TrendLine[] {
  const isWhole = breakdown === undefined || (group.breakdown.length === 0 && group.other === null);
  if (isWhole) return [lineOf(names.whole, group, part)];
  const values = group.breakdown.map((one) =>
    lineOf(`${names.value}${one.value === '' ? '(none)' : one.value}`, one, part && { ...part, parts: one.parts }),
  );
  if (group.other === null) return values;
  const rest = others === null ? 'all others' : `${others} others`;
  return [...values, lineOf(`${names.value}${rest}`, group.other, part && { ...part, other: true })];
}

function lineOf(name: string, { measured, intervals, before }: Figures, part: LinePart | null): TrendLine {
  return {
    ...{ name, part, total: measured, before: before?.measured ?? null },
    values: intervals.map(pointOf),
    valuesBefore: before?.intervals.map(pointOf) ?? null,
  };
}

const pointOf = ({ measured, rolling }: Point): number | null => (rolling === undefined ? measured : rolling);
