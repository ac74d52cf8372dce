import type { LifecycleAnswer } from '#pipelines/query/lifecycle.ts';
import type { LifecycleQuery, StickinessQuery } from '#pipelines/query/shapes.ts';
import type { StickinessAnswer } from '#pipelines/query/stickiness.ts';
import { renderMoment, renderNumber, renderTable } from '#services/render.ts';
import { given } from './changes.ts';
import type { Arguments, Command, Context, OptionSpec, Outcome } from './command.ts';
import {
  optional,
  RANGE_OPTIONS,
  readEventNames,
  readIntervals,
  readSelection,
  SERIES_OPTION,
  ZONE_OPTION,
} from './query_options.ts';

const INTERVAL: OptionSpec = { kind: 'text', value: 'INTERVAL', help: 'day, week or month (day)' };

/** Commands about how often, and when again, persons do something. */
export const activityCommands: Command[] = [
  {
    noun: 'stickiness',
    verb: 'show',
    summary: 'Show in how many intervals persons do something',
    subject: { name: 'SITE', help: 'the site whose persons are counted' },
    options: {
      event: SERIES_OPTION,
      interval: INTERVAL,
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
      interval: INTERVAL,
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
