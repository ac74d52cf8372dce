/** Action sources; `website` is the default for browser events. */
export const ACTION_SOURCES = ['website', 'physical_store', 'phone_call', 'chat', 'email', 'system_generated'] as const;
export type ActionSource = (typeof ACTION_SOURCES)[number];
export type SiteMode = 'online' | 'offline';
export type Caller = 'browser' | 'server';

/** Where an event stands in events.raw: it travels with the event for life. */
export interface SourcePosition {
  partition: number;
  offset: number;
  index: number;
}

/**
 * SHA-256 in lower-case hex of normalised identifiers. A variant that is null while its base is set
 * equals its base (except phone_digits, which is set whenever phone is).
 */
export interface Identifiers {
  email: string | null;
  email_google: string | null;
  email_stripped: string | null;
  phone: string | null;
  phone_digits: string | null;
  first_name: string | null;
  first_name_google: string | null;
  last_name: string | null;
  last_name_google: string | null;
  external_id: string | null;
}

export interface Person {
  person_id: string;
  identifiers: Identifiers | null;
}

/** One accepted event, as schemas/event_batch.avsc defines it. Times are milliseconds since 1970 UTC. */
export interface Event {
  site_id: string;
  event_id: string;
  distinct_id: string;
  received_at: number;
  event: string;
  timestamp: number;
  original_timestamp: string | null;
  mode: SiteMode;
  action_source: ActionSource;
  caller: Caller;
  identify: boolean;
  identifiers: Identifiers | null;
  city: string | null;
  state: string | null;
  zip: string | null;
  country: string | null;
  client_ip: string | null;
  client_user_agent: string | null;
  value: number | null;
  currency: string | null;
  order_id: string | null;
  /** A JSON object without raw e-mail, phone or names. */
  properties: string;
  /** Another id of the visitor, where the event says that the two are one. */
  previous_distinct_id: string | null;
  /** Further addresses, numbers and forms of the same person, for destinations' matching; they join nobody. */
  further_identifiers?: readonly Identifiers[];
  /** The key it was accepted with, by its id; null or absent where that was not kept. */
  key_id?: string | null;
}

/** An event with what the stages have attached to it. */
export interface EventEntry {
  coordinate: SourcePosition | null;
  person: Person | null;
  event: Event;
}
