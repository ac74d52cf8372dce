// Commands of funnels, and of what goes with converting.
import { type Cell, csvLine } from '#pipelines/analytics/answer_table.ts';
import type { CorrelationAnswer, CorrelationQuery } from '#pipelines/analytics/correlation.ts';
import { type FunnelAnswer, type FunnelQuery, type FunnelStep, STEPS_MIN } from '#pipelines/analytics/funnels/query.ts';
import { drawFunnel, renderNumber, renderTable, renderValue } from '#services/stage/terminal.ts';
import {
  type Arguments,
  type Command,
  type Context,
  given,
  type OptionSpec,
  type Outcome,
  readCount,
  readDuration,
  UsageError,
} from './command.ts';
import { optional, RANGE_OPTIONS, readField, readRange, readSelection } from './query_options.ts';

/** The options of a funnel that say what is converting. */
const STEP_OPTIONS: Record<string, OptionSpec> = {
  step: {
    kind: 'texts',
    value: 'STEP',
    help: 'EVENT[,EVENT][?FIELD=VALUE&...], * for any event (2 to 10 of them)',
  },
  window: { kind: 'text', value: 'TIME', help: 'Longest time from the first step to the last: 7d, 12h, 30m (7d)' },
  order: { kind: 'text', value: 'ORDER', help: 'ordered, strict (nothing between) or any (ordered)' },
  optional: { kind: 'texts', value: 'N', help: 'The number of a step that may be left out (repeatable)' },
  exclude: { kind: 'texts', value: 'STEP', help: 'Events that end the way when they lie between (repeatable)' },
  drop: { kind: 'texts', value: 'STEP', help: 'Events that drop who has them between (repeatable)' },
};

const WINDOW = '7d';

export const funnelCommands: Command[] = [
  {
    noun: 'funnel',
    verb: 'show',
    summary: 'Draw how many persons or sessions get from step to step',
    subject: { name: 'SITE', help: 'the site whose events are counted' },
    options: {
      ...STEP_OPTIONS,
      by: { kind: 'text', value: 'ACTOR', help: 'person or session (person)' },
      breakdown: {
        kind: 'text',
        value: 'FIELD[@AT]',
        help: 'By a field at first_step, a step by its number, first_touch or last_touch',
      },
      trend: { kind: 'text', value: 'INTERVAL', help: 'hour, day, week or month' },
      ...RANGE_OPTIONS,
      csv: { kind: 'flag', help: 'Print CSV for spreadsheets' },
    },
    examples: [
      'funnel show shop --step page_view --step add_to_cart --step purchase --window 30d',
      'funnel show shop --step page_view?page_location~/product --step "purchase?value>=20" --breakdown utm_campaign@first_touch',
      'funnel show shop --step page_view --step purchase --by session --trend day --csv',
    ],
    run: showFunnel,
  },
];

async function showFunnel(args: Arguments, { client, nowMs }: Context): Promise<Outcome> {
  const names = args.texts('step');
  const query = readFunnel(args, nowMs);
  const answer = await client.query<FunnelAnswer>(args.subject, 'funnel', query);
  if (args.flag('csv')) return { text: funnelCsv(names, answer), json: answer };
  const day = (ms: number): string => new Date(ms).toISOString().slice(0, 10);
  const title = `${args.subject}, ${day(query.from)} to ${day(query.to - 1)}, by ${query.count_by ?? 'person'}`;
  return { text: drawFunnel(title, names, answer), json: answer };
}

/** The query that the options ask for. What they do not say is left to the service. @throws UsageError */
function readFunnel(args: Arguments, nowMs: number): FunnelQuery {
  const query = {
    ...readSteps(args, nowMs),
    count_by: args.text('by'),
    breakdown: readBreakdown(args),
    trend: args.text('trend') === undefined ? undefined : { interval: args.text('trend') },
  };
  // What a word may be is checked by the service, which says it by name.
  return given(query) as FunnelQuery;
}

/** What the options of STEP_OPTIONS and RANGE_OPTIONS ask for. @throws UsageError */
function readSteps(args: Arguments, nowMs: number) {
  if (args.texts('step').length < STEPS_MIN) {
    throw new UsageError('flag_missing', '--step is missing: a funnel has at least two');
  }
  return {
    ...readRange(args, nowMs),
    steps: readOptionalSteps(args),
    window_ms: readDuration(args.text('window') ?? WINDOW, 'window'),
    order: args.text('order'),
    exclusions: optional([
      ...args.texts('exclude').map((text) => readSelection(text, 'exclude')),
      ...args.texts('drop').map((text) => ({ ...readSelection(text, 'drop'), ends: 'actor' })),
    ]),
  };
}

