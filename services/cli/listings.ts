import type { Listing } from '#pipelines/query/listing.ts';
import type { LiveQuery, TimelineQuery } from '#pipelines/query/shapes.ts';
import { renderNumber, renderTable, renderTime, renderValue } from '#services/render.ts';
import { given } from './changes.ts';
import type { Arguments, Command, Context, OptionSpec, Outcome } from './command.ts';
import { optional, RANGE_OPTIONS, readFilters, readRange } from './query_options.ts';
import { UsageError } from './usage_error.ts';
import { readCount } from './values.ts';

type Listed = Listing['events'][number];

const limit = (usual: number): OptionSpec => ({
  kind: 'text',
  value: 'COUNT',
  help: `How many, up to 1000 (${usual})`,
});

export const listingCommands: Command[] = [
  {
    noun: 'live',
    verb: 'show',
    summary: 'Show what arrived last, newest first',
    subject: { name: 'SITE', help: 'the site whose events are shown' },
    options: {
      event: { kind: 'texts', value: 'EVENT', help: 'Only events of these names (repeatable)' },
      where: RANGE_OPTIONS['where'] as OptionSpec,
      filter: RANGE_OPTIONS['filter'] as OptionSpec,
      limit: limit(50),
    },
    examples: ['live show shop', 'live show shop --event purchase --where "value>=100" --limit 10'],
    run: showLive,
  },
  {
    noun: 'timeline',
    verb: 'show',
    summary: 'Show what one person did, under all its ids, newest first',
    subject: { name: 'SITE', help: 'the site whose events are shown' },
    options: {
      person: { kind: 'text', value: 'PERSON', help: 'The person, as live show --json and other answers name it' },
      'distinct-id': { kind: 'text', value: 'ID', help: 'A distinct id of the person, in its place' },
      limit: limit(200),
      ...RANGE_OPTIONS,
    },
    examples: ['timeline show shop --distinct-id me', 'timeline show shop --person p_0123 --since 90d --limit 20'],
    run: showTimeline,
  },
];

async function showLive(args: Arguments, { client }: Context): Promise<Outcome> {
  const query: Partial<LiveQuery> = given({
    events: optional(args.texts('event')),
    filters: readFilters(args),
    limit: readCount(args, 'limit'),
  }) as LiveQuery;
  const answer = await client.query<Listing>(args.subject, 'live', query);
  const rows = answer.events.map((one) => [renderTime(one.received_at), ...cells(one), one.person_id]);
  const headings = ['ARRIVED', ...HEADINGS, 'PERSON'];
  return { text: renderTable(headings, rows, 'Nothing arrived in the last hour.'), json: answer };
}

async function showTimeline(args: Arguments, { client, nowMs }: Context): Promise<Outcome> {
  const [person_id, distinct_id] = [args.text('person'), args.text('distinct-id')];
  if ((person_id === undefined) === (distinct_id === undefined)) {
    throw new UsageError('flag_missing', 'give --person or --distinct-id, and not both');
  }
  const query = given({
    ...readRange(args, nowMs),
    person_id,
    distinct_id,
    limit: readCount(args, 'limit'),
  }) as TimelineQuery;
  const answer = await client.query<Listing>(args.subject, 'timeline', query);
  const rows = answer.events.map((one) => [renderTime(one.timestamp), ...cells(one)]);
  return {
    text: renderTable(['HAPPENED', ...HEADINGS], rows, 'Nobody did anything under it in this time.'),
    json: answer,
  };
}

const HEADINGS = ['EVENT', 'SOURCE', 'VALUE', 'DISTINCT ID'];

function cells({ event, action_source, value, currency, distinct_id }: Listed): string[] {
  const amount = value === null ? '-' : `${renderNumber(value)} ${currency}`.trim();
  return [renderValue(event), action_source, amount, renderValue(distinct_id)];
}
