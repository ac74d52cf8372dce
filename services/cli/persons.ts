// Commands of single events and persons: live, timeline, actors, paths, the trace of an event, and taking persons
// apart.
import type { Listing, RecentEventsQuery, TimelineQuery } from '#pipelines/analytics/event_lists.ts';
import type { EventTrace } from '#pipelines/analytics/event_trace/answer.ts';
import type { PathsAnswer, PathsQuery } from '#pipelines/analytics/paths.ts';
import type { ActorsAnswer, ActorsQuery } from '#pipelines/analytics/people/query.ts';
import type { SplitAnswer, SplitInput } from '#services/control_api/sites.ts';
import { renderNumber, renderTable, renderTime, renderValue } from '#services/stage/terminal.ts';
import {
  type Arguments,
  type Command,
  type Context,
  given,
  type OptionSpec,
  type Outcome,
  pathOf,
  readCount,
  readDuration,
  UsageError,
} from './command.ts';
import { optional, RANGE_OPTIONS, readField, readFilters, readJson, readRange } from './query_options.ts';

type Listed = Listing['events'][number];

const limitOption = (usual: number): OptionSpec => ({
  kind: 'text',
  value: 'COUNT',
  help: `How many, up to 1000 (${usual})`,
});

const EVENT_HEADINGS = ['EVENT', 'SOURCE', 'VALUE', 'DISTINCT ID'];

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
      limit: limitOption(50),
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
      limit: limitOption(200),
      ...RANGE_OPTIONS,
    },
    examples: ['timeline show shop --distinct-id me', 'timeline show shop --person p_0123 --since 90d --limit 20'],
    run: showTimeline,
  },
];

async function showLive(args: Arguments, { client }: Context): Promise<Outcome> {
  const query: Partial<RecentEventsQuery> = given({
    events: optional(args.texts('event')),
    filters: readFilters(args),
    limit: readCount(args, 'limit'),
  }) as RecentEventsQuery;
  const answer = await client.query<Listing>(args.subject, 'live', query);
  const rows = answer.events.map((one) => [renderTime(one.received_at), ...eventCells(one), one.person_id]);
  const headings = ['ARRIVED', ...EVENT_HEADINGS, 'PERSON'];
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
  const rows = answer.events.map((one) => [renderTime(one.timestamp), ...eventCells(one)]);
  return {
    text: renderTable(['HAPPENED', ...EVENT_HEADINGS], rows, 'Nobody did anything under it in this time.'),
    json: answer,
  };
}

function eventCells({ event, action_source, value, currency, distinct_id }: Listed): string[] {
  const amount = value === null ? '-' : `${renderNumber(value)} ${currency}`.trim();
  return [renderValue(event), action_source, amount, renderValue(distinct_id)];
}

export const actorsCommand: Command = {
  noun: 'actors',
  verb: 'show',
  summary: 'Show who is in a step of a funnel, a bar of trends, a cell of retention or a way of paths',
  subject: { name: 'SITE', help: 'the site whose persons are listed' },
  options: {
    of: { kind: 'text', value: 'JSON', help: 'The part of the chart, as the API takes it', required: true },
    limit: { kind: 'text', value: 'COUNT', help: 'How many, up to 1000 (100)' },
    after: { kind: 'text', value: 'NEXT', help: 'The next page: what the one before printed' },
  },
  examples: [
    `actors show shop --of '{"trends":{"from":1788220800000,"to":1790812800000,"interval":"day","series":[{"events":["purchase"]}]},"series":1}'`,
    `actors show shop --of '{"paths":{"from":1788220800000,"to":1790812800000,"starting_at":"add_to_cart"},"place":0,"way":["add_to_cart","purchase"]}'`,
  ],
  run: showActors,
};

async function showActors(args: Arguments, { client }: Context): Promise<Outcome> {
  const query = given({
    of: readJson(args.text('of') ?? '', 'of'),
    limit: readCount(args, 'limit'),
    after: args.text('after'),
  }) as ActorsQuery;
  const answer = await client.query<ActorsAnswer>(args.subject, 'actors', query);
  const rows = answer.actors.map((one) => [
    one.person_id,
    renderTime(one.timestamp),
    renderValue(one.event),
    renderValue(one.distinct_id),
  ]);
  const table = renderTable(['PERSON', 'HAPPENED', 'EVENT', 'DISTINCT ID'], rows, 'Nobody is there.');
  return { text: answer.next === null ? table : `${table}\n\nMore with --after ${answer.next}`, json: answer };
}

export const pathsCommand: Command = {
  noun: 'paths',
  verb: 'show',
  summary: 'Show which way people go from, to and through an event or a page',
  subject: { name: 'SITE', help: 'the site whose paths are shown' },
  options: {
    from: { kind: 'text', value: 'TEXT', help: 'Paths from the first event of this name, or value, on' },
    to: { kind: 'text', value: 'TEXT', help: 'Paths up to the first one' },
    through: { kind: 'text', value: 'TEXT', help: 'Both sides of the first one' },
    by: { kind: 'text', value: 'FIELD', help: 'A field in place of the name, such as page_location' },
    event: { kind: 'texts', value: 'EVENT', help: 'Only events of these names (repeatable)' },
    window: { kind: 'text', value: 'TIME', help: 'How far paths go: 7d, 12h, 30m (as far as the session)' },
    steps: { kind: 'text', value: 'COUNT', help: 'How many steps on each side (5)' },
    top: { kind: 'text', value: 'COUNT', help: 'How many values of a step; the others are one (10)' },
    ...RANGE_OPTIONS,
  },
  examples: [
    'paths show shop --from add_to_cart --since 7d',
    'paths show shop --through https://shop.example/cart --by page_location --event page_view --window 1d',
  ],
  run: showPaths,
};

