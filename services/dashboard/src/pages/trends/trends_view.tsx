import { useMemo } from 'preact/hooks';
import type { AnswerTable } from '#pipelines/analytics/answer_table.ts';
import type { Field } from '#pipelines/analytics/filters.ts';
import type { ActorsQuery } from '#pipelines/analytics/people/query.ts';
import type { Interval } from '#pipelines/analytics/question.ts';
import type { TrendsAnswer } from '#pipelines/analytics/trends/answer.ts';
import type { TrendsQuery } from '#pipelines/analytics/trends/query.ts';
import { COLOURS } from '../../charts/chart_table.tsx';
import { TimeSeries } from '../../charts/time_series.tsx';
import {
  capital,
  change,
  intervalStart,
  number,
  type queryCalendar,
  sortableStart,
  timeZone,
  zonedTitle,
} from '../../format.ts';
import * as conditions from '../../questions/conditions.ts';
import type { AnswerViewProps } from '../../questions/question_result.tsx';
import { FigureLink } from '../../ui/button.tsx';
import { type Column, DataTable, numberColumn } from '../../ui/data_table.tsx';

export const MEASURES = {
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
type Measure = keyof typeof MEASURES;
/** Whether it measures a field, and does not only count. */
export const needsField = (of: Measure): boolean => of !== 'events' && of !== 'persons';

export const INTERVALS = { hour: 'hour', day: 'day', week: 'week', month: 'month' };
export const SERIES_MAX = 10;
export const FIELDS_MAX = 3;
const LINES = 10;

export type SeriesDraft = conditions.SelectionDraft & {
  measure?: { of: Measure; field?: Field | undefined } | undefined;
};

/** Trends as they are being written: what the API takes, without the time. */
export interface TrendsDraft {
  series: SeriesDraft[];
  /** Left out: as the period's length asks for. */
  interval?: Interval | undefined;
  formulas?: string[] | undefined;
  breakdown?: { fields: Field[]; limit: number } | undefined;
  compare?: TrendsQuery['compare'];
  rolling?: number | undefined;
  filters?: conditions.FilterDraft[] | undefined;
}

const USUAL: TrendsDraft = { series: [{ events: ['page_view'] }] };

export function readTrends(given: unknown): TrendsDraft {
  if (given === undefined) return USUAL;
  const { series, interval, formulas, breakdown, compare, rolling, filters } = conditions.objectIn(given);
  const { field, fields = [field], limit } = conditions.objectIn(breakdown);
  const read = (Array.isArray(fields) ? fields : [field]).filter(conditions.isField).slice(0, FIELDS_MAX) as Field[];
  return {
    series: conditions.someOf(conditions.objectsIn(series).slice(0, SERIES_MAX).map(seriesIn)) ?? USUAL.series,
    interval: conditions.choiceIn(interval, INTERVALS),
    formulas: conditions.someOf(conditions.textsIn(formulas)),
    breakdown: brokenDownBy(read, conditions.numberIn(limit)),
    compare: compareIn(compare),
    rolling: conditions.numberIn(rolling),
    filters: conditions.someOf(conditions.filtersIn(filters)),
  };
}

function compareIn(given: unknown): TrendsQuery['compare'] {
  if (given === 'previous' || given === 'year') return given;
  const days = conditions.numberIn(conditions.objectIn(given)['days']);
  return days === undefined ? undefined : { days };
}

/** What the time is called that another is compared with. */
function comparedName(compare: TrendsQuery['compare']): string {
  if (compare === undefined || compare === 'previous') return 'Previous period';
  return compare === 'year' ? 'A year earlier' : `${compare.days} days earlier`;
}

function seriesIn(given: Readonly<Record<string, unknown>>): SeriesDraft {
  const { of, field } = conditions.objectIn(given['measure']);
  const sum = given['sum'];
  if (conditions.isField(sum)) return { ...conditions.selectionIn(given), measure: { of: 'sum', field: sum as Field } };
  const measured = conditions.isField(field) ? (field as Field) : undefined;
  return {
    ...conditions.selectionIn(given),
    measure: of === undefined ? undefined : { of: conditions.oneOf(of, MEASURES), field: measured },
  };
}

export const brokenDownBy = (fields: Field[], limit = LINES): TrendsDraft['breakdown'] =>
  fields.length === 0 ? undefined : { fields, limit };

export const letterOf = (at: number): string => String.fromCharCode(65 + at);

/** What can be asked: with every interval, and without what lacks its field or its text. */
export function trendsQuestion(
  draft: TrendsDraft,
  interval: Interval,
  calendar: ReturnType<typeof queryCalendar>,
): object {
  const formulas = (draft.formulas ?? []).map((text) => text.trim()).filter((text) => text !== '');
  const { formulas: _texts, ...rest } = draft;
  return {
    ...rest,
    interval: draft.interval ?? interval,
    ...calendar,
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

/** What a series is called: its events, what is measured of them, and which of them count. */
function seriesName({ events = [], filters = [], measure, sum }: TrendsQuery['series'][number]): string {
  const of = measure?.of ?? (sum === undefined ? 'events' : 'sum');
  const field = measure?.field ?? sum;
  const names = events.join(' or ') || 'Any event';
  const measured =
    of === 'events' ? '' : `, ${MEASURES[of]}${field === undefined ? '' : ` ${conditions.fieldLabel(field)}`}`;
  const where = filters.length === 0 ? '' : ` where ${filters.map(conditions.conditionText).join(' and ')}`;
  return `${names}${measured}${where}`;
}

/** What a chart is of: what is counted of which events, and by what. */
function subjectOf({ series, formulas = [], breakdown }: TrendsQuery): string {
  const names = series.map((one, at) => `${series.length > 1 ? `${letterOf(at)} ` : ''}${seriesName(one)}`).join(', ');
  const { field, fields = field === undefined ? [] : [field] } = breakdown ?? {};
  const by = fields.length === 0 ? '' : `, by ${fields.map(conditions.fieldLabel).join(' and ')}`;
  return `${formulas.length === 0 ? '' : `${formulas.join(', ')} of `}${names}${by}`;
}

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

/** An interval a row with its day, and each line a column, as a spreadsheet has it. */
export function trendTable({ query, answer }: AnswerViewProps<'trends'>): AnswerTable {
  const lines = trendLines(query, answer);
  const { interval, time_zone: zone = timeZone() } = query;
  const before = comparedName(query.compare).toLowerCase();
  const columns = lines.flatMap(({ name, values, valuesBefore }) => [
    { name, values },
    ...(valuesBefore === null ? [] : [{ name: `${name}, ${before}`, values: valuesBefore }]),
  ]);
  return {
    columns: [zonedTitle(capital(interval), zone), ...columns.map(({ name }) => name)],
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
  // None are told of where all the others had events in the compared time alone.
  const rest = others === null || others === 0 ? 'all others' : others === 1 ? '1 other' : `${number(others)} others`;
  return [...values, lineOf(`${names.value}${rest}`, group.other, part && { ...part, other: true })];
}

const lineOf = (name: string, { measured, intervals, before }: Figures, part: LinePart | null): TrendLine => ({
  ...{ name, part, total: measured, before: before?.measured ?? null },
  values: intervals.map(pointOf),
  valuesBefore: before?.intervals.map(pointOf) ?? null,
});

const pointOf = ({ measured, rolling }: Point): number | null => (rolling === undefined ? measured : rolling);

/** A saved query of a time that overlaps what it is compared with is answered without that. */
function answeredQuery(query: TrendsQuery, { series }: TrendsAnswer): TrendsQuery {
  const { compare: _compare, ...alone } = query;
  return series.some(({ before }) => before !== undefined) ? query : alone;
}

export function TrendsView({ query: asked, answer, onPart }: AnswerViewProps<'trends'>) {
  const query = useMemo(() => answeredQuery(asked, answer), [asked, answer]);
  const lines = useMemo(() => trendLines(query, answer), [query, answer]);
  const starts = useMemo(() => startsOf(answer), [answer]);
  const beforeName = comparedName(query.compare);
  const drawn = useMemo(
    () => lines.slice(0, COLOURS).flatMap((line) => drawnOf(line, beforeName)),
    [lines, beforeName],
  );
  const series = useMemo(() => drawn.map(({ series: one }) => one), [drawn]);
  const { interval: length, time_zone: zone = timeZone() } = query;
  const list = (line: TrendLine, isBefore: boolean, start: number | null): void => {
    if (line.part === null || onPart === undefined) return;
    const when = isBefore
      ? `, ${beforeName.toLowerCase()}`
      : start === null
        ? ''
        : `, ${intervalStart(start, length, zone)}`;
    onPart({
      title: `${line.name}${when}`,
      of: {
        ...{ trends: query, ...line.part },
        ...(isBefore && { before: true }),
        ...(start !== null && { interval_from: start }),
      },
    });
  };
  const onPoint = (at: number, interval: number): void => {
    const { line, isBefore } = drawn[at] ?? {};
    const start = starts[interval];
    if (line !== undefined && isBefore === false && start !== undefined) list(line, false, start);
  };
  const canList = onPart !== undefined && lines.some(({ part }) => part !== null);
  return (
    <div class="stack">
      <TimeSeries
        title="Trends"
        subject={subjectOf(query)}
        starts={starts}
        interval={length}
        timeZone={zone}
        series={series}
        heightPx={300}
        beforeName={beforeName}
        {...(canList && { onPoint })}
      />
      {asked.compare !== query.compare && (
        <p class="muted small">
          Not compared with the time {comparedName(asked.compare).toLowerCase()}: this period is longer, so that the two
          would overlap.
        </p>
      )}
      {lines.length > COLOURS && (
        <p class="muted small">
          The first {COLOURS} of {lines.length} lines are drawn; the table has all of them.
        </p>
      )}
      <DataTable
        caption="Totals"
        columns={columnsOf(query, canList ? list : null)}
        rows={lines}
        keyOf={({ name, part }) => `${name} ${JSON.stringify(part)}`}
        csvName="trends-totals"
      />
    </div>
  );
}

/** A line as it is drawn, and the thin one of the time before. */
function drawnOf(line: TrendLine, beforeName: string) {
  const own = { line, isBefore: false, series: { name: line.name, values: line.values } };
  if (line.valuesBefore === null) return [own];
  const name = `${line.name}, ${beforeName.toLowerCase()}`;
  return [own, { line, isBefore: true, series: { name, values: line.valuesBefore, isBefore: true } }];
}

function columnsOf(
  { compare }: TrendsQuery,
  list: ((line: TrendLine, isBefore: boolean, start: number | null) => void) | null,
): Column<TrendLine>[] {
  const figure = (line: TrendLine, value: number | null, isBefore: boolean) => (
    <FigureLink
      text={number(value)}
      label={`${number(value)}: show people, ${line.name}${isBefore ? `, ${comparedName(compare).toLowerCase()}` : ''}`}
      act={list !== null && line.part !== null && value ? () => list(line, isBefore, null) : undefined}
    />
  );
  const own: Column<TrendLine>[] = [
    { id: 'name', title: 'Series', value: ({ name }) => name },
    numberColumn(
      'total',
      'Whole period',
      ({ total }) => total,
      (total, line) => figure(line, total, false),
    ),
  ];
  if (compare === undefined) return own;
  return [
    ...own,
    numberColumn(
      'before',
      comparedName(compare),
      ({ before }) => before,
      (before, line) => figure(line, before, true),
    ),
    {
      ...{ id: 'change', title: 'Change', align: 'end' },
      value: ({ total, before }) => (before === null || before === 0 || total === null ? null : total / before - 1),
      cell: ({ total, before }) => (before === null || total === null ? '–' : (change(total, before)?.text ?? '–')),
    },
  ];
}
