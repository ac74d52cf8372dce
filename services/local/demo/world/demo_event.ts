import type { ActionSource, Caller } from '#schemas/event.ts';

export const SITE_SLOTS = ['shop', 'travel'] as const;
export type SiteSlot = (typeof SITE_SLOTS)[number];

/** What the service should know of one event once it has been accepted, next to the body that is sent for it. */
export interface WorldEvent {
  siteSlot: SiteSlot;
  eventId: string;
  name: string;
  /** When it happened, milliseconds since 1970 UTC, as the service should store it. */
  at: number;
  actionSource: ActionSource;
  /** The visitor as one key: the distinct id, or a name of our own for a visitor who sends none. */
  visitor: string;
  /** Every identity this event may stitch to its visitor, in canonical form; empty for events that never stitch. */
  stitches: readonly string[];
  /** The event as it stands in the request body. */
  wire: WireEvent;
}

/** An element of `events` in the request body; loose on purpose, as the world also sends bad ones. */
export interface WireEvent {
  event: string;
  uuid: string;
  distinct_id?: string;
  timestamp?: string;
  properties: Record<string, unknown>;
}

/**
 * What becomes of an event in a request: `accepted`, `rejected` for its own fault (or the partly bad batch),
 * `filtered` as bot, prefetch or blocked traffic, or `refused` with the whole request.
 */
export type Fate = 'accepted' | 'rejected' | 'filtered' | 'refused';

export interface PlannedEvent {
  event: WorldEvent;
  fate: Fate;
}

export interface Expectation {
  status: number;
  accepted: number;
  rejected: number;
  dropped: number;
}

/** One POST to /v1/ingest. The sender adds address, key and length. */
export interface DemoRequest {
  siteSlot: SiteSlot;
  caller: Caller;
  /** Where the key travels; beacons cannot set headers. */
  keyIn: 'header' | 'query';
  headers: Record<string, string>;
  /** JSON, in clear; compressed by the sender where content-encoding says gzip. */
  body: string;
  eventCount: number;
  expect: Expectation;
}

/** A request with what is planned for each of its events, in order. */
export interface PlannedRequest {
  request: DemoRequest;
  events: readonly PlannedEvent[];
}
