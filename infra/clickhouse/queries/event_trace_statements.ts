import { FIRST_ROW } from './conditions.ts';
import { type Binder, createBinder, type Statement } from './statement.ts';

/** Rows of one event at the most; more than one where it was stored again after its claim was forgotten. */
const STORED_MAX = 10;
/** Of each destination, the newest. */
const ATTEMPTS_MAX = 100;
const DUPLICATES_MAX = 1_000;
const IDENTIFIED_MAX = 20;

const STORED = `event, toUnixTimestamp64Milli(timestamp) AS happened, toUnixTimestamp64Milli(received_at) AS received,
  original_timestamp, distinct_id, arrived_person_id AS arrived_person, person_id AS person, mode, action_source, caller,
  identify, email_sha256, phone_hmac, first_name_sha256, last_name_sha256, external_id_sha256, city, state, zip, country,
  client_ip, client_user_agent, value, currency, order_id, properties, raw_partition, raw_offset, raw_index, key_id`;

/** The statement of what is stored of an event, the row that counts first. Rows: StoredEventRow. */
export function storedEventStatement(siteId: string, eventId: string): Statement {
  const binder = createBinder();
  return binder.statement(`SELECT ${STORED} FROM event_rows WHERE ${isEvent(siteId, eventId, binder)}
ORDER BY ${FIRST_ROW} LIMIT 1 BY raw_partition, raw_offset, raw_index LIMIT ${STORED_MAX}`);
}

/** The statement of the attempts to deliver an event, the newest of a destination first. Rows: AttemptRow. */
export function attemptsStatement(siteId: string, eventId: string): Statement {
  const binder = createBinder();
  return binder.statement(`SELECT destination, attempt, toUnixTimestamp64Milli(attempted_at) AS attempted,
  toUnixTimestamp64Milli(received_at) AS received, outcome, reason, took_ms, answer_status, answer
FROM delivery_outcomes WHERE ${isEvent(siteId, eventId, binder)}
ORDER BY destination, attempted_at DESC, attempt DESC LIMIT ${ATTEMPTS_MAX} BY destination`);
}

/** The statement of the copies of an event that dedup dropped, in their order. Rows: DuplicateRow. */
export function duplicatesStatement(siteId: string, eventId: string): Statement {
  const binder = createBinder();
  return binder.statement(`SELECT toUnixTimestamp64Milli(received_at) AS received, event, key_id, times,
  raw_partition, raw_offset, raw_index
FROM duplicates WHERE ${isEvent(siteId, eventId, binder)}
ORDER BY received_at, raw_partition, raw_offset, raw_index
LIMIT 1 BY raw_partition, raw_offset, raw_index LIMIT ${DUPLICATES_MAX}`);
}

/** The index by_event_id finds it, and in the table of duplicates the sort key. */
function isEvent(siteId: string, eventId: string, { bind }: Binder): string {
  return `site_id = ${bind(siteId, 'String')} AND event_id = ${bind(eventId, 'String')}`;
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
  toUnixTimestamp64Milli(min(received_at)) AS since, argMin(event_id, received_at) AS by_event
FROM (
  SELECT received_at, event_id,
    arrayJoin([('email', email_sha256), ('phone', phone_hmac), ('external_id', external_id_sha256)]) AS named
  FROM event_rows
  WHERE site_id = ${bind(siteId, 'String')} AND distinct_id = ${bind(distinctId, 'String')}
    AND identify AND mode = 'online')
WHERE named.2 != ''
GROUP BY named ORDER BY since, identifier LIMIT ${IDENTIFIED_MAX}`);
}
