/** Different events refused alike, with none taken between them, after which it is taken to be the destination's fault. */
export const REFUSED_ALIKE_MIN = 5;

/** What the calls of one site show of its destination where refusals do not say whether they are about the event. */
export interface SiteRefusals {
  /** The platform took an event of the site. */
  taken(): void;
  /**
   * An event was refused by itself.
   *
   * @returns whether so many different ones were refused with this reason in a row that it is the destination.
   */
  refused(reason: string, eventId: string): boolean;
}

/** The same of all sites of one process. */
export interface Refusals {
  of(siteId: string): SiteRefusals;
  /** Forgets what is known, as after a change of the site's settings. */
  reset(siteId: string): void;
}

interface Row {
  reason: string;
  eventIds: Set<string>;
}

/** @param sitesMax sites that are remembered at the most; the one refused longest ago is forgotten first. */
export function createRefusals(sitesMax: number): Refusals {
  const rows = new Map<string, Row>();

  function refused(siteId: string, reason: string, eventId: string): boolean {
    const known = rows.get(siteId);
    const row = known?.reason === reason ? known : { reason, eventIds: new Set<string>() };
    rows.delete(siteId);
    rows.set(siteId, row);
    const [oldest] = rows.keys();
    if (rows.size > sitesMax && oldest !== undefined) rows.delete(oldest);
    if (row.eventIds.size < REFUSED_ALIKE_MIN) row.eventIds.add(eventId);
    return row.eventIds.size >= REFUSED_ALIKE_MIN;
  }

  return {
    of: (siteId) => ({
      taken: () => void rows.delete(siteId),
      refused: (reason, eventId) => refused(siteId, reason, eventId),
    }),
    reset: (siteId) => void rows.delete(siteId),
  };
}
