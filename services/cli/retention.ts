// Commands of retention, stickiness and lifecycle.
import type { LifecycleAnswer, LifecycleQuery } from '#pipelines/analytics/lifecycle.ts';
import type { RetentionAnswer, RetentionQuery } from '#pipelines/analytics/retention.ts';
import type { StickinessAnswer, StickinessQuery } from '#pipelines/analytics/stickiness.ts';
import { renderMoment, renderNumber, renderTable } from '#services/stage/terminal.ts';
import { type Arguments, type Command, type Context, given, type OptionSpec, type Outcome } from './command.ts';
import {
  optional,
  RANGE_OPTIONS,
  readEventNames,
  readIntervals,
  readSelection,
  SERIES_OPTION,
  ZONE_OPTION,
} from './query_options.ts';

type Cohort = RetentionAnswer['cohorts'][number];

/** More columns fit no terminal; JSON has them all. */
const PERIODS_SHOWN_MAX = 14;

export const retentionCommand: Command = {
  noun: 'retention',
  verb: 'show',
  summary: 'Of those who began in an interval, show how many came back in each one after it',
  subject: { name: 'SITE', help: 'the site whose persons are counted' },
  options: {
    start: { kind: 'text', value: 'EVENT', help: 'How a person begins: EVENT[?FIELD=VALUE], * for any (*)' },
    mode: {
      kind: 'text',
      value: 'MODE',
      help: 'Which start counts: first (of this time), first_ever or recurring (first)',
    },
    back: { kind: 'text', value: 'EVENT', help: 'What a person comes back with (*)' },
    interval: { kind: 'text', value: 'INTERVAL', help: 'day, week or month (week)' },
    zone: ZONE_OPTION,
    ...RANGE_OPTIONS,
  },
  examples: [
    'retention show shop --since 60d',
    'retention show shop --start sign_up --back purchase --interval month --since 365d',
    'retention show shop --start purchase --back purchase --mode recurring',
  ],
  run: showRetention,
};

async function showRetention(args: Arguments, { client, nowMs }: Context): Promise<Outcome> {
  const query = given({
    ...readIntervals(args, nowMs, 'week'),
    mode: args.text('mode'),
    start: readSelection(args.text('start') ?? '*', 'start'),
    back: readSelection(args.text('back') ?? '*', 'back'),
  }) as RetentionQuery;
  const answer = await client.query<RetentionAnswer>(args.subject, 'retention', query);
  return { text: cohortTable(answer.cohorts, query), json: answer };
}

function cohortTable(cohorts: readonly Cohort[], { interval, time_zone }: RetentionQuery): string {
  const longest = Math.max(0, ...cohorts.map(({ returned }) => returned.length));
  const periods = Array.from({ length: Math.min(longest, PERIODS_SHOWN_MAX) }, (_, period) => period);
  const headings = ['FROM', 'PERSONS', ...periods.map((period) => `${interval.toUpperCase()} ${period}`)];
  const rows = cohorts.map((cohort) => [
    renderMoment(cohort.from, time_zone),
    renderNumber(cohort.persons),
    ...periods.map((period) => share(cohort.returned[period], cohort.persons)),
  ]);
  return renderTable(headings, rows, 'Nobody began in this time.');
}

function share(returned: number | undefined, persons: number): string {
  if (returned === undefined || returned === 0 || persons === 0) return '-';
  return `${renderNumber(returned)} (${((100 * returned) / persons).toFixed(1)} %)`;
}

const INTERVAL_OPTION: OptionSpec = { kind: 'text', value: 'INTERVAL', help: 'day, week or month (day)' };

/** Commands about how often, and when again, persons do something. */
export const activityCommands: Command[] = [
  {
    noun: 'stickiness',
    verb: 'show',
    summary: 'Show in how many intervals persons do something',
    subject: { name: 'SITE', help: 'the site whose persons are counted' },
    options: {
      event: SERIES_OPTION,
      interval: INTERVAL_OPTION,
      zone: ZONE_OPTION,
      ...RANGE_OPTIONS,
    },
    examples: ['stickiness show shop --event page_view --since 30d'],
    run: showStickiness,
  },
  {
    noun: 'lifecycle',
    verb: 'show',
    summary: 'Show who is new, returns, comes back after a pause, or stays away, by interval',
    subject: { name: 'SITE', help: 'the site whose persons are counted' },
    options: {
      event: { kind: 'texts', value: 'EVENT', help: 'Only events of these names (repeatable)' },
      interval: INTERVAL_OPTION,
      zone: ZONE_OPTION,
      ...RANGE_OPTIONS,
    },
    examples: ['lifecycle show shop --event page_view --interval week --since 60d'],
    run: showLifecycle,
  },
];

async function showStickiness(args: Arguments, { client, nowMs }: Context): Promise<Outcome> {
  const names = readEventNames(args);
  const series = names.map((name) => readSelection(name, 'event'));
  const query = given({ ...readIntervals(args, nowMs, 'day'), series }) as StickinessQuery;
  const answer = await client.query<StickinessAnswer>(args.subject, 'stickiness', query);
  const texts = answer.series.map(({ active }, at) => {
    const rows = active.map((one) => [one.intervals, one.persons, one.persons_at_least].map(renderNumber));
    const headings = [`${query.interval.toUpperCase()}S OF ${answer.intervals}`, 'PERSONS', 'SO MANY OR MORE'];
    return `${names[at]}\n\n${renderTable(headings, rows, 'Nobody did this in this time.')}`;
  });
  return { text: texts.join('\n\n'), json: answer };
}

async function showLifecycle(args: Arguments, { client, nowMs }: Context): Promise<Outcome> {
  const query = given({
    ...readIntervals(args, nowMs, 'day'),
    events: optional(args.texts('event')),
  }) as LifecycleQuery;
  const answer = await client.query<LifecycleAnswer>(args.subject, 'lifecycle', query);
  const rows = answer.intervals.map(({ from, ...one }) => [
    renderMoment(from, query.time_zone),
    ...[one.new, one.returning, one.resurrecting, one.dormant].map(renderNumber),
  ]);
  const headings = ['FROM', 'NEW', 'RETURNING', 'RESURRECTING', 'DORMANT'];
  return { text: renderTable(headings, rows, 'There are no intervals in this time.'), json: answer };
}
