// What a caller says of an event, and the JSON that is sent of it.
import type { TrackCode } from './problems.ts';

/** The conversions that the service and the ad platforms know by name (GA4's names). */
export type ConversionName =
  | 'page_view'
  | 'view_item'
  | 'view_item_list'
  | 'search'
  | 'add_to_cart'
  | 'add_to_wishlist'
  | 'begin_checkout'
  | 'add_payment_info'
  | 'purchase'
  | 'refund'
  | 'generate_lead'
  | 'sign_up'
  | 'subscribe'
  | 'start_trial'
  | 'contact'
  | 'schedule'
  | 'find_location'
  | 'customize_product'
  | 'download'
  | 'donate'
  | 'submit_application';

/** Any name; editors suggest the known ones. */
export type EventName = ConversionName | (string & Record<never, never>);

/** Where a conversion happened that no browser saw. */
export type OfflineSource = 'physical_store' | 'phone_call' | 'chat' | 'email' | 'system_generated';
export type ActionSource = OfflineSource | 'website';

const OFFLINE_SOURCES: ReadonlySet<string> = new Set<OfflineSource>([
  'physical_store',
  'phone_call',
  'chat',
  'email',
  'system_generated',
]);

export interface Item {
  item_id?: string | undefined;
  item_name?: string | undefined;
  item_brand?: string | undefined;
  item_category?: string | undefined;
  price?: number | undefined;
  quantity?: number | undefined;
  // biome-ignore lint/suspicious/noExplicitAny: an interface of the caller's is assignable to this, and not to `unknown`.
  [name: string]: any;
}

/** Properties that the service reads, and any others. They are sent under these names. */
export interface Properties {
  /** Amount of a conversion, in `currency`. */
  value?: number | undefined;
  /** ISO 4217, such as EUR. */
  currency?: string | undefined;
  order_id?: string | undefined;
  items?: readonly Item[] | undefined;
  /** Hashed by the service; never stored as it is. */
  email?: string | undefined;
  /** Hashed by the service; never stored as it is. */
  phone?: string | undefined;
  first_name?: string | undefined;
  last_name?: string | undefined;
  city?: string | undefined;
  zip?: string | undefined;
  country?: string | undefined;
  /** The customer's number in your own system. */
  external_id?: string | undefined;
  /** The shopper's address, not the server's. */
  client_ip_address?: string | undefined;
  client_user_agent?: string | undefined;
  $action_source?: ActionSource | undefined;
  // biome-ignore lint/suspicious/noExplicitAny: an interface of the caller's is assignable to this, and not to `unknown`.
  [name: string]: any;
}

/** Whose device a server acts for; `fromRequest` reads it from a request. */
export interface Shopper {
  /** The visitor id of the browser tag, from the cookie `svc_did`. */
  distinctId?: string | undefined;
  ip?: string | undefined;
  userAgent?: string | undefined;
}

export interface EventInput {
  event: EventName;
  /**
   * The event's id, 1 to 200 characters: an event of the same id counts once, whoever reports it. A UUIDv7 is made where
   * it is left out.
   */
  uuid?: string | undefined;
  /** The visitor or user, 1 to 200 characters. */
  distinctId?: string | undefined;
  /** When it happened; now, where it is left out. A number is milliseconds since 1970. */
  timestamp?: Date | string | number | undefined;
  properties?: Properties | undefined;
  /** Fills in distinct id, address and user agent where the event does not say them itself. */
  shopper?: Shopper | undefined;
}

export interface OfflineEventInput extends EventInput {
  actionSource: OfflineSource;
}

export interface PersonInput extends Omit<EventInput, 'event' | 'distinctId'> {
  /** The user. */
  distinctId: string;
  /** The id that the user had before, such as the browser's; that of `shopper` where it is left out. */
  anonymousId?: string | undefined;
}

/** An event as it is sent. */
export interface SentEvent {
  event: string;
  uuid: string;
  distinct_id?: string;
  /** ISO 8601, UTC. */
  timestamp: string;
  properties?: Record<string, unknown>;
}

/** One event, written once, so that a repetition is the same. */
export interface Entry {
  readonly uuid: string;
  readonly json: string;
  /** Of `json` in UTF-8. */
  readonly bytes: number;
}

export type Written = { ok: true; entry: Entry } | { ok: false; code: TrackCode };

/** A limit of the service, for the whole body. */
export const BODY_BYTES_MAX = 256 * 1024;
/** What a body has beside its events, with room to spare. */
export const ENVELOPE_BYTES = 64;
const ID_CHARACTERS_MAX = 200;

const encoder = new TextEncoder();

/** An event as it goes out and into the journal. */
export function entryOf(uuid: string, json: string): Entry {
  return { uuid, json, bytes: encoder.encode(json).length };
}

/** The event that an entry was written from. */
export function readEntry({ json }: Entry): SentEvent {
  return JSON.parse(json) as SentEvent;
}

const FIELDS: ReadonlySet<string> = new Set(['event', 'uuid', 'distinctId', 'timestamp', 'properties', 'shopper']);

