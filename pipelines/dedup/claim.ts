import { hash } from 'node:crypto';
import { StoredDataError } from '#pipelines/stage.ts';
import type { SourcePosition } from '#schemas/event.ts';

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
export function passes(claim: DedupKey, holder: string | null): boolean {
  return holder === null || holder === claim.coordinate;
}