function readOptionalSteps(args: Arguments): FunnelQuery['steps'] {
  const steps = args.texts('step').map((text) => readSelection(text, 'step'));
  const left = new Set(args.texts('optional'));
  const unknown = [...left].find((number) => !steps.some((_, index) => String(index + 1) === number));
  if (unknown !== undefined)
    throw new UsageError('step_malformed', `--optional ${unknown} is not the number of a step`);
  return steps.map((step, index) => (left.has(String(index + 1)) ? { ...step, optional: true } : step));
}

function readBreakdown(args: Arguments): FunnelQuery['breakdown'] {
  const text = args.text('breakdown');
  if (text === undefined) return undefined;
  const [name = '', at = 'first_step'] = text.split('@');
  if (/^\d+$/.test(at)) return { field: readField(name), at: 'step', step: Number(at) };
  return { field: readField(name), at: at as 'first_step' };
}

/** A funnel as CSV (RFC 4180): a row for each step of everything, of each value and of each interval. */
function funnelCsv(names: readonly string[], answer: FunnelAnswer): string {
  const rows = [
    ...csvRows('all', '', names, answer.steps),
    ...answer.breakdown.flatMap(({ value, steps }) => csvRows('value', value, names, steps)),
    ...(answer.other === null ? [] : csvRows('other', '', names, answer.other.steps)),
    ...answer.trend.flatMap(({ from, steps }) => csvRows('interval', new Date(from).toISOString(), names, steps)),
  ];
  const head = [
    'group',
    'value',
    'step',
    'name',
    'reached',
    'of_first',
    'of_previous',
    'median_ms',
    'p90_ms',
    'average_ms',
    'between_median_ms',
    'between_p90_ms',
    'between_average_ms',
  ];
  return [head, ...rows].map(csvLine).join('\r\n');
}

function csvRows(
  group: string,
  value: string,
  names: readonly string[],
  steps: readonly FunnelStep[],
): (Cell | undefined)[][] {
  return steps.map(({ reached, of_first, of_previous, time_ms, between_ms }, index) => [
    group,
    value,
    index + 1,
    names[index],
    reached,
    of_first,
    of_previous,
    time_ms?.median,
    time_ms?.p90,
    time_ms?.average,
    between_ms?.median,
    between_ms?.p90,
    between_ms?.average,
  ]);
}

const nameOf = (field: NonNullable<CorrelationQuery['fields']>[number]): string =>
  'column' in field ? field.column : field.property.join('.');

export const correlationCommand: Command = {
  noun: 'correlation',
  verb: 'show',
  summary: 'Show which events or values go with getting to the last step of a funnel',
  subject: { name: 'SITE', help: 'the site whose events are counted' },
  options: {
    ...STEP_OPTIONS,
    field: { kind: 'texts', value: 'FIELD', help: 'Compare its values at the first step, not events (up to 5)' },
    'at-least': { kind: 'text', value: 'COUNT', help: 'How many persons must have it (10)' },
    limit: { kind: 'text', value: 'COUNT', help: 'How many are shown (20)' },
    ...RANGE_OPTIONS,
  },
  examples: [
    'correlation show shop --step page_view --step purchase',
    'correlation show shop --step page_view --step purchase --field utm_campaign --field country --at-least 100',
  ],
  run: showCorrelation,
};

async function showCorrelation(args: Arguments, { client, nowMs }: Context): Promise<Outcome> {
  const query = given({
    ...readSteps(args, nowMs),
    fields: optional(args.texts('field').map(readField)),
    actors_min: readCount(args, 'at-least'),
    limit: readCount(args, 'limit'),
  }) as CorrelationQuery;
  const answer = await client.query<CorrelationAnswer>(args.subject, 'correlation', query);
  const rows = answer.candidates.map(({ field, value, odds_ratio, odds_ratio_low, odds_ratio_high, ...counts }) => [
    field === null ? 'event' : nameOf(field),
    renderValue(value),
    ...[counts.persons, counts.converted].map(renderNumber),
    String(odds_ratio),
    `${odds_ratio_low} to ${odds_ratio_high}`,
  ]);
  const head = ['OF', 'VALUE', 'PERSONS', 'CONVERTED', 'ODDS RATIO', '95 %'];
  const table = renderTable(head, rows, 'Nothing was had by as many persons.');
  const all = `${renderNumber(answer.converted)} of ${renderNumber(answer.persons)} persons converted.`;
  return { text: `${all}\n\n${table}`, json: answer };
}
