import type { TrendsQuery } from '#pipelines/query/shapes.ts';
import type { TrendsAnswer } from '#pipelines/query/trends_answer.ts';
import { given } from './changes.ts';
import type { Arguments, Command, Context, Outcome } from './command.ts';
import {
  optional,
  RANGE_OPTIONS,
  readEventNames,
  readField,
  readIntervals,
  readSelection,
  SERIES_OPTION,
  ZONE_OPTION,
} from './query_options.ts';
import { formulaText, seriesText } from './trend_tables.ts';
import { readCount } from './values.ts';

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
