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
import { writeLong } from './wire.ts';

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

/** `unset`: neither the event nor its site says anything. By default: the event says nothing, and its site declares it. */
export const CONSENT_STATES = ['unset', 'granted', 'denied', 'granted_by_default', 'denied_by_default'] as const;
export type ConsentState = (typeof CONSENT_STATES)[number];
const consentState = symbols('ConsentState', CONSENT_STATES);

/** In the order in which they are written. */
export const CONSENT_TYPES = ['ad_storage', 'analytics_storage', 'ad_user_data', 'ad_personalization'] as const;

const consent = record(
  'Consent',
  "What the event says of consent by Google's consent types, or its site where it says nothing.",
  {
    ad_storage: consentState,
    analytics_storage: consentState,
    ad_user_data: consentState,
    ad_personalization: consentState,
    limited_data_use: nullable(boolean(), 'Whether its data may be used in a limited way only; null: not said.'),
    gpc: boolean('Whether the browser asked by Global Privacy Control not to sell or share.'),
  },
);
/** Never changed once it is made. */
export type Consent = Readonly<ValueOf<typeof consent>>;

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
  consent: optional(nullable(consent, 'Null: it was not kept, and stands in the properties alone.')),
  historical: optional(boolean('Of the past of a site, brought in to be measured: it goes to no destination.', false)),
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

/**
 * Writes an Event's Avro bytes by hand, in the order of schemas/event.ts: twice as fast as the schema library on
 * the edge's hot path. A test holds it byte for byte against the library.
 */

/** Order of the symbols in the schema. */
const indexOf = <S extends string>(symbols: readonly S[]) =>
  Object.fromEntries(symbols.map((name, index) => [name, index])) as Record<S, number>;
const ACTION_SOURCE_INDEX = indexOf(ACTION_SOURCES);
const CONSENT_STATE_INDEX = indexOf(CONSENT_STATES);

/** Room for numbers, branches and lengths of one event. */
const FIXED_BYTES_MAX = 512;
/** UTF-8 bytes of one UTF-16 code unit at the most. */
const BYTES_PER_UNIT_MAX = 3;

/** Bytes that are certainly enough for an event. */
export function eventBytesBound(event: Event): number {
  let units =
    event.site_id.length +
    event.event_id.length +
    event.distinct_id.length +
    event.event.length +
    event.properties.length;
  units +=
    unitsOf(event.previous_distinct_id) +
    unitsOf(event.key_id ?? null) +
    unitsOf(event.original_timestamp) +
    unitsOf(event.city) +
    unitsOf(event.state) +
    unitsOf(event.zip) +
    unitsOf(event.country);
  units +=
    unitsOf(event.client_ip) + unitsOf(event.client_user_agent) + unitsOf(event.currency) + unitsOf(event.order_id);
  if (event.identifiers !== null) units += identifierUnits(event.identifiers);
  const further = event.further_identifiers ?? [];
  for (const identifiers of further) units += identifierUnits(identifiers) + IDENTIFIER_FIELDS.length;
  return units * BYTES_PER_UNIT_MAX + FIXED_BYTES_MAX;
}

function identifierUnits(identifiers: Identifiers): number {
  let units = 0;
  for (const field of IDENTIFIER_FIELDS) units += unitsOf(identifiers[field]);
  return units;
}

function unitsOf(text: string | null): number {
  return text === null ? 0 : text.length;
}

/** Writes an event at a position of a buffer that has room for eventBytesBound; returns the position behind it. */
export function writeEvent(buffer: Buffer, start: number, event: Event): number {
  let at = writeString(buffer, start, event.site_id);
  at = writeString(buffer, at, event.event_id);
  at = writeString(buffer, at, event.distinct_id);
  at = writeLong(buffer, at, event.received_at);
  at = writeString(buffer, at, event.event);
  at = writeLong(buffer, at, event.timestamp);
  at = writeNullable(buffer, at, event.original_timestamp);
  buffer[at++] = event.mode === 'online' ? 0 : 2;
  buffer[at++] = ACTION_SOURCE_INDEX[event.action_source] * 2;
  buffer[at++] = event.caller === 'browser' ? 0 : 2;
  buffer[at++] = event.identify ? 1 : 0;
  at = writeIdentifiers(buffer, at, event.identifiers);
  at = writeNullable(buffer, at, event.city);
  at = writeNullable(buffer, at, event.state);
  at = writeNullable(buffer, at, event.zip);
  at = writeNullable(buffer, at, event.country);
  at = writeNullable(buffer, at, event.client_ip);
  at = writeNullable(buffer, at, event.client_user_agent);
  at = writeNumber(buffer, at, event.value);
  at = writeNullable(buffer, at, event.currency);
  at = writeNullable(buffer, at, event.order_id);
  at = writeString(buffer, at, event.properties);
  at = writeNullable(buffer, at, event.previous_distinct_id);
  at = writeFurther(buffer, at, event.further_identifiers ?? []);
  at = writeNullable(buffer, at, event.key_id ?? null);
  at = writeConsent(buffer, at, event.consent ?? null);
  buffer[at++] = event.historical === true ? 1 : 0;
  return at;
}

