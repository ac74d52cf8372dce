// Deduplication: the first right to an event id, and what copies leave behind.

import { hash } from 'node:crypto';
import { StoredDataError } from '#pipelines/stage.ts';
import type { SourcePosition } from '#schemas/event.ts';
import { decodeEvent, type EncodedEvent } from '#schemas/event_batch.ts';
import type { Duplicate } from '#schemas/records.ts';

/**
 * First right to an event id. The id (with its site) becomes a digest of 88 bits and more: `bucket` says in which packed
 * hash the claim lies, `field` where in it. Two ids of one site meeting in a digest: below 1 in 10 million for 8 days
 * of 10,000 events a second.
 */
export interface DedupKey {
  bucket: string;
  field: string;
  /** The event's own coordinate, in the shortest text: a claim found with it was made by this very event before a crash. */
  coordinate: string;
}

/** A claim of an event that passed, to be made again. */
export interface StoredKey extends DedupKey {
  /** When it was made or a little later; milliseconds since 1970 UTC. */
  claimedAtMs: number;
}

const FIELD_CHARS = 12;
const RADIX = 36;

/** `bucketChars` base64url characters choose the bucket: 3 make 262,144 of them. */
export function dedupKey(siteId: string, eventId: string, coordinate: SourcePosition, bucketChars: number): DedupKey {
  const { partition, offset, index } = coordinate;
  const digest = hash('sha256', `${siteId}\n${eventId}`, 'base64url');
  return {
    bucket: digest.slice(0, bucketChars),
    field: digest.slice(bucketChars, bucketChars + FIELD_CHARS),
    coordinate: `${partition.toString(RADIX)}:${offset.toString(RADIX)}:${index.toString(RADIX)}`,
  };
}

/** The coordinate that a claim's text names. */
export function positionOfKey(text: string): SourcePosition {
  if (!/^[0-9a-z]+:[0-9a-z]+:[0-9a-z]+$/.test(text)) throw new StoredDataError('a claim names no coordinate');
  const [partition, offset, index] = text.split(':').map((part) => Number.parseInt(part, RADIX)) as [
    number,
    number,
    number,
  ];
  return { partition, offset, index };
}

/** Where claims are kept. Throws when it cannot be said who claimed. */
export interface DedupStore {
  /** For each claim, in order: null where it is new and now ours, else the coordinate that holds it. */
  claim(claims: readonly DedupKey[]): Promise<(string | null)[]>;
}

/** Whether the event that made this claim passes, given what the store answered. */
function passes(claim: DedupKey, holder: string | null): boolean {
  return holder === null || holder === claim.coordinate;
}

/** An event of events.raw with its coordinate: the place it stands in, or stood in when it was first taken. */
export interface RawEntry {
  view: EncodedEvent;
  coordinate: SourcePosition;
  /** Of the record it stands in now. */
  recordOffset: number;
}

/** An event whose id was claimed before, and the coordinate of the event that holds the claim. */
export interface DroppedEvent {
  entry: RawEntry;
  first: SourcePosition;
}

export interface Deduplicated {
  passed: RawEntry[];
  dropped: DroppedEvent[];
}

/** Lets the first event of each id pass. The same input gives the same output however often it is run. */
export async function deduplicate(
  entries: readonly RawEntry[],
  store: DedupStore,
  bucketChars: number,
): Promise<Deduplicated> {
  const claims = entries.map(({ view, coordinate }) => dedupKey(view.siteId, view.eventId, coordinate, bucketChars));
  const holders = claims.length === 0 ? [] : await store.claim(claims);
  const passed = entries.filter((_, index) => passes(claims[index] as DedupKey, holders[index] ?? null));
  return { passed, dropped: passed.length === entries.length ? [] : droppedOf(entries, claims, holders) };
}

function droppedOf(
  entries: readonly RawEntry[],
  claims: readonly DedupKey[],
  holders: readonly (string | null)[],
): DroppedEvent[] {
  return entries.flatMap((entry, index) => {
    const holder = holders[index] ?? null;
    if (holder === null || passes(claims[index] as DedupKey, holder)) return [];
    return [{ entry, first: positionOfKey(holder) }];
  });
}

/**
 * The claims of the events that one record of events.unique holds: each passed with the coordinate that it carries.
 * An event without one was not written by dedup and claims nothing.
 */
export function storedKeys(views: readonly EncodedEvent[], bucketChars: number, claimedAtMs: number): StoredKey[] {
  return views.flatMap(({ siteId, eventId, coordinate }) =>
    coordinate === null ? [] : [{ ...dedupKey(siteId, eventId, coordinate, bucketChars), claimedAtMs }],
  );
}

/** Copies of one event that a transaction lists; what is beyond them is counted with the last. */
const LISTED_MAX = 5;

/** What is recorded of events that were dropped, in their order: of a storm of one event no more than a few copies. */
export function duplicatesOf(dropped: readonly DroppedEvent[]): Duplicate[] {
  const duplicates: Duplicate[] = [];
  const byEvent = new Map<string, { listed: number; last: Duplicate }>();
  for (const one of dropped) {
    const { siteId, eventId } = one.entry.view;
    const name = `${siteId}\n${eventId}`;
    const known = byEvent.get(name);
    if (known !== undefined && known.listed === LISTED_MAX) {
      known.last.times += 1;
      continue;
    }
    const last = duplicateOf(one);
    duplicates.push(last);
    byEvent.set(name, { listed: (known?.listed ?? 0) + 1, last });
  }
  return duplicates;
}

/** Name and key of an event, behind its head; null too where the rest of a copy is broken, which is dropped all the same. */
function nameAndKeyOf(eventBytes: Buffer): Pick<Duplicate, 'event' | 'key_id'> {
  try {
    const { event, key_id = null } = decodeEvent(eventBytes);
    return { event, key_id };
  } catch {
    return { event: null, key_id: null };
  }
}

function duplicateOf({ entry: { view, coordinate }, first }: DroppedEvent): Duplicate {
  return {
    site_id: view.siteId,
    event_id: view.eventId,
    received_at: view.receivedAtMs,
    ...nameAndKeyOf(view.eventBytes),
    raw_partition: coordinate.partition,
    raw_offset: coordinate.offset,
    raw_index: coordinate.index,
    first_partition: first.partition,
    first_offset: first.offset,
    first_index: first.index,
    times: 1,
  };
}