async function showPaths(args: Arguments, { client, nowMs }: Context): Promise<Outcome> {
  const [by, window] = [args.text('by'), args.text('window')];
  const query = given({
    ...readRange(args, nowMs),
    events: optional(args.texts('event')),
    by: by === undefined ? undefined : readField(by),
    starting_at: args.text('from'),
    ending_at: args.text('to'),
    through: args.text('through'),
    window_ms: window === undefined ? undefined : readDuration(window, 'window'),
    steps: readCount(args, 'steps'),
    top: readCount(args, 'top'),
  }) as PathsQuery;
  const answer = await client.query<PathsAnswer>(args.subject, 'paths', query);
  return { text: edgeTable(answer), json: answer };
}

function edgeTable({ edges, paths }: PathsAnswer): string {
  const name = (value: string | null): string => (value === null ? '(others)' : renderValue(value));
  const rows = edges.map((edge) => [String(edge.place), name(edge.from), name(edge.to), renderNumber(edge.paths)]);
  const table = renderTable(['PLACE', 'FROM', 'TO', 'PATHS'], rows, 'No path has two places.');
  return `${table}\n\n${renderNumber(paths)} paths in all`;
}

const hashes = (what: string) =>
  ({
    kind: 'texts',
    value: 'SHA256',
    help: `hash of ${what} that both have said and that goes with them (repeatable)`,
  }) as const;

export const personSplitCommand: Command = {
  noun: 'person',
  verb: 'split',
  summary: 'Take distinct ids out of a person whom they were joined to wrongly, with their rows, for good',
  subject: { name: 'PERSON', help: 'the id of the person; its oldest distinct id stays' },
  options: {
    site: { kind: 'text', value: 'SITE', help: 'the site of the person', required: true },
    'distinct-id': { kind: 'texts', value: 'ID', help: 'a distinct id that is somebody else (repeatable)' },
    email: hashes('an e-mail address'),
    phone: hashes('a phone number'),
    'external-id': hashes('an id in the sender’s own system'),
    'dry-run': { kind: 'flag', help: 'Change nothing, and say what would move' },
  },
  examples: [
    'person split p_0b7e --site shop --distinct-id till-7 --dry-run',
    'person split p_0b7e --site shop --distinct-id till-7 --distinct-id phone-2',
  ],
  run: splitPerson,
};

async function splitPerson(args: Arguments, { client }: Context): Promise<Outcome> {
  const distinct_ids = args.texts('distinct-id');
  if (distinct_ids.length === 0) throw new UsageError('flag_missing', '--distinct-id is missing: who is to be moved');
  const named = [
    ['email', 'email'],
    ['phone', 'phone'],
    ['external-id', 'external_id'],
  ] as const;
  const body = given({
    distinct_ids,
    identifiers: optional(
      named.flatMap(([option, identifier]) => args.texts(option).map((sha256) => ({ identifier, sha256 }))),
    ),
    dry_run: args.flag('dry-run') ? true : undefined,
  }) as SplitInput;
  const path = pathOf('sites', args.text('site') ?? '', 'persons', args.subject, 'split');
  const answer = await client.send<SplitAnswer>('POST', path, null, body);
  const table = renderTable(
    ['WHAT', 'VALUE'],
    [
      ['stays', answer.person_id],
      ['is taken out', answer.new_person_id],
      ['distinct ids that are moved', String(answer.moved)],
      ['distinct ids that stay', String(answer.stayed)],
      ['identifiers that both had', String(answer.shared_identifiers)],
      ['rows that change', String(answer.rows)],
    ],
    '',
  );
  return { text: answer.is_done ? table : `${table}\n\nNothing was changed.`, json: answer };
}

/** Without what terminals obey: ids and names are the sender's. */
const plainLine = (text: string): string => text.replace(/\p{C}+/gu, ' ');

export const eventTraceCommand: Command = {
  noun: 'event',
  verb: 'show',
  summary: 'Show what became of one event, from its acceptance to each destination',
  subject: {
    name: 'SITE EVENT',
    help: 'the site, and the id of the event as it was sent or as live show has it',
    words: 2,
  },
  options: {},
  examples: ['event show shop order-2001', 'event show shop order-2001 --json'],
  run: showEvent,
};

async function showEvent({ subjects }: Arguments, { client }: Context): Promise<Outcome> {
  const [siteId = '', eventId = ''] = subjects;
  const trace = await client.event<EventTrace>(siteId, eventId);
  const attempts = trace.destinations.flatMap(({ destination, attempts: made }) =>
    made.map(({ attempt, attempted_at, outcome, reason, took_ms, answer }) => [
      destination,
      String(attempt),
      renderTime(attempted_at),
      outcome,
      reason === '' ? '-' : reason,
      took_ms === 0 ? '-' : `${took_ms} ms`,
      answer === null ? '-' : `${answer.status} ${renderValue(answer.body)}`,
    ]),
  );
  const table = renderTable(['DESTINATION', 'ATTEMPT', 'MADE', 'OUTCOME', 'REASON', 'TOOK', 'ANSWER'], attempts, '');
  const text = [...trace.status.map(plainLine), ...(table === '' ? [] : ['', table])].join('\n');
  return { text, json: trace };
}
