import type { EntryView } from '#schemas/event_batch.ts';
import { claimOf, type PastClaim } from './claim.ts';

/**
 * The claims of the events that one record of events.unique holds: each passed with the coordinate that it carries.
 * An event without one was not written by dedup and claims nothing.
 */
export function pastClaims(views: readonly EntryView[], bucketChars: number, claimedAtMs: number): PastClaim[] {
  return views.flatMap(({ siteId, eventId, coordinate }) =>
    coordinate === null ? [] : [{ ...claimOf(siteId, eventId, coordinate, bucketChars), claimedAtMs }],
  );
}
