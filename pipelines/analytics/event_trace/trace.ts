// The trace of one event through the pipeline: what is looked up, and what is made of it.

import { basePersonId } from '#pipelines/identity/identity.ts';
import type { EventRow } from '#pipelines/warehouse/block.ts';
import { FIRST_ROW } from '../sql/event_rows.ts';

import { type Binder, createBinder, type Statement } from '../sql/statement.ts';
import { type EventTrace, traceSentences } from './answer.ts';

type Renamed = 'site_id' | 'event_id' | 'timestamp' | 'received_at' | 'arrived_person_id' | 'visit_key' | 'arrival';
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

export type TracedDeadLetter = NonNullable<EventTrace['dead_letters']>[number];

/** Everything that is found of one event. */
export interface TraceSources {
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
  deadLetters: readonly TracedDeadLetter[] | null;
  /** The site's destinations, by its settings. */
  destinations: readonly TracedDestination[];
  /** The site's keys, those that were revoked too. */
  keys: readonly TracedKey[];
}

/** Persons of whom the links say how the event came to the person it belongs to now. */
export function personHistory(siteId: string, { distinct_id, arrived_person }: StoredEventRow): string[] {
  return [...new Set([basePersonId(siteId, distinct_id), arrived_person])];
}

/** What became of an event; null where nothing is known of it. */
export function eventTrace(found: TraceSources): EventTrace | null {
  const { siteId, eventId, rows, attempts, deadLetters, duplicates } = found;
  const [first] = rows;
  if ([rows, attempts, deadLetters ?? [], duplicates].every(({ length }) => length === 0)) return null;
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
    dead_letters: deadLetters === null ? null : [...deadLetters],
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

function personOf({ siteId, links, identified }: TraceSources, row: StoredEventRow): NonNullable<EventTrace['person']> {
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

/** A row of delivery_outcomes; times in milliseconds since 1970 UTC. */
export interface AttemptRow {
  destination: string;
  attempt: number;
  attempted: number;
  /** When the event arrived. */
  received: number;
  outcome: string;
  reason: string;
  took_ms: number;
  /** 0 where there was no answer, or none was kept. */
  answer_status: number;
  answer: string;
}

/** A destination of a site as its settings have it. */
export interface TracedDestination {
  name: string;
  enabled: boolean;
  /** Events received before are not sent; null: whenever they came. Milliseconds since 1970 UTC. */
  createdAtMs: number | null;
}

type Trace = EventTrace['destinations'][number];

const STATES: Readonly<Record<string, Trace['state']>> = {
  delivered: 'delivered',
  skipped: 'skipped',
  dead: 'dead',
  diverted: 'waiting',
  paused: 'waiting',
};

/** What became of an event at each destination, by name: those with an attempt, and those of the settings. */
function destinationTraces(
  attempts: readonly AttemptRow[],
  destinations: readonly TracedDestination[],
  receivedAtMs: number | null,
): Trace[] {
  const byName = Map.groupBy(attempts, ({ destination }) => destination);
  const untried = destinations.filter(({ name }) => !byName.has(name));
  const traces = [
    ...[...byName].map(([name, made]) => attemptedTrace(name, made.toSorted(byTime))),
    ...untried.map((one) => untriedTrace(one, receivedAtMs)),
  ];
  return traces.sort((a, b) => (a.destination < b.destination ? -1 : 1));
}

const byTime = (a: AttemptRow, b: AttemptRow): number => a.attempted - b.attempted || a.attempt - b.attempt;

/** Once delivered it stays so: a replay that is not taken takes nothing back. */
function attemptedTrace(destination: string, made: readonly AttemptRow[]): Trace {
  const newest = made.at(-1);
  const isDelivered = made.some(({ outcome }) => outcome === 'delivered');
  const state = isDelivered ? 'delivered' : (STATES[newest?.outcome ?? ''] ?? 'not_attempted');
  return {
    destination,
    state,
    reason: isDelivered ? '' : (newest?.reason ?? ''),
    attempts: made.map(({ attempt, attempted, outcome, reason, took_ms, answer_status, answer }) => ({
      attempt,
      attempted_at: attempted,
      outcome,
      reason,
      took_ms,
      answer: answer_status === 0 ? null : { status: answer_status, body: answer },
    })),
  };
}

/** Of new events that these settings leave out delivery stores no outcome. */
function untriedTrace({ name, enabled, createdAtMs }: TracedDestination, receivedAtMs: number | null): Trace {
  const isEarly = receivedAtMs !== null && receivedAtMs < (createdAtMs ?? 0);
  const reason = isEarly ? 'before_destination' : enabled ? '' : 'destination_disabled';
  return { destination: name, state: 'not_attempted', reason, attempts: [] };
}

/** Rows of one event at the most; more than one where it was stored again after its claim was forgotten. */
const STORED_MAX = 10;
/** Of each destination, the newest. */
const ATTEMPTS_MAX = 100;
const DUPLICATES_MAX = 1_000;
const IDENTIFIED_MAX = 20;

const STORED = `event, toUnixTimestamp64Milli(timestamp) AS happened, toUnixTimestamp64Milli(received_at) AS received,
  original_timestamp, distinct_id, arrived_person_id AS arrived_person, person_id AS person, mode, action_source, caller,
  identify, email_sha256, phone_hmac, first_name_sha256, last_name_sha256, external_id_sha256, city, state, zip, country,
  client_ip, client_user_agent, value, currency, order_id, ad_storage, analytics_storage, ad_user_data, ad_personalization,
  consent_defaults, limited_data_use, historical, geo_country, geo_region, geo_city, browser, browser_version, os, os_version, device_type,
  language, screen_class, properties, raw_partition, raw_offset, raw_index, key_id`;

/** The statement of what is stored of an event, the row that counts first. Rows: StoredEventRow. */
export function storedEventStatement(siteId: string, eventId: string): Statement {
  const binder = createBinder();
  return binder.statement(`SELECT ${STORED} FROM event_rows WHERE ${isEvent('sent_id', siteId, eventId, binder)}
ORDER BY ${FIRST_ROW} LIMIT 1 BY raw_partition, raw_offset, raw_index LIMIT ${STORED_MAX}`);
}

/** The statement of the attempts to deliver an event, the newest of a destination first. Rows: AttemptRow. */
export function attemptsStatement(siteId: string, eventId: string): Statement {
  const binder = createBinder();
  return binder.statement(`SELECT destination, attempt, toUnixTimestamp64Milli(attempted_at) AS attempted,
  toUnixTimestamp64Milli(received_at) AS received, outcome, reason, took_ms, answer_status, answer
FROM delivery_outcomes WHERE ${isEvent('event_id', siteId, eventId, binder)}
ORDER BY destination, attempted_at DESC, attempt DESC LIMIT ${ATTEMPTS_MAX} BY destination`);
}

/** The statement of the copies of an event that dedup dropped, in their order. Rows: DuplicateRow. */
export function duplicatesStatement(siteId: string, eventId: string): Statement {
  const binder = createBinder();
  return binder.statement(`SELECT toUnixTimestamp64Milli(received_at) AS received, event, key_id, times,
  raw_partition, raw_offset, raw_index
FROM duplicates WHERE ${isEvent('event_id', siteId, eventId, binder)}
ORDER BY received_at, raw_partition, raw_offset, raw_index
LIMIT 1 BY raw_partition, raw_offset, raw_index LIMIT ${DUPLICATES_MAX}`);
}

/** An index of ids finds it, and in the table of duplicates the sort key. */
function isEvent(id: 'sent_id' | 'event_id', siteId: string, eventId: string, { bind }: Binder): string {
  return `site_id = ${bind(siteId, 'String')} AND ${id} = ${bind(eventId, 'String')}`;
}

/** The statement of who some persons are part of now. Rows: LinkRow. */
export function linksStatement(siteId: string, personIds: readonly string[]): Statement {
  const { bind, statement } = createBinder();
  return statement(`SELECT person_id AS person, argMax(target, version) AS merged_into, max(version) AS newest,
  toUnixTimestamp64Milli(argMax(first_seen, version)) AS seen
FROM person_links WHERE site_id = ${bind(siteId, 'String')} AND person_id IN ${bind(personIds, 'Array(String)')}
GROUP BY person_id`);
}

/**
 * The statement of the identifiers by which events of a distinct id said who it is, with the first event that did; the
 * oldest first. The index by_visitor finds them. Rows: IdentifiedRow.
 */
export function identifiedStatement(siteId: string, distinctId: string): Statement {
  const { bind, statement } = createBinder();
  return statement(`SELECT named.1 AS identifier, named.2 AS digest,
  toUnixTimestamp64Milli(min(received_at)) AS since, argMin(sent_id, received_at) AS by_event
FROM (
  SELECT received_at, sent_id,
    arrayJoin([('email', email_sha256), ('phone', phone_hmac), ('external_id', external_id_sha256)]) AS named
  FROM event_rows
  WHERE site_id = ${bind(siteId, 'String')} AND distinct_id = ${bind(distinctId, 'String')}
    AND identify AND mode = 'online')
WHERE named.2 != ''
GROUP BY named ORDER BY since, identifier LIMIT ${IDENTIFIED_MAX}`);
}
