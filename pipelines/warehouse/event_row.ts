import type { EventEntry, Identifiers } from '#schemas/event.ts';

/** A row of event_rows as JSON; times are milliseconds since 1970 UTC. Built without a clock. */
export type EventRow = {
  site_id: string;
  event_id: string;
  distinct_id: string;
  arrived_person_id: string;
  event: string;
  timestamp: number;
  received_at: number;
  original_timestamp: string | null;
  mode: string;
  action_source: string;
  caller: string;
  identify: boolean;
  email_sha256: string;
  phone_sha256: string;
  first_name_sha256: string;
  last_name_sha256: string;
  external_id_sha256: string;
  city: string;
  state: string;
  zip: string;
  country: string;
  client_ip: string;
  client_user_agent: string;
  value: number | null;
  currency: string;
  order_id: string;
  properties: string;
  raw_partition: number;
  raw_offset: number;
  raw_index: number;
  key_id: string;
};

/** The row of an identified event. The same event gives the same row whenever it is asked. */
export function eventRow({ event, person, coordinate }: EventEntry): EventRow {
  const of = (name: keyof Identifiers): string => event.identifiers?.[name] ?? '';
  return {
    site_id: event.site_id,
    event_id: event.event_id,
    distinct_id: event.distinct_id,
    arrived_person_id: person?.person_id ?? '',
    event: event.event,
    timestamp: event.timestamp,
    received_at: event.received_at,
    original_timestamp: event.original_timestamp,
    mode: event.mode,
    action_source: event.action_source,
    caller: event.caller,
    identify: event.identify,
    email_sha256: of('email'),
    phone_sha256: of('phone'),
    first_name_sha256: of('first_name'),
    last_name_sha256: of('last_name'),
    external_id_sha256: of('external_id'),
    city: event.city ?? '',
    state: event.state ?? '',
    zip: event.zip ?? '',
    country: event.country ?? '',
    client_ip: event.client_ip ?? '',
    client_user_agent: event.client_user_agent ?? '',
    value: event.value,
    currency: event.currency ?? '',
    order_id: event.order_id ?? '',
    properties: event.properties,
    raw_partition: coordinate?.partition ?? -1,
    raw_offset: coordinate?.offset ?? -1,
    raw_index: coordinate?.index ?? -1,
    key_id: event.key_id ?? '',
  };
}
