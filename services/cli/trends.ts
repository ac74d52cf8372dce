// Commands of trends, and of the commonest values.
import type { TopAnswer, TopQuery } from '#pipelines/analytics/top.ts';
import type { TrendsAnswer } from '#pipelines/analytics/trends/answer.ts';
import type { TrendsQuery } from '#pipelines/analytics/trends/query.ts';
import { renderMoment, renderNumber, renderTable, renderValue } from '#services/stage/terminal.ts';
import { type Arguments, type Command, type Context, given, type Outcome, readCount } from './command.ts';
import {
  optional,
  RANGE_OPTIONS,
  readEventNames,
  readField,
  readIntervals,
  readRange,
  readSelection,
  SERIES_OPTION,
  ZONE_OPTION,
} from './query_options.ts';

const renderMeasured = (value: number | null | undefined): string =>
  value === null || value === undefined ? '-' : renderNumber(value);

const measuredColumn = (heading: string): Column<Measured> => [heading, ({ measured }) => renderMeasured(measured)];

const othersText = (count: number | undefined): string =>
  count === undefined ? 'others' : `${renderNumber(count)} others`;

/** Measures that have a column anyway. */
const SHOWN: ReadonlySet<string> = new Set(['events', 'persons']);

export const trendsCommand: Command = {
  noun: 'trends',
  verb: 'show',
  summary: 'Count events and persons, and measure their numbers, by interval',
  subject: { name: 'SITE', help: 'the site whose events are counted' },
  options: {
    event: SERIES_OPTION,
    interval: { kind: 'text', value: 'INTERVAL', help: 'hour, day, week or month (day)' },
    zone: ZONE_OPTION,
    sum: { kind: 'text', value: 'FIELD', help: 'Add up the numbers of a field, such as value' },
    measure: {
      kind: 'text',
      value: 'OF[:FIELD]',
      help: 'events, persons, or of a field sum, average, min, max, median, p90, p99 or unique: average:value',
    },
    formula: { kind: 'texts', value: 'FORMULA', help: 'Over what the events A, B, ... come to: "A / B" (repeatable)' },
    breakdown: { kind: 'texts', value: 'FIELD', help: 'By the values of a field, of the whole time (up to 3 of them)' },
    limit: { kind: 'text', value: 'COUNT', help: 'How many values; the others are counted together (100)' },
    compare: { kind: 'flag', help: 'Beside it the time before' },
    rolling: { kind: 'text', value: 'COUNT', help: 'The average of so many intervals' },
    zeros: { kind: 'flag', help: 'Also intervals without events' },
    ...RANGE_OPTIONS,
  },
  examples: [
    'trends show shop --event page_view --event purchase --since 7d',
    'trends show shop --event purchase --sum value --breakdown country --interval week',
    'trends show shop --event purchase --event page_view --measure persons --formula "A / B * 100" --compare',
    'trends show shop --event purchase --measure p90:value --rolling 7 --since 60d',
  ],
  run: showTrends,
};

async function showTrends(args: Arguments, { client, nowMs }: Context): Promise<Outcome> {
  const names = readEventNames(args);
  const query = readTrends(args, names, nowMs);
  const answer = await client.query<TrendsAnswer>(args.subject, 'trends', query);
  const tables = [
    ...answer.series.map((series, at) => seriesText(names[at] ?? '', series, query)),
    ...answer.formulas.map((formula) => formulaText(formula, query)),
  ];
  return { text: tables.join('\n\n'), json: answer };
}

/** What the options ask for. What they do not say, and what a word may be, is left to the service. */
function readTrends(args: Arguments, names: readonly string[], nowMs: number): TrendsQuery {
  const [sum, measure] = [args.text('sum'), args.text('measure')];
  return given({
    ...readIntervals(args, nowMs, 'day'),
    series: names.map((name) => ({
      ...readSelection(name, 'event'),
      ...(sum === undefined ? {} : { sum: readField(sum) }),
      ...(measure === undefined ? {} : { measure: readMeasure(measure) }),
    })),
    formulas: optional(args.texts('formula')),
    breakdown: readBreakdown(args),
    compare: args.flag('compare') ? 'previous' : undefined,
    rolling: readCount(args, 'rolling'),
    empty_intervals: args.flag('zeros') ? 'zeros' : undefined,
  }) as TrendsQuery;
}

function readMeasure(text: string): object {
  const at = text.indexOf(':');
  return at < 0 ? { of: text } : { of: text.slice(0, at), field: readField(text.slice(at + 1)) };
}

function readBreakdown(args: Arguments): object | undefined {
  const fields = args.texts('breakdown').map(readField);
  if (fields.length === 0) return undefined;
  return given({ ...(fields.length === 1 ? { field: fields[0] } : { fields }), limit: readCount(args, 'limit') });
}

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

/** A series as tables: its intervals, and the values of a breakdown. */
function seriesText(name: string, series: Series, query: TrendsQuery): string {
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
function formulaText(formula: Formula, query: TrendsQuery): string {
  return tables(formula.formula, formula, [measuredColumn('RESULT'), ...addedColumns(query)], query);
}

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

export const topCommand: Command = {
  noun: 'top',
  verb: 'show',
  summary: 'Show the commonest values of a column or property',
  subject: { name: 'SITE', help: 'the site whose events are counted' },
  options: {
    field: {
      kind: 'text',
      value: 'FIELD',
      help: 'A column, or a path into the properties: plan, cart.size',
      required: true,
    },
    event: { kind: 'texts', value: 'EVENT', help: 'Only events of these names (repeatable)' },
    by: { kind: 'text', value: 'WHAT', help: 'events, persons or value (events)' },
    limit: { kind: 'text', value: 'COUNT', help: 'How many values (20)' },
    ...RANGE_OPTIONS,
  },
  examples: ['top show shop --field event', 'top show shop --field utm_campaign --event purchase --by value --limit 5'],
  run: showTop,
};

async function showTop(args: Arguments, { client, nowMs }: Context): Promise<Outcome> {
  const query = given({
    ...readRange(args, nowMs),
    events: optional(args.texts('event')),
    field: readField(args.text('field') ?? ''),
    by: args.text('by'),
    limit: readCount(args, 'limit'),
  }) as TopQuery;
  const answer = await client.query<TopAnswer>(args.subject, 'top', query);
  const rows = answer.values.map(({ value, events, persons, sum }) => [
    renderValue(value),
    ...[events, persons, sum].map(renderNumber),
  ]);
  const table = renderTable(['VALUE', 'EVENTS', 'PERSONS', 'SUM'], rows, 'There are no events in this time.');
  return { text: answer.more_values ? `${table}\n\nThere are more values than are shown.` : table, json: answer };
}
