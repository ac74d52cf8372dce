import { type Static, Type } from 'typebox';
import { allOf, inScope, selects } from './filters.ts';
import type { LiveQuery, TimelineQuery } from './shapes.ts';
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

const LISTED = `event_id, event, toUnixTimestamp64Milli(timestamp) AS happened, toUnixTimestamp64Milli(received_at) AS received,
  distinct_id, person_id AS person, action_source, mode, country, value, currency, order_id, properties`;

/** The statement of what arrived last, newest first. Rows: ListedRow. */
export function liveStatement(siteId: string, query: LiveQuery, nowMs: number): Statement {
  const binder = createBinder();
  const after = binder.bind(query.received_after ?? nowMs - LIVE_MS, 'Int64');
  const wanted = allOf([
    `site_id = ${binder.bind(siteId, 'String')}`,
    `received_at > fromUnixTimestamp64Milli(${after}, 'UTC')`,
    selects(query, binder),
  ]);
  return binder.statement(`SELECT ${LISTED} FROM events WHERE ${wanted}
ORDER BY received_at DESC, raw_index DESC, event_id LIMIT 1 BY event_id LIMIT ${query.limit ?? LIVE_LIMIT}`);
}

/**
 * The statement of what a person did, newest first, under whichever of its ids: the person that was named, or that it has
 * become part of, or that a distinct id belongs to. Rows: ListedRow.
 */
export function timelineStatement(siteId: string, query: TimelineQuery): Statement {
  const binder = createBinder();
  const site = binder.bind(siteId, 'String');
  const named =
    'person_id' in query
      ? `arrived_person_id = ${binder.bind(query.person_id, 'String')} OR person_id = ${binder.bind(query.person_id, 'String')}`
      : `distinct_id = ${binder.bind(query.distinct_id, 'String')}`;
  const persons = `SELECT person_id FROM events WHERE site_id = ${site} AND (${named})${mergedInto(site, query, binder)}`;
  const wanted = allOf([...inScope(siteId, query, binder), `person_id IN (${persons})`]);
  return binder.statement(`SELECT ${LISTED} FROM events WHERE ${wanted}
ORDER BY timestamp DESC, received_at DESC, raw_index DESC, event_id LIMIT 1 BY event_id LIMIT ${query.limit ?? TIMELINE_LIMIT}`);
}

/** Once merges are written into the rows, nothing but the links knows a person that became part of another. */
function mergedInto(site: string, query: TimelineQuery, binder: Binder): string {
  if (!('person_id' in query)) return '';
  return ` UNION ALL SELECT argMax(target, version) FROM person_links
  WHERE site_id = ${site} AND person_id = ${binder.bind(query.person_id, 'String')} HAVING count() > 0`;
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
