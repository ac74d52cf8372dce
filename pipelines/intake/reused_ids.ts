import type { Event } from '#schemas/event.ts';
import { uuidOrNull } from './event_id.ts';

/** An event whose id an event of another name had before: one of the two will not count. */
export interface ReusedId {
  /** The event's place among those that were taken. */
  at: number;
  /** What the event before is called. */
  before: string;
}

const IDS_MAX = 20_000;

/**
 * Tells of each request's events which have the id of another event, by the names: an id is one event's, and what a sender calls
 * otherwise under it is no copy. Remembers the request's own ids, and beyond it the last of those that are no UUIDs: an order's
 * number is what senders give to several events by mistake. More go unseen where several edges take them.
 */
export function createIdMemory(idsMax = IDS_MAX): (events: readonly Event[]) => ReusedId[] {
  const names = new Map<string, string>();
  return (events) => {
    const reused: ReusedId[] = [];
    const ofRequest = new Map<string, string>();
    for (const [at, { site_id: siteId, event_id: eventId, event }] of events.entries()) {
      const isUuid = uuidOrNull(eventId) !== null;
      if (isUuid && events.length === 1) break;
      const key = isUuid ? eventId : `${siteId}\n${eventId}`;
      const known = isUuid ? ofRequest : names;
      const before = known.get(key);
      if (before === undefined) known.set(key, event);
      else if (before !== event) reused.push({ at, before });
      if (names.size > idsMax) names.delete(names.keys().next().value ?? '');
    }
    return reused;
  };
}
