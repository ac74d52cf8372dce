/** Different events refused alike, with none taken between them, after which it is taken to be the destination's fault. */
export const REFUSED_ALIKE_MIN = 5;

/** Events that are dead at once, in a row, of a destination that took others lately. */
export const DEAD_IN_A_ROW_MAX = 20;

/** How long a destination that took an event is known to work: what it refuses meanwhile is not the destination's fault. */
const TAKEN_RECENTLY_MS = 300_000;

/** Refused events of one site that are held in memory at the most, of those since an event was taken and of those before. */
const HELD_MAX = 100;

/**
 * Whose fault it is that an event was refused by itself, by what is known now. `open`: too few were refused to say.
 * `unclear`: too many in a row to blame the events, too soon after one that was taken to blame the destination.
 * `again`: it was refused before, with none taken since, which says nothing new.
 */
export type Fault = 'event' | 'destination' | 'open' | 'unclear' | 'again';

/** What the calls of one site show of its destination where refusals do not say whether they are about the event. */
export interface SiteRefusals {
  /** The platform took an event of the site: what it refused before, and refuses again, is the event's own fault. */
  taken(): void;
  /** An event was refused by itself. Where several different ones were, with this reason and in a row, it is the destination. */
  refused(reason: string, eventId: string): Fault;
  /** Whether the event was refused before, so that another refusal of it shows nothing of the destination. */
  isKnown(eventId: string): boolean;
}

/** The same of all sites of one process. */
export interface Refusals {
  of(siteId: string): SiteRefusals;
  /** Forgets what is known, as after a change of the site's settings. */
  reset(siteId: string): void;
}

interface Row {
  /** Of the last refusal. */
  reason: string;
  /** Different events refused with the reason, in a row. */
  alike: number;
  /** Refusals in a row of events that were refused before. */
  again: number;
  /** Events found at fault since one was taken. */
  dead: number;
  /** Refused since an event was taken, with the reason. */
  refused: Map<string, string>;
  /** Refused before an event was taken. */
  past: Set<string>;
  takenAtMs: number;
}

const newRow = (): Row => ({
  ...{ reason: '', alike: 0, again: 0, dead: 0 },
  ...{ refused: new Map(), past: new Set(), takenAtMs: Number.NEGATIVE_INFINITY },
});

/**
 * @param sitesMax sites that are held in memory at the most; the one called longest ago is forgotten first.
 * @param nowMs milliseconds of a clock that only goes forward.
 */
export function createRefusals(sitesMax: number, nowMs: () => number): Refusals {
  const rows = new Map<string, Row>();

  function touch(siteId: string): Row {
    const row = rows.get(siteId) ?? newRow();
    rows.delete(siteId);
    rows.set(siteId, row);
    dropOldest(rows, sitesMax);
    return row;
  }

  return {
    of: (siteId) => ({
      taken: () => take(touch(siteId), nowMs()),
      refused: (reason, eventId) => refuse(touch(siteId), reason, eventId, nowMs()),
      isKnown: (eventId) => {
        const row = rows.get(siteId);
        return row !== undefined && (row.refused.has(eventId) || row.past.has(eventId));
      },
    }),
    reset: (siteId) => void rows.delete(siteId),
  };
}

function dropOldest(table: Map<string, unknown> | Set<string>, max: number): void {
  for (const oldest of table.keys()) {
    if (table.size <= max) return;
    table.delete(oldest);
  }
}

function take(row: Row, nowMs: number): void {
  for (const eventId of row.refused.keys()) row.past.add(eventId);
  dropOldest(row.past, HELD_MAX);
  Object.assign(row, { reason: '', alike: 0, again: 0, dead: 0, refused: new Map(), takenAtMs: nowMs });
}

function refuse(row: Row, reason: string, eventId: string, nowMs: number): Fault {
  if (row.past.has(eventId)) return 'event';
  const isNew = row.refused.get(eventId) !== reason;
  if (row.reason !== reason) Object.assign(row, { reason, alike: 0 });
  if (isNew) row.alike += 1;
  row.refused.set(eventId, reason);
  dropOldest(row.refused, HELD_MAX);
  if (nowMs - row.takenAtMs <= TAKEN_RECENTLY_MS) {
    if (row.dead >= DEAD_IN_A_ROW_MAX) return 'unclear';
    row.dead += 1;
    return 'event';
  }
  if (row.alike < REFUSED_ALIKE_MIN) return 'open';
  row.again = isNew ? 0 : row.again + 1;
  return row.again % REFUSED_ALIKE_MIN === 0 ? 'destination' : 'again';
}
