// The newest events, and the timeline of a person.

import { type Static, Type } from 'typebox';
import { closed } from './filters.ts';
import { common, EXAMPLE_TIME, limitOf, question, ROWS_MAX, scopeOf, selectionShape, time } from './question.ts';
import { EVENT } from './sql/event_rows.ts';
import { allOf, inScope, selects } from './sql/expressions.ts';
import { type Binder, createBinder, JOINS, type Statement } from './sql/statement.ts';

const LIVE_LIMIT = 50;
const LIVE_MS = 3_600_000;
const TIMELINE_LIMIT = 200;

const liveSchema = closed({
  ...selectionShape.properties,
  received_after: Type.Optional(
    time('Only events that arrived later; an hour ago, or before received_before, where not given'),
  ),
  received_before: Type.Optional(time('Only events that arrived earlier: the page before what is known')),
  limit: limitOf(LIVE_LIMIT),
});
export type RecentEventsQuery = Static<typeof liveSchema>;

const person = Type.String({ minLength: 1, maxLength: 200 });
const timelineLimit = Type.Optional(Type.Integer({ minimum: 1, maximum: ROWS_MAX }));
const timelineSchema = Type.Union([
  closed({ ...common, person_id: person, limit: timelineLimit }),
  closed({ ...common, distinct_id: person, limit: timelineLimit }),
]);
export type TimelineQuery = Static<typeof timelineSchema>;

const listedShape = Type.Object({
  event_id: Type.String(),
  event: Type.String(),
  timestamp: Type.Integer({ description: 'When it happened, in milliseconds since 1970 UTC' }),
  received_at: Type.Integer({ description: 'When it arrived, in milliseconds since 1970 UTC' }),
  distinct_id: Type.String(),
  person_id: Type.String({ description: 'As known now' }),
  action_source: Type.String(),
  mode: Type.String(),
  country: Type.String(),
  value: Type.Union([Type.Number(), Type.Null()]),
  currency: Type.String(),
  order_id: Type.String(),
  properties: Type.Record(Type.String(), Type.Unknown()),
});

type ListedEvent = Static<typeof listedShape>;

export interface ListedRow extends Omit<ListedEvent, 'timestamp' | 'received_at' | 'person_id' | 'properties'> {
  happened: number;
  received: number;
  person: string;
  properties: string;
}

/** The answer to the live tail and to a timeline. */
const listingSchema = Type.Object({ events: Type.Array(listedShape) });
export type Listing = Static<typeof listingSchema>;

/** The answer from the rows of a listing's statement. */
function listingAnswer(rows: readonly ListedRow[]): Listing {
  return {
    events: rows.map(({ happened, received, person, properties, ...row }) => ({
      ...row,
      timestamp: happened,
      received_at: received,
      person_id: person,
      properties: JSON.parse(properties) as Record<string, unknown>,
    })),
  };
}

const LISTED = `sent_id AS event_id, event, toUnixTimestamp64Milli(timestamp) AS happened, toUnixTimestamp64Milli(received_at) AS received,
  distinct_id, person_id AS person, action_source, mode, country, value, currency, order_id, properties`;

/** The statement of the events that arrived last, newest first, but for those of the past. Rows: ListedRow. */
export function liveStatement(siteId: string, query: RecentEventsQuery, nowMs: number): Statement {
  const binder = createBinder();
  const { received_before: before, received_after: after = (before ?? nowMs) - LIVE_MS, limit = LIVE_LIMIT } = query;
  const wanted = allOf([
    `site_id = ${binder.bind(siteId, 'String')}`,
    `received_at > ${binder.time(after)}`,
    // Years that are brought in would leave nothing to be seen of what happens.
    'NOT historical',
    ...(before === undefined ? [] : [`received_at < ${binder.time(before)}`]),
    selects(query, binder),
  ]);
  return binder.statement(
    binder.withNames(`SELECT ${LISTED} FROM event_rows${JOINS} WHERE ${wanted}
ORDER BY received_at DESC, raw_index DESC, sent_id LIMIT 1 BY ${EVENT} LIMIT ${limit}`),
  );
}

/**
 * The statement of what a person did, newest first, under whichever of its ids: the person that was named, or that it has
 * become part of, or that a distinct id belongs to. Rows: ListedRow.
 *
 * The projections of event_rows by person and by visitor say where the rows are, so that others are not read.
 */
export function timelineStatement(siteId: string, query: TimelineQuery): Statement {
  const binder = createBinder();
  const site = binder.bind(siteId, 'String');
  const persons =
    'person_id' in query ? personsNow(site, query.person_id, binder) : ownersOf(site, query.distinct_id, binder);
  const arrived = `SELECT cityHash64(person_id) FROM (${persons}
  UNION ALL SELECT person_id FROM person_links WHERE site_id = ${site} AND target GLOBAL IN (${persons}))`;
  const wanted = allOf([
    ...inScope(siteId, scopeOf(query), binder),
    `person_hash GLOBAL IN (${arrived})`,
    `person_id GLOBAL IN (${persons})`,
  ]);
  return binder.statement(
    binder.withNames(`SELECT ${LISTED} FROM event_rows${JOINS} WHERE ${wanted}
ORDER BY timestamp DESC, received_at DESC, raw_index DESC, sent_id LIMIT 1 BY ${EVENT} LIMIT ${query.limit ?? TIMELINE_LIMIT}
${ROWS_BY_PLACE}`),
  );
}

/** Who a distinct id belongs to: the projection by visitor has each person of it once. */
function ownersOf(site: string, distinctId: string, binder: Binder): string {
  return `SELECT person_id FROM event_rows
  WHERE site_id = ${site} AND cityHash64(distinct_id) = cityHash64(${binder.bind(distinctId, 'String')}) GROUP BY person_id`;
}

/** Who a person is now: itself, or whom it became part of. */
function personsNow(site: string, personId: string, binder: Binder): string {
  const person = binder.bind(personId, 'String');
  return `SELECT ${person} AS person_id UNION ALL SELECT argMax(target, version) FROM person_links
  WHERE site_id = ${site} AND person_id = ${person} HAVING count() > 0`;
}

/** Projections tell places in tables of any size. */
const ROWS_BY_PLACE = 'SETTINGS min_table_rows_to_use_projection_index = 0';

/** What arrives now. */
export const live = question({
  kind: 'live',
  summary: 'What arrived last, newest first',
  permission: 'query.events',
  schema: liveSchema,
  answerSchema: listingSchema,
  example: {
    events: ['purchase'],
    filters: [{ field: { column: 'country' }, is: 'equal', to: ['BE', 'NL'] }],
    limit: 20,
  },
  statement: (siteId, query, _minPersons, nowMs) => liveStatement(siteId, query, nowMs),
  answer: (_query, rows: readonly ListedRow[]) => listingAnswer(rows),
});

/** What one person did. */
export const timeline = question({
  kind: 'timeline',
  summary: 'What one person did, under all its ids, newest first',
  permission: 'query.persons',
  schema: timelineSchema,
  answerSchema: listingSchema,
  example: { ...EXAMPLE_TIME, distinct_id: 'customer-1' },
  statement: timelineStatement,
  answer: (_query, rows: readonly ListedRow[]) => listingAnswer(rows),
  // By the places of one person's rows.
  reads: () => null,
});
