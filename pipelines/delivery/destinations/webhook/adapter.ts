import { createHash, createHmac } from 'node:crypto';
import { type Static, Type } from 'typebox';
import type {
  Adapter,
  Answer,
  ErasedPerson,
  HttpRequest,
  Limits,
  RequestContext,
  SerializedEvent,
  Verdict,
} from '#pipelines/delivery/contract.ts';
import {
  credentialsBroken,
  DELIVERED,
  doubtful,
  joined,
  retry,
  retryAfterMs,
  split,
  throttle,
} from '#pipelines/delivery/platform_http.ts';
import type { Event, EventEntry, Identifiers } from '#schemas/event.ts';
import type { MapContext, MapResult } from '../../contract.ts';
import { isFirstOfKind } from '../../destination_id.ts';
import { clientAddress, clientUserAgent } from '../../matching.ts';
import { present } from '../../platform_http.ts';
import { choiceField, eventNamesField, secretField, textField } from '../../setting_fields.ts';

/** `whsec_` and the base64 of 24 to 64 bytes, as Standard Webhooks asks. */
const SECRET_PATTERN = '^whsec_[A-Za-z0-9+/]{32,86}={0,2}$';

const WEBHOOK_SCHEMA = Type.Object({
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
    signs: true,
  }),
  secret_previous: Type.Optional(
    secretField({
      title: 'Previous signing secret',
      description: 'While a secret is being replaced, requests are signed with both.',
      pattern: SECRET_PATTERN,
      signs: true,
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

type WebhookSettings = Static<typeof WEBHOOK_SCHEMA>;

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
function mapEvent(entry: EventEntry, context: MapContext<WebhookSettings>): MapResult {
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

/** Standard Webhooks advises payloads below 20 kB; lists are cut there, and a larger single event still goes. */
const BODY_BYTES_ADVISED = 20_000;

const LIST_OPEN = '{"type":"events","data":[';
const LIST_CLOSE = ']}';

const isList = (settings: WebhookSettings): boolean => settings.batch_events_max !== '1';

const limits = (settings: WebhookSettings): Limits => ({
  batchEventsMax: Number(settings.batch_events_max),
  batchBytesMax: BODY_BYTES_ADVISED,
  concurrencyMax: 8,
  timeoutMs: 15_000,
});

function bodyOf(pieces: readonly SerializedEvent[], settings: WebhookSettings): string {
  const forms = joined(pieces);
  return isList(settings) ? LIST_OPEN + forms + LIST_CLOSE : forms;
}

/** An override takes the place of the host and leaves the path, so that one stand-in can tell sites apart. */
function addressOf(url: string, baseUrl: string | null): string {
  if (baseUrl === null || !URL.canParse(url)) return url;
  const { pathname, search } = new URL(url);
  return baseUrl.replace(/\/+$/, '') + pathname + search;
}

function request(pieces: readonly SerializedEvent[], context: RequestContext<WebhookSettings>): HttpRequest {
  const { settings } = context;
  const siteId = pieces[0]?.entry.event.site_id ?? '';
  const id = messageId(
    context.destination,
    siteId,
    pieces.map((piece) => piece.entry.event.event_id),
  );
  return signedRequest(id, bodyOf(pieces, settings), context);
}

type SigningContext = Pick<RequestContext<WebhookSettings>, 'destination' | 'settings' | 'baseUrl' | 'nowMs'>;

function signedRequest(id: string, body: string, { settings, baseUrl, nowMs }: SigningContext): HttpRequest {
  const timestampS = Math.floor(nowMs / 1000);
  const secrets = [settings.secret, ...(settings.secret_previous === undefined ? [] : [settings.secret_previous])];
  return {
    method: 'POST',
    url: addressOf(settings.url, baseUrl),
    headers: {
      'content-type': 'application/json',
      'webhook-id': id,
      'webhook-timestamp': String(timestampS),
      'webhook-signature': secrets.map((secret) => sign(secret, id, timestampS, body)).join(' '),
    },
    body,
    trusted: baseUrl !== null,
  };
}

/** One message of its own kind, whatever the number of events in the others. */
function erasedRequest({ notice_id, erased_at, ...data }: ErasedPerson, context: SigningContext): HttpRequest {
  const id = messageId(context.destination, data.site_id, [notice_id]);
  const message = { type: 'person.erased', id, timestamp: new Date(erased_at).toISOString(), data };
  return signedRequest(id, JSON.stringify(message), context);
}

/** Answers about the body: the same bytes would be refused again, and all others too where the receiver is at fault. */
const BODY_REFUSED = new Set([400, 422]);

/**
 * A receiver's answer. By Standard Webhooks only 2xx is a success, 410 asks to stop sending, and everything else is a
 * failure to be repeated; redirects are not followed and count as failures. An address that the guard will not connect
 * to stops the site's webhook until its settings change, as 410 does.
 */
function classify(answer: Answer): Verdict {
  if (answer.kind === 'no_answer') {
    return answer.reason === 'address_refused' ? credentialsBroken('address_refused') : retry(answer.reason);
  }
  const { status } = answer;
  const waitMs = retryAfterMs(answer.headers);
  if (status >= 200 && status <= 299) return DELIVERED;
  if (status >= 300 && status <= 399) return retry('redirected', `status ${status}`);
  if (status === 410) return credentialsBroken('gone', 'the receiver asked to stop');
  if (BODY_REFUSED.has(status)) return doubtful(`http_${status}`);
  if (status === 413) return split(`http_${status}`);
  if (status === 429 || waitMs !== null) return throttle(`http_${status}`, waitMs);
  return retry(`http_${status}`);
}

/** Signed webhook by Standard Webhooks, to an address of the customer's. */
export const webhook: Adapter<WebhookSettings> = {
  name: 'webhook',
  title: 'Signed webhook',
  schema: WEBHOOK_SCHEMA,
  anonymousEvents: 'send',
  advertising: 'none',
  limits,
  ageMaxMs: () => null,
  map: mapEvent,
  overheadBytes: () => LIST_OPEN.length + LIST_CLOSE.length,
  request,
  erasedRequest,
  classify,
};
