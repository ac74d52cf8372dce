import type { TrendsQuery } from '#pipelines/query/shapes.ts';
import type { TrendsAnswer } from '#pipelines/query/trends.ts';
import { renderMoment, renderNumber, renderTable, renderValue } from '#services/render.ts';
import { given } from './changes.ts';
import type { Arguments, Command, Context, Outcome } from './command.ts';
import { RANGE_OPTIONS, readField, readRange, readSelection, ZONE_OPTION } from './query_options.ts';
import { UsageError } from './usage_error.ts';

type Series = TrendsAnswer['series'][number];

export const trendsCommand: Command = {
  noun: 'trends',
  verb: 'show',
  summary: 'Count events and persons, and add up amounts, by interval',
  subject: { name: 'SITE', help: 'the site whose events are counted' },
  options: {
    event: { kind: 'texts', value: 'EVENT', help: 'EVENT[,EVENT][?FIELD=VALUE&...], * for any (1 to 10 of them)' },
    interval: { kind: 'text', value: 'INTERVAL', help: 'hour, day, week or month (day)' },
    zone: ZONE_OPTION,
    sum: { kind: 'text', value: 'FIELD', help: 'Add up the numbers of a field, such as value' },
    breakdown: { kind: 'text', value: 'FIELD', help: 'By the values of a field, of the whole time' },
    ...RANGE_OPTIONS,
  },
  examples: [
    'trends show shop --event page_view --event purchase --since 7d',
    'trends show shop --event purchase --sum value --breakdown country --interval week',
  ],
  run: showTrends,
};

async function showTrends(args: Arguments, { client, nowMs }: Context): Promise<Outcome> {
  const names = args.texts('event');
  if (names.length === 0) throw new UsageError('flag_missing', '--event is missing: * stands for any');
  const [sum, breakdown] = [args.text('sum'), args.text('breakdown')];
  const query = given({
    ...readRange(args, nowMs),
    interval: args.text('interval') ?? 'day',
    time_zone: args.text('zone'),
    series: names.map((name) => ({
      ...readSelection(name, 'event'),
      ...(sum === undefined ? {} : { sum: readField(sum) }),
    })),
    breakdown: breakdown === undefined ? undefined : { field: readField(breakdown) },
  }) as TrendsQuery;
  const answer = await client.query<TrendsAnswer>(args.subject, 'trends', query);
  const text = answer.series.map((series, at) => seriesText(names[at] ?? '', series, query)).join('\n\n');
  return { text, json: answer };
}

function seriesText(name: string, series: Series, query: TrendsQuery): string {
  const isSummed = query.series.some(({ sum }) => sum !== undefined);
  const cells = ({ events, persons, sum }: Pick<Series, 'events' | 'persons' | 'sum'>): string[] => [
    renderNumber(events),
    renderNumber(persons),
    ...(isSummed ? [renderNumber(sum)] : []),
  ];
  const headings = ['EVENTS', 'PERSONS', ...(isSummed ? ['SUM'] : [])];
  const intervals = series.intervals.map((one) => [renderMoment(one.from, query.time_zone), ...cells(one)]);
  const tables = [renderTable(['FROM', ...headings], [...intervals, ['all', ...cells(series)]], '')];
  if (query.breakdown !== undefined) {
    const values = series.breakdown.map((one) => [renderValue(one.value), ...cells(one)]);
    tables.push(renderTable(['VALUE', ...headings], values, 'There are no values.'));
  }
  return [name, ...tables].join('\n\n');
}
