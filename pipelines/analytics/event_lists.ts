// The newest events, and the timeline of a person.

import { type Static, Type } from 'typebox';
import { allOf, inScope, selects } from './filter_sql.ts';
import { type RecentEventsQuery, type Scope, type Selection, scopeOf, type TimelineQuery } from './query_schemas.ts';
import { type Binder, createBinder, type Statement } from './statement.ts';

const LIVE_LIMIT = 50;
const LIVE_MS = 3_600_000;
const TIMELINE_LIMIT = 200;

export interface ListedRow {
  event_id: string;
  event: string;
  happened: number;
  received: number;
  distinct_id: string;
  person: string;
  action_source: string;
  mode: string;
  country: string;
  value: number | null;
  currency: string;
  order_id: string;
  properties: string;
}

/** A question of the live tail with everything decided that it leaves open. */
export interface LivePlan {
  selection: Selection;
  receivedAfterMs: number;
  /** Null: up to the newest. */
  receivedBeforeMs: number | null;
  limit: number;
}

export function livePlan(query: RecentEventsQuery, nowMs: number): LivePlan {
  const { received_after, received_before, limit = LIVE_LIMIT, ...selection } = query;
  const receivedAfterMs = received_after ?? (received_before ?? nowMs) - LIVE_MS;
  return { selection, receivedAfterMs, receivedBeforeMs: received_before ?? null, limit };
}

/** A question of a timeline with everything decided that it leaves open: of a person, or of whoever has a distinct id. */
export interface TimelinePlan extends Scope {
  of: { personId: string } | { distinctId: string };
  limit: number;
}

export function timelinePlan(query: TimelineQuery): TimelinePlan {
  const of = 'person_id' in query ? { personId: query.person_id } : { distinctId: query.distinct_id };
  return { ...scopeOf(query), of, limit: query.limit ?? TIMELINE_LIMIT };
}

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

/** The answer to the live tail and to a timeline. */
export const listingShape = Type.Object({ events: Type.Array(listedShape) });
export type Listing = Static<typeof listingShape>;

/** The answer from the rows of a listing's statement. */
export function listingAnswer(rows: readonly ListedRow[]): Listing {
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

const LISTED = `event_id, event, toUnixTimestamp64Milli(timestamp) AS happened, toUnixTimestamp64Milli(received_at) AS received,
  distinct_id, person_id AS person, action_source, mode, country, value, currency, order_id, properties`;

/** The statement of the events that arrived last, newest first. Rows: ListedRow. */
export function liveStatement(siteId: string, plan: LivePlan): Statement {
  const binder = createBinder();
  const { receivedAfterMs, receivedBeforeMs: before } = plan;
  const wanted = allOf([
    `site_id = ${binder.bind(siteId, 'String')}`,
    `received_at > ${binder.time(receivedAfterMs)}`,
    ...(before === null ? [] : [`received_at < ${binder.time(before)}`]),
    selects(plan.selection, binder),
  ]);
  return binder.statement(
    binder.withNames(`SELECT ${LISTED} FROM event_rows WHERE ${wanted}
ORDER BY received_at DESC, raw_index DESC, event_id LIMIT 1 BY event_id LIMIT ${plan.limit}`),
  );
}

/**
 * The statement of what a person did, newest first, under whichever of its ids: the person that was named, or that it has
 * become part of, or that a distinct id belongs to. Rows: ListedRow.
 *
 * The projections of event_rows by person and by visitor say where the rows are, so that others are not read.
 */
export function timelineStatement(siteId: string, plan: TimelinePlan): Statement {
  const binder = createBinder();
  const site = binder.bind(siteId, 'String');
  const persons = 'personId' in plan.of ? personsNow(site, plan.of.personId, binder) : ownersOf(site, plan.of, binder);
  const arrived = `SELECT cityHash64(person_id) FROM (${persons}
  UNION ALL SELECT person_id FROM person_links WHERE site_id = ${site} AND target GLOBAL IN (${persons}))`;
  const wanted = allOf([
    ...inScope(siteId, plan, binder),
    `person_hash GLOBAL IN (${arrived})`,
    `person_id GLOBAL IN (${persons})`,
  ]);
  return binder.statement(
    binder.withNames(`SELECT ${LISTED} FROM event_rows WHERE ${wanted}
ORDER BY timestamp DESC, received_at DESC, raw_index DESC, event_id LIMIT 1 BY event_id LIMIT ${plan.limit}
${ROWS_BY_PLACE}`),
  );
}

/** Who a distinct id belongs to: the projection by visitor has each person of it once. */
function ownersOf(site: string, { distinctId }: { distinctId: string }, binder: Binder): string {
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
