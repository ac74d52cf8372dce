import type { Field } from '#pipelines/analytics/filters.ts';
import type { Interval } from '#pipelines/analytics/query_schemas.ts';
import {
  type FilterDraft,
  filtersIn,
  isField,
  type SelectionDraft,
  selectionIn,
} from '../../questions/condition_draft.ts';
import { objectIn, objectsIn, oneOf } from '../../questions/from_address.ts';

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
export type Measure = (typeof MEASURES)[number];
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
