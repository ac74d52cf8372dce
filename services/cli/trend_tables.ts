import type { TrendsQuery } from '#pipelines/query/shapes.ts';
import type { TrendsAnswer } from '#pipelines/query/trends_answer.ts';
import { renderMoment, renderNumber, renderTable, renderValue } from '#services/render.ts';

type Series = TrendsAnswer['series'][number];
type Formula = TrendsAnswer['formulas'][number];
type Figures = Pick<Series, 'events' | 'persons' | 'sum' | 'measured'>;

/** What is measured, of an interval or of everything. */
interface Measured {
  measured: number | null;
  rolling?: number | null;
}

/** A figure with its heading. */
type Column<Of> = [heading: string, cell: (one: Of, before: Measured | undefined) => string];

/** Measures that have a column anyway. */
const SHOWN: ReadonlySet<string> = new Set(['events', 'persons']);

/** A series as tables: its intervals, and the values of a breakdown. */
export function seriesText(name: string, series: Series, query: TrendsQuery): string {
  const [first] = query.series;
  const measure = first?.measure;
  const plain: Column<Figures & Measured>[] = [
    ['EVENTS', ({ events }) => renderNumber(events)],
    ['PERSONS', ({ persons }) => renderNumber(persons)],
    ...(first?.sum === undefined ? [] : [['SUM', ({ sum }) => renderNumber(sum)] satisfies Column<Figures>]),
    ...(measure === undefined || SHOWN.has(measure.of) ? [] : [measuredColumn(measure.of.toUpperCase())]),
  ];
  return tables(name, series, [...plain, ...addedColumns(query)], query);
}

/** A formula as tables, as a series. */
export function formulaText(formula: Formula, query: TrendsQuery): string {
  return tables(formula.formula, formula, [measuredColumn('RESULT'), ...addedColumns(query)], query);
}

const renderMeasured = (value: number | null | undefined): string =>
  value === null || value === undefined ? '-' : renderNumber(value);

const measuredColumn = (heading: string): Column<Measured> => [heading, ({ measured }) => renderMeasured(measured)];

function addedColumns({ rolling, compare }: TrendsQuery): Column<Measured>[] {
  return [
    ...(rolling === undefined ? [] : [['ROLLING', (one) => renderMeasured(one.rolling)] satisfies Column<Measured>]),
    ...(compare === undefined
      ? []
      : [['BEFORE', (_one, before) => renderMeasured(before?.measured)] satisfies Column<Measured>]),
  ];
}

type Group<Of> = Of & { intervals: (Of & { from: number })[]; before?: Measured & { intervals: Measured[] } };

function tables<Of extends Measured>(
  name: string,
  group: Group<Of> & { breakdown: (Group<Of> & { value: string })[]; other: (Group<Of> & { values?: number }) | null },
  columns: readonly Column<Of>[],
  query: TrendsQuery,
): string {
  const headings = columns.map(([heading]) => heading);
  const cells = (one: Of, before: Measured | undefined): string[] => columns.map(([, cell]) => cell(one, before));
  const intervals = group.intervals.map((one, at) => [
    renderMoment(one.from, query.time_zone),
    ...cells(one, group.before?.intervals[at]),
  ]);
  const all = ['all', ...cells(group, group.before)];
  const shown = [name, renderTable(['FROM', ...headings], [...intervals, all], '')];
  if (query.breakdown === undefined) return shown.join('\n\n');
  const values = group.breakdown.map((one) => [renderValue(one.value), ...cells(one, one.before)]);
  const { other } = group;
  const rest = other === null ? [] : [[othersText(other.values), ...cells(other, other.before)]];
  return [...shown, renderTable(['VALUE', ...headings], [...values, ...rest], 'There are no values.')].join('\n\n');
}

const othersText = (count: number | undefined): string =>
  count === undefined ? 'others' : `${renderNumber(count)} others`;
