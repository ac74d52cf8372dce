import type { Coordinate } from '#schemas/event.ts';
import type { EntryView } from '#schemas/event_batch.ts';
import { type Claim, type ClaimStore, claimOf, coordinateOfClaim, passes } from './claim.ts';

/** An event of events.raw with its coordinate: the place it stands in, or stood in when it was first taken. */
export interface RawEntry {
  view: EntryView;
  coordinate: Coordinate;
  /** Of the record it stands in now. */
  recordOffset: number;
}

/** An event whose id was claimed before, and the coordinate of the event that holds the claim. */
export interface DroppedEvent {
  entry: RawEntry;
  first: Coordinate;
}

export interface Deduplicated {
  passed: RawEntry[];
  dropped: DroppedEvent[];
}

/** Lets the first event of each id pass. The same input gives the same output however often it is run. */
export async function deduplicate(
  entries: readonly RawEntry[],
  store: ClaimStore,
  bucketChars: number,
): Promise<Deduplicated> {
  const claims = entries.map(({ view, coordinate }) => claimOf(view.siteId, view.eventId, coordinate, bucketChars));
  const holders = claims.length === 0 ? [] : await store.claim(claims);
  const passed = entries.filter((_, index) => passes(claims[index] as Claim, holders[index] ?? null));
  return { passed, dropped: passed.length === entries.length ? [] : droppedOf(entries, claims, holders) };
}

function droppedOf(
  entries: readonly RawEntry[],
  claims: readonly Claim[],
  holders: readonly (string | null)[],
): DroppedEvent[] {
  return entries.flatMap((entry, index) => {
    const holder = holders[index] ?? null;
    if (holder === null || passes(claims[index] as Claim, holder)) return [];
    return [{ entry, first: coordinateOfClaim(holder) }];
  });
}