/** Checks an event and writes it. `null` is nothing, as databases have it. */
export function writeEvent(input: EventInput, nowMs: number, newUuid: () => string): Written {
  if (!isObject(input)) return refuse('event_invalid');
  // An amount beside the properties would be lost, and nobody would know.
  if (Object.keys(input).some((name) => !FIELDS.has(name))) return refuse('event_field_unknown');
  const { event, shopper } = input;
  const properties = input.properties ?? undefined;
  const uuid = input.uuid ?? newUuid();
  if (!isShortText(event)) return refuse('event_name_invalid');
  if (!isShortText(uuid)) return refuse('uuid_invalid');
  const distinctId = input.distinctId ?? shopper?.distinctId ?? undefined;
  if (distinctId !== undefined && !isShortText(distinctId)) return refuse('distinct_id_invalid');
  const timestamp = isoTime(input.timestamp ?? nowMs);
  if (timestamp === null) return refuse('timestamp_invalid');
  if (properties !== undefined && !isObject(properties)) return refuse('properties_invalid');
  return serialise({ event, uuid, distinct_id: distinctId, timestamp }, properties, shopper);
}

/** The same of an offline conversion. */
export function writeOffline(input: OfflineEventInput, nowMs: number, newUuid: () => string): Written {
  if (!isObject(input)) return refuse('event_invalid');
  const { actionSource, ...event } = input;
  if (!OFFLINE_SOURCES.has(actionSource)) return refuse('action_source_invalid');
  return writeEvent(withProperties(event, { $action_source: actionSource }), nowMs, newUuid);
}

/** The event by which the service learns who a user is, and which id they had before. */
export function writePerson(input: PersonInput, nowMs: number, newUuid: () => string): Written {
  if (!isObject(input)) return refuse('event_invalid');
  const { anonymousId, ...person } = input;
  if (!isShortText(person.distinctId)) return refuse('distinct_id_invalid');
  const before = anonymousId ?? person.shopper?.distinctId ?? undefined;
  if (before !== undefined && !isShortText(before)) return refuse('distinct_id_invalid');
  const event: EventInput = { ...person, event: '$identify' };
  const isNew = before !== undefined && before !== person.distinctId;
  return writeEvent(isNew ? withProperties(event, { $anon_distinct_id: before }) : event, nowMs, newUuid);
}

function withProperties(input: EventInput, added: Properties): EventInput {
  const properties = input.properties ?? undefined;
  // What is no object is refused as it is, not copied into one.
  return properties !== undefined && !isObject(properties)
    ? input
    : { ...input, properties: { ...properties, ...added } };
}

type Head = Pick<SentEvent, 'event' | 'uuid' | 'timestamp'> & { distinct_id: string | undefined };

function serialise(head: Head, properties: Properties | undefined, shopper: Shopper | undefined): Written {
  // What `undefined` stands for is left out, so that it is the shopper's that counts.
  const { client_ip_address = shopper?.ip, client_user_agent = shopper?.userAgent } = properties ?? {};
  if (hasAmountOfNothing(properties)) return refuse('value_invalid');
  const json = jsonOf({ ...head, properties: { ...properties, client_ip_address, client_user_agent } });
  const entry = entryOf(head.uuid, json);
  return entry.bytes > BODY_BYTES_MAX - ENVELOPE_BYTES ? refuse('event_too_large') : { ok: true, entry };
}

/** Integers of databases: as numbers, or where these hold no more digits as text. Asked for only where one is. */
const writeBigInt = (_name: string, value: unknown): unknown =>
  typeof value !== 'bigint' ? value : Number.isSafeInteger(Number(value)) ? Number(value) : String(value);

function jsonOf(event: object): string {
  try {
    return JSON.stringify(event);
  } catch {
    return JSON.stringify(event, writeBigInt);
  }
}

/** NaN and the infinities: JSON would make null of them, and the conversion would be one without an amount. */
function hasAmountOfNothing(properties: Properties | undefined): boolean {
  const value: unknown = properties?.value;
  return typeof value === 'number' && !Number.isFinite(value);
}

/** JavaScript reads more than ISO 8601, and the service does not. */
const ISO_DATE = /^\d{4}-\d{2}-\d{2}(?:[T ][\d:.,]{4,20}(?:Z|[+-][\d:]{2,5})?)?$/i;

function isoTime(time: Date | string | number): string | null {
  if (typeof time === 'string') return ISO_DATE.test(time) && !Number.isNaN(Date.parse(time)) ? time : null;
  const date = typeof time === 'number' ? new Date(time) : time;
  return date instanceof Date && !Number.isNaN(date.getTime()) ? date.toISOString() : null;
}

function isShortText(value: unknown): value is string {
  return (
    typeof value === 'string' && value.trim() !== '' && value.length <= ID_CHARACTERS_MAX && !/\p{Cc}/u.test(value)
  );
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function refuse(code: TrackCode): Written {
  return { ok: false, code };
}
