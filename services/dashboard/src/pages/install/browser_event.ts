import type { Listing } from '#pipelines/analytics/event_lists.ts';
import type { LiveQuery } from '#pipelines/analytics/query_schemas.ts';

type Event = Listing['events'][number];

/** How long it takes at most until an event that arrived can be asked for, nearly always. */
const BECOMES_ROW_MS = 60_000;

/** What is known of the events of a site's browsers. */
export interface Watched {
  /** When the page was opened, by the clock of the service. */
  openedMs: number;
  newest: Event | null;
}

/** Asks for the newest event that came by a browser key: one of a server says nothing about the tag. */
export const browserQuestion = (receivedAfter: number): LiveQuery => ({
  limit: 1,
  received_after: receivedAfter,
  filters: [{ field: { column: 'caller' }, is: 'equal', to: ['browser'] }],
});

/** From when on newer events are asked for: those that arrived just before the page was opened may be no rows yet. */
export const askedFrom = ({ openedMs, newest }: Watched): number => newest?.received_at ?? openedMs - BECOMES_ROW_MS;

/** Whether an event came since the page was opened. */
export const cameSince = ({ openedMs, newest }: Watched): boolean => newest !== null && newest.received_at > openedMs;

/** The address of the page that an event came from; empty where it says none. */
export function pageOf({ properties }: Event): string {
  const address = properties['$current_url'] ?? properties['page_location'];
  return typeof address === 'string' ? address : '';
}
