import { createHash, createHmac } from 'node:crypto';
import { type Static, Type } from 'typebox';
import type { MapContext, MapResult } from '#pipelines/delivery/contract.ts';
import { isFirstOfKind } from '#pipelines/delivery/destination_id.ts';
import { clientAddress, clientUserAgent } from '#pipelines/delivery/matching.ts';
import { present } from '#pipelines/delivery/platform_http.ts';
import { choiceField, eventNamesField, secretField, textField } from '#pipelines/delivery/setting_fields.ts';
import type { Event, EventEntry, Identifiers } from '#schemas/event.ts';

/** `whsec_` and the base64 of 24 to 64 bytes, as Standard Webhooks asks. */
const SECRET_PATTERN = '^whsec_[A-Za-z0-9+/]{32,86}={0,2}$';

export const WEBHOOK_SCHEMA = Type.Object({
  url: textField({
    title: 'Address',
    called: true,
    description: 'Where events are posted; https, and reachable from the public internet.',
    pattern: '^https?://[^\\s]+$',
  }),
  secret: secretField({
    title: 'Signing secret',
    description: 'whsec_ followed by 24 to 64 bytes in base64.',
    pattern: SECRET_PATTERN,
  }),
  secret_previous: Type.Optional(
    secretField({
      title: 'Previous signing secret',
      description: 'While a secret is being replaced, requests are signed with both.',
      pattern: SECRET_PATTERN,
    }),
  ),
  batch_events_max: textField({
    title: 'Events per request',
    description: 'From 1 to 100. With 1, the body is one event; with more, it is a list of them.',
    pattern: '^([1-9]\\d?|100)$',
    default: '1',
  }),
  event_names: Type.Optional(eventNamesField('Conversion names', 'Your own words for conversion_event.')),
  include_client_ip: choiceField(['no', 'yes'], {
    title: "Include the visitor's IP address",
    default: 'no',
  }),
});

export type WebhookSettings = Static<typeof WEBHOOK_SCHEMA>;

const isoTime = (timeMs: number): string => new Date(timeMs).toISOString();

/** SHA-256 of the normalised values: the receiver may match by them, and cannot read them. */
function hashedIdentifiers(identifiers: Identifiers): object {
  const { email, phone, first_name, last_name, external_id } = identifiers;
  return present({
    email_sha256: email,
    phone_sha256: phone,
    first_name_sha256: first_name,
    last_name_sha256: last_name,
    external_id_sha256: external_id,
  });
}

const place = ({ city, state, zip, country }: Event): object => present({ city, state, zip, country });

/** An event as the webhook's body: the Standard Webhooks form of type, timestamp and data. */
export function mapEvent(entry: EventEntry, context: MapContext<WebhookSettings>): MapResult {
  const { event, person } = entry;
  const data = present({
    event_id: event.event_id,
    event: event.event,
    conversion_event: context.mappedEventName ?? context.name.canonical,
    site_id: event.site_id,
    distinct_id: event.distinct_id,
    person_id: event.mode === 'offline' ? null : (person?.person_id ?? null),
    timestamp: isoTime(event.timestamp),
    received_at: isoTime(event.received_at),
    action_source: event.action_source,
    mode: event.mode,
    value: event.value,
    currency: event.currency,
    order_id: event.order_id,
    client_user_agent: clientUserAgent(event),
    client_ip_address: context.settings.include_client_ip === 'yes' ? clientAddress(event) : null,
    identifiers: hashedIdentifiers(context.identifiers),
    place: place(event),
    properties: context.properties,
  });
  const form = {
    type: 'event',
    id: messageId(context.destination, event.site_id, [event.event_id]),
    timestamp: isoTime(event.timestamp),
    data,
  };
  return { kind: 'mapped', form, group: '' };
}

/**
 * The signature of Standard Webhooks: HMAC-SHA256 over `id.timestamp.body`, keyed with the bytes behind `whsec_`, as
 * `v1,<base64>`.
 *
 * @param timestampS seconds since 1970 UTC.
 */
export function sign(secret: string, id: string, timestampS: number, body: string): string {
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  return `v1,${createHmac('sha256', key).update(`${id}.${timestampS}.${body}`).digest('base64')}`;
}

/**
 * The webhook-id: one for an event of a site, the same on every re-send, so that the receiver can tell a repetition. A
 * request of several events takes its id from all of theirs. What another webhook of the site sends is another message, which its
 * rules may have made different: a receiver of both has to take each.
 *
 * @param destination The webhook's id.
 */
export function messageId(destination: string, siteId: string, eventIds: readonly string[]): string {
  const of = isFirstOfKind(destination) ? [] : [{ destination }];
  const digest = createHash('sha256').update(JSON.stringify([siteId, ...eventIds, ...of]));
  return `msg_${digest.digest('base64url').slice(0, 32)}`;
}
