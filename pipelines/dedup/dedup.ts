import type { Coordinate } from '#schemas/event.ts';
import type { EntryView } from '#schemas/event_batch.ts';
import { type Claim, type ClaimStore, claimOf, passes } from './claim.ts';

/** An event of events.raw with its coordinate: the place it stands in, or stood in when it was first taken. */
export interface RawEntry {
  view: EntryView;
  coordinate: Coordinate;
  /** Of the record it stands in now. */
  recordOffset: number;
}

export interface Deduplicated {
  passed: RawEntry[];
  duplicates: number;
}

/** Lets the first event of each id pass. The same input gives the same output however often it is run. */
export async function deduplicate(
  entries: readonly RawEntry[],
  store: ClaimStore,
  bucketChars: number,
  nowMs: number,
): Promise<Deduplicated> {
  const claims = entries.map(({ view, coordinate }) => claimOf(view.siteId, view.eventId, coordinate, bucketChars));
  const holders = claims.length === 0 ? [] : await store.claim(claims, nowMs);
  const passed = entries.filter((_, index) => passes(claims[index] as Claim, holders[index] ?? null));
  return { passed, duplicates: entries.length - passed.length };
}