/** The state that was written last: events in a row mostly have the same. */
let lastConsent: Consent | null = null;
const CONSENT_BYTES_MAX = 8;
const lastBytes = Buffer.alloc(CONSENT_BYTES_MAX);
let lastLength = 0;

function writeConsent(buffer: Buffer, start: number, consent: Consent | null): number {
  if (consent === null) {
    buffer[start] = 0;
    return start + 1;
  }
  if (consent !== lastConsent) {
    lastLength = encodeConsent(lastBytes, consent);
    lastConsent = consent;
  }
  for (let at = 0; at < lastLength; at++) buffer[start + at] = lastBytes[at] as number;
  return start + lastLength;
}

function encodeConsent(to: Buffer, consent: Consent): number {
  let at = 0;
  to[at++] = 2;
  for (const type of CONSENT_TYPES) to[at++] = CONSENT_STATE_INDEX[consent[type]] * 2;
  if (consent.limited_data_use === null) to[at++] = 0;
  else {
    to[at++] = 2;
    to[at++] = consent.limited_data_use ? 1 : 0;
  }
  to[at++] = consent.gpc ? 1 : 0;
  return at;
}

/** One block of items, where there are any, and the end of the array. */
function writeFurther(buffer: Buffer, start: number, further: readonly Identifiers[]): number {
  let at = start;
  if (further.length > 0) at = writeLong(buffer, at, further.length);
  for (const identifiers of further) at = writeIdentifierFields(buffer, at, identifiers);
  buffer[at++] = 0;
  return at;
}

function writeIdentifiers(buffer: Buffer, start: number, identifiers: Identifiers | null): number {
  let at = start;
  if (identifiers === null) {
    buffer[at++] = 0;
    return at;
  }
  buffer[at++] = 2;
  return writeIdentifierFields(buffer, at, identifiers);
}

function writeIdentifierFields(buffer: Buffer, start: number, identifiers: Identifiers): number {
  let at = start;
  for (const field of IDENTIFIER_FIELDS) at = writeNullable(buffer, at, identifiers[field]);
  return at;
}

function writeNullable(buffer: Buffer, at: number, text: string | null): number {
  if (text === null) {
    buffer[at] = 0;
    return at + 1;
  }
  buffer[at] = 2;
  return writeString(buffer, at + 1, text);
}

function writeNumber(buffer: Buffer, at: number, value: number | null): number {
  if (value === null) {
    buffer[at] = 0;
    return at + 1;
  }
  buffer[at] = 2;
  return buffer.writeDoubleLE(value, at + 1);
}

/** Up to here a length takes one byte, and copying unit by unit beats a call out of JavaScript. */
const SHORT_UNITS_MAX = 40;

function writeString(buffer: Buffer, at: number, text: string): number {
  const units = text.length;
  if (units <= SHORT_UNITS_MAX) {
    const end = writeShortAscii(buffer, at, text, units);
    if (end !== -1) return end;
  }
  return writeLongText(buffer, at, text, units);
}

/** Lengths from here up to TWO_BYTES_MAX are written in two bytes, so that the text can be written before its length. */
const TWO_BYTES_MIN = 64;
const TWO_BYTES_MAX = 8191;

function writeLongText(buffer: Buffer, at: number, text: string, units: number): number {
  if (units >= TWO_BYTES_MIN && units * BYTES_PER_UNIT_MAX <= TWO_BYTES_MAX) {
    const bytes = buffer.write(text, at + 2, 'utf8');
    writeLong(buffer, at, bytes);
    return at + 2 + bytes;
  }
  const bytes = Buffer.byteLength(text, 'utf8');
  const start = writeLong(buffer, at, bytes);
  buffer.write(text, start, bytes, 'utf8');
  return start + bytes;
}

/** Answers -1 where a character is not ASCII; what was written is overwritten then. */
function writeShortAscii(buffer: Buffer, at: number, text: string, units: number): number {
  buffer[at] = units * 2;
  for (let index = 0; index < units; index++) {
    const unit = text.charCodeAt(index);
    if (unit > 0x7f) return -1;
    buffer[at + 1 + index] = unit;
  }
  return at + 1 + units;
}
