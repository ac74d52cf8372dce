import {
  boolean,
  double,
  type Field,
  int,
  list,
  long,
  nullable,
  optional,
  record,
  string,
  symbols,
  type ValueOf,
} from './avro.ts';

/** Action sources; `website` is the default for browser events. */
export const ACTION_SOURCES = ['website', 'physical_store', 'phone_call', 'chat', 'email', 'system_generated'] as const;

const position = record('Coordinate', 'Where an event stands in events.raw: it travels with the event for life.', {
  partition: int(),
  offset: long(),
  index: int("Place in the record's array, from 0."),
});
export type SourcePosition = ValueOf<typeof position>;

const IDENTIFIERS = {
  email: nullable(string(), 'Trimmed, lower case.'),
  email_google: nullable(string(), 'Dots and plus tag removed for gmail.com and googlemail.com; null: as email.'),
  email_stripped: nullable(string(), 'Dots and plus tag removed for every domain; null: as email.'),
  phone: nullable(string(), 'E.164 with the leading plus.'),
  phone_digits: nullable(string(), 'E.164 without the plus. Not derivable: set whenever phone is.'),
  first_name: nullable(string(), 'Lower case, no ASCII white space or punctuation.'),
  first_name_google: nullable(string(), 'Lower case, trimmed, no digits or symbols; null: as first_name.'),
  last_name: nullable(string()),
  last_name_google: nullable(string()),
  external_id: nullable(string(), 'Trimmed.'),
};
/** A variant that is null while its base is set equals its base (except phone_digits, which is set whenever phone is). */
const identifiers = record('Identifiers', 'SHA-256 in lower-case hex of normalised values.', IDENTIFIERS);
export type Identifiers = ValueOf<typeof identifiers>;
/** Their fields, in the order in which they are written. */
export const IDENTIFIER_FIELDS = Object.keys(IDENTIFIERS) as (keyof Identifiers)[];

const person = record('Person', 'Who an event belongs to.', {
  person_id: string(),
  identifiers: nullable(identifiers, "What is known of the person from all their events, for destinations' matching."),
});
export type Person = ValueOf<typeof person>;

const FURTHER = 'Further addresses, numbers and forms of the same person, to match by; they join nobody.';
const further: Field<readonly Identifiers[]> = list(identifiers, FURTHER, []);

/** The first four fields are the head that routing reads without decoding the rest; event_encoder.ts writes all in this order. */
const event = record('Event', 'One accepted event. No field holds a raw e-mail or phone.', {
  site_id: string(),
  event_id: string(),
  distinct_id: string(),
  received_at: long('Arrival at the edge, milliseconds since 1970 UTC.'),
  event: string('Event name.'),
  timestamp: long('When it happened, milliseconds since 1970 UTC.'),
  original_timestamp: nullable(string(), 'As sent, where timestamp was replaced by arrival.'),
  mode: symbols('SiteMode', ['online', 'offline']),
  action_source: symbols('ActionSource', ACTION_SOURCES),
  caller: symbols('Caller', ['browser', 'server'], 'Kind of key it came with.'),
  identify: boolean('Whether it may stitch identities.'),
  identifiers: nullable(identifiers),
  city: nullable(string()),
  state: nullable(string()),
  zip: nullable(string()),
  country: nullable(string()),
  client_ip: nullable(string()),
  client_user_agent: nullable(string()),
  value: nullable(double()),
  currency: nullable(string()),
  order_id: nullable(string()),
  properties: string('A JSON object without identifiers; value, currency and order_id stand here too, as sent.'),
  previous_distinct_id: nullable(string(), 'Another id of the visitor, where the event says that the two are one.'),
  further_identifiers: optional(further),
  key_id: optional(nullable(string(), "The key it came with: 16 characters of the key's SHA-256; null: not kept.")),
});
export type Event = ValueOf<typeof event>;
export type ActionSource = Event['action_source'];
export type SiteMode = Event['mode'];
export type Caller = Event['caller'];

const entry = record('EventEntry', 'An event with what the stages have attached to it.', {
  coordinate: nullable(position, "Null on events.raw itself, where the record's own position says it."),
  person: nullable(person, 'Attached by identity, null before it.'),
  event,
});
export type EventEntry = ValueOf<typeof entry>;

/**
 * Each event is written as an array block of its own, with the block's size, so that a reader may skip or copy it whole; any
 * Avro reader reads it as a plain array.
 */
export const eventBatch = record(
  'svc.events.EventBatch',
  'The events that one request, or one transaction of a stage, had for one partition.',
  { events: list(entry) },
);
