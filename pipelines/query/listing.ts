import { type Static, Type } from 'typebox';
import { type Scope, scopeOf } from './scope.ts';
import type { LiveQuery, Selection, TimelineQuery } from './shapes.ts';

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

export function livePlan(query: LiveQuery, nowMs: number): LivePlan {
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
