/** Different events refused alike, with none taken between them, after which it is taken to be the destination's fault. */
export const REFUSED_ALIKE_MIN = 5;

/** How long a destination that took an event is known to work: what it refuses meanwhile is the event's fault. */
const TAKEN_RECENTLY_MS = 300_000;

/** Whose fault it is that an event was refused by itself: as long as it is open, more may be known some time later. */
export type Fault = 'event' | 'destination' | 'open';

/** What the calls of one site show of its destination where refusals do not say whether they are about the event. */
export interface SiteRefusals {
  /** The platform took an event of the site. */
  taken(): void;
  /** An event was refused by itself. Where several different ones were, with this reason and in a row, it is the destination. */
  refused(reason: string, eventId: string): Fault;
}

/** The same of all sites of one process. */
export interface Refusals {
  of(siteId: string): SiteRefusals;
  /** Forgets what is known, as after a change of the site's settings. */
  reset(siteId: string): void;
}

interface Row {
  reason: string;
  /** Refused with the reason since an event was taken. */
  eventIds: Set<string>;
  takenAtMs: number;
}

/**
 * @param sitesMax sites that are remembered at the most; the one called longest ago is forgotten first.
 * @param nowMs the clock, milliseconds since 1970 UTC.
 */
export function createRefusals(sitesMax: number, nowMs: () => number): Refusals {
  const rows = new Map<string, Row>();

  function put(siteId: string, row: Row): void {
    rows.delete(siteId);
    rows.set(siteId, row);
    const [oldest] = rows.keys();
    if (rows.size > sitesMax && oldest !== undefined) rows.delete(oldest);
  }

  function refused(siteId: string, reason: string, eventId: string): Fault {
    const known = rows.get(siteId);
    const takenAtMs = known?.takenAtMs ?? Number.NEGATIVE_INFINITY;
    const row = known?.reason === reason ? known : { reason, eventIds: new Set<string>(), takenAtMs };
    put(siteId, row);
    if (row.eventIds.size < REFUSED_ALIKE_MIN) row.eventIds.add(eventId);
    if (row.eventIds.size >= REFUSED_ALIKE_MIN) return 'destination';
    return nowMs() - takenAtMs <= TAKEN_RECENTLY_MS ? 'event' : 'open';
  }

  return {
    of: (siteId) => ({
      taken: () => put(siteId, { reason: '', eventIds: new Set(), takenAtMs: nowMs() }),
      refused: (reason, eventId) => refused(siteId, reason, eventId),
    }),
    reset: (siteId) => void rows.delete(siteId),
  };
}
