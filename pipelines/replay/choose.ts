import type { EntryView } from '#schemas/event_batch.ts';
import type { Replay } from '#schemas/setting.ts';
import { NO_COUNTS, type ReadCounts } from './progress.ts';

/**
 * What is known of an event at the destination: it has it, it waits on a lane for another attempt, it was skipped for a reason
 * that may hold again, or none of these.
 */
export type Known = 'delivered' | 'pending' | 'skipped' | 'open';

/** Where the ledger of outcomes names an event: its place on events.raw. */
export function placeOf({ coordinate }: EntryView): string | null {
  return coordinate === null ? null : `${coordinate.partition}/${coordinate.offset}/${coordinate.index}`;
}

/** Whether a replay is about an event's site at all. */
export function isMeant(replay: Replay, siteId: string, hasDestination: (siteId: string) => boolean): boolean {
  return (replay.site_id === null || replay.site_id === siteId) && hasDestination(siteId);
}

export interface Choice {
  chosen: EntryView[];
  counts: ReadCounts;
}

/**
 * Of the events a replay is about, those to be sent: neither delivered nor waiting on a lane, or all of them where it is
 * forced. An event without a place on events.raw is in no ledger and goes.
 */
export function choose(views: readonly EntryView[], force: boolean, known: ReadonlyMap<string, Known>): Choice {
  const counts: ReadCounts = { ...NO_COUNTS, seen: views.length };
  const chosen = views.filter((view) => {
    const place = placeOf(view);
    const state = force || place === null ? 'open' : (known.get(place) ?? 'open');
    if (state === 'delivered') counts.delivered++;
    if (state === 'pending') counts.pending++;
    if (state === 'skipped') counts.skipped_before++;
    return state === 'open' || state === 'skipped';
  });
  counts.chosen = chosen.length;
  return { chosen, counts };
}
