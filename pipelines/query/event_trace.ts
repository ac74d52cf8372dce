import { basePersonId } from '#pipelines/identity/resolve.ts';
import type { EventRow } from '#pipelines/warehouse/event_row.ts';
import { type AttemptRow, destinationTraces, type TracedDestination } from './delivery_trace.ts';
import { traceSentences } from './event_trace_sentences.ts';
import type { EventTrace } from './event_trace_shapes.ts';

type Renamed = 'site_id' | 'event_id' | 'timestamp' | 'received_at' | 'arrived_person_id';
/** A row of an event; times in milliseconds since 1970 UTC. Its key is empty where it was not kept. */
export interface StoredEventRow extends Omit<EventRow, Renamed> {
  happened: number;
  received: number;
  arrived_person: string;
  /** As known now. */
  person: string;
}

/** A copy of the event that dedup dropped. */
export interface DuplicateRow {
  received: number;
  /** Its name; empty where that was not kept. */
  event: string;
  key_id: string;
  /** How many copies it stands for. */
  times: number;
  raw_partition: number;
  raw_offset: number;
  raw_index: number;
}

/** A key of the site, as lists show it. */
export interface TracedKey {
  keyId: string;
  shownPrefix: string;
  label: string;
}

export interface LinkRow {
  person: string;
  merged_into: string;
  /** Version of the link: microseconds since 1970 UTC when it was decided. */
  newest: number;
  seen: number;
}

export interface IdentifiedRow {
  identifier: 'email' | 'phone' | 'external_id';
  /** The SHA-256; of a phone number the keyed hash. */
  digest: string;
  since: number;
  by_event: string;
}

export type TracedLetter = NonNullable<EventTrace['dead_letters']>[number];

/** Everything that is found of one event. */
export interface FoundOfEvent {
  siteId: string;
  eventId: string;
  /** The row that counts first. */
  rows: readonly StoredEventRow[];
  attempts: readonly AttemptRow[];
  duplicates: readonly DuplicateRow[];
  links: readonly LinkRow[];
  /** Null where that could not be found in time. */
  identified: readonly IdentifiedRow[] | null;
  /** Null where none was looked for. */
  letters: readonly TracedLetter[] | null;
  /** The site's destinations, by its settings. */
  destinations: readonly TracedDestination[];
  /** The site's keys, those that were revoked too. */
  keys: readonly TracedKey[];
}

/** Persons of whom the links say how the event came to the person it belongs to now. */
export function personsOf(siteId: string, { distinct_id, arrived_person }: StoredEventRow): string[] {
  return [...new Set([basePersonId(siteId, distinct_id), arrived_person])];
}

/** What became of an event; null where nothing is known of it. */
export function eventTrace(found: FoundOfEvent): EventTrace | null {
  const { siteId, eventId, rows, attempts, letters, duplicates } = found;
  const [first] = rows;
  if ([rows, attempts, letters ?? [], duplicates].every(({ length }) => length === 0)) return null;
  const receivedAtMs = first?.received ?? attempts[0]?.received ?? null;
  const known = {
    site_id: siteId,
    event_id: eventId,
    accepted: first === undefined ? null : acceptedOf(first, found.keys),
    row: first === undefined ? null : rowOf(first),
    rows_stored: rows.length,
    duplicates: duplicatesOf(duplicates, found.keys),
    person: first === undefined ? null : personOf(found, first),
    destinations: destinationTraces(attempts, found.destinations, receivedAtMs),
    dead_letters: letters === null ? null : [...letters],
  };
  return { ...known, status: traceSentences(known) };
}

function duplicatesOf(rows: readonly DuplicateRow[], keys: readonly TracedKey[]): EventTrace['duplicates'] {
  return {
    seen: rows.reduce((sum, { times }) => sum + times, 0),
    copies: rows.map((row) => ({
      received_at: row.received,
      event: row.event === '' ? null : row.event,
      key: keyOf(row.key_id, keys),
      coordinate: coordinateOf(row),
      times: row.times,
    })),
  };
}

function acceptedOf(row: StoredEventRow, keys: readonly TracedKey[]): NonNullable<EventTrace['accepted']> {
  return {
    received_at: row.received,
    caller: row.caller,
    key: keyOf(row.key_id, keys),
    coordinate: coordinateOf(row),
  };
}

const coordinateOf = (row: Pick<StoredEventRow, 'raw_partition' | 'raw_offset' | 'raw_index'>) => ({
  partition: row.raw_partition,
  offset: row.raw_offset,
  index: row.raw_index,
});

function keyOf(keyId: string, keys: readonly TracedKey[]): NonNullable<EventTrace['accepted']>['key'] {
  if (keyId === '') return null;
  const known = keys.find((key) => key.keyId === keyId);
  return { key_id: keyId, shown_prefix: known?.shownPrefix ?? null, label: known?.label ?? null };
}

const DIGEST_BEGIN_CHARACTERS = 8;
const beginOf = (digest: string): string => digest.slice(0, DIGEST_BEGIN_CHARACTERS);

function rowOf(row: StoredEventRow): NonNullable<EventTrace['row']> {
  const { happened, received: _received, arrived_person: _arrived, person: _person, caller: _caller, ...rest } = row;
  const { raw_partition: _partition, raw_offset: _offset, raw_index: _index, key_id: _key, ...fields } = rest;
  const { email_sha256, phone_hmac, first_name_sha256, last_name_sha256, external_id_sha256, ...plain } = fields;
  const digests = {
    email: email_sha256,
    phone: phone_hmac,
    first_name: first_name_sha256,
    last_name: last_name_sha256,
    external_id: external_id_sha256,
  };
  const given = Object.entries(digests).filter(([, digest]) => digest !== '');
  return {
    ...plain,
    timestamp: happened,
    identifiers: Object.fromEntries(given.map(([name, digest]) => [name, beginOf(digest)])),
    properties: JSON.parse(row.properties) as Record<string, unknown>,
  };
}

const MICROSECONDS = 1_000;

function personOf({ siteId, links, identified }: FoundOfEvent, row: StoredEventRow): NonNullable<EventTrace['person']> {
  return {
    person_id: row.person,
    arrived_person_id: row.arrived_person,
    distinct_person_id: basePersonId(siteId, row.distinct_id),
    links: links
      .filter(({ person, merged_into }) => person !== merged_into)
      .map(({ person, merged_into, newest, seen }) => ({
        person_id: person,
        target: merged_into,
        since: Math.floor(newest / MICROSECONDS),
        first_seen: seen,
      })),
    identified_by:
      identified?.map(({ identifier, digest, since, by_event }) => ({
        identifier,
        digest_begin: beginOf(digest),
        since,
        event_id: by_event,
      })) ?? null,
  };
}
