import type { RetentionAnswer } from '#pipelines/query/retention.ts';
import type { RetentionQuery } from '#pipelines/query/shapes.ts';
import { renderMoment, renderNumber, renderTable } from '#services/render.ts';
import { given } from './changes.ts';
import type { Arguments, Command, Context, Outcome } from './command.ts';
import { RANGE_OPTIONS, readIntervals, readSelection, ZONE_OPTION } from './query_options.ts';

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
