import { type Static, Type } from 'typebox';
import type {
  Adapter,
  Answer,
  HttpRequest,
  RequestContext,
  SerializedEvent,
  Verdict,
} from '#pipelines/delivery/contract.ts';
import { addressOf, classifyAnswer, joined, postJson, throttle } from '#pipelines/delivery/platform_http.ts';
import { isRecord, pageReferrer, pageUrl } from '#pipelines/events/vocabulary.ts';
import { sha256Hex } from '#pipelines/privacy/hash_identifiers.ts';
import type { EventEntry } from '#schemas/event.ts';
import type { MapContext, MapResult } from '../../contract.ts';
import { happenedAtMs } from '../../event_fields.ts';
import { clientAddress, clientUserAgent } from '../../matching.ts';
import { present, presentOrNull } from '../../platform_http.ts';
import { choiceField, eventNamesField, secretField, textField } from '../../setting_fields.ts';

/** PostHog's own clouds; the first is the default. */
const CLOUD_URLS: readonly string[] = ['https://us.i.posthog.com', 'https://eu.i.posthog.com'];

const POSTHOG_SCHEMA = Type.Object({
  api_key: secretField({ title: 'Project API key', description: 'Begins with phc_.' }),
  include_client_ip: choiceField(['yes', 'no'], {
    title: "Include the visitor's IP address",
    description: 'PostHog derives the place from it.',
    default: 'yes',
  }),
  event_names: Type.Optional(eventNamesField('Event names', "PostHog's names for events of yours.")),
  base_url: textField({
    title: 'Address',
    called: true,
    description: 'https://us.i.posthog.com, https://eu.i.posthog.com, or your own instance.',
    pattern: '^https?://[^\\s?#]+$',
    default: 'https://us.i.posthog.com',
  }),
});

type PosthogSettings = Static<typeof POSTHOG_SCHEMA>;

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** PostHog tells a repetition by a UUID; another id gives one of version 8 (RFC 9562), the same each time. */
export function uuidOf(siteId: string, eventId: string): string {
  if (UUID.test(eventId)) return eventId;
  const hex = sha256Hex(JSON.stringify([siteId, eventId]));
  const parts = [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `8${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ];
  return parts.join('-');
}

/** What is known of the person, as hashes; nothing of one who is to stay anonymous. */
function personProperties(entry: EventEntry, context: MapContext<PosthogSettings>): object {
  if (entry.event.mode === 'offline') return { $process_person_profile: false };
  const { email, phone, external_id } = context.identifiers;
  const set = presentOrNull({ email_sha256: email, phone_sha256: phone, external_id_sha256: external_id });
  return set === null ? {} : { $set: set };
}

/** An event in the form of PostHog's capture API, with its properties as they are. */
function mapEvent(entry: EventEntry, context: MapContext<PosthogSettings>): MapResult {
  const { event } = entry;
  const { properties, settings, name, mappedEventName } = context;
  const address = settings.include_client_ip === 'yes' ? clientAddress(event) : null;
  const form = {
    event: mappedEventName ?? (name.canonical === 'page_view' ? '$pageview' : name.given),
    uuid: uuidOf(event.site_id, event.event_id),
    distinct_id: event.distinct_id,
    timestamp: new Date(happenedAtMs(event)).toISOString(),
    properties: present({
      ...properties,
      $current_url: pageUrl(properties),
      $referrer: pageReferrer(properties),
      $raw_user_agent: clientUserAgent(event),
      $ip: address,
      // Without an address PostHog would take ours for the visitor's.
      $geoip_disable: address === null ? true : null,
      $insert_id: event.event_id,
      action_source: event.action_source,
      value: event.value,
      currency: event.currency,
      order_id: event.order_id,
      ...personProperties(entry, context),
    }),
  };
  return { kind: 'mapped', form, group: '' };
}

function request(pieces: readonly SerializedEvent[], context: RequestContext<PosthogSettings>): HttpRequest {
  const { api_key, base_url } = context.settings;
  const cloud = CLOUD_URLS.find((url) => url === base_url) ?? '';
  const forms = joined(pieces);
  const body = `${JSON.stringify({ api_key }).slice(0, -1)},"batch":[${forms}]}`;
  return postJson(addressOf(context.baseUrl, base_url, cloud), '/batch/', body);
}

/** A project over its quota stays so until its month ends or somebody pays. */
const QUOTA_WAIT_MS = 3_600_000;

/** PostHog's answers go by status, but that events over the project's quota are dropped with status 200. */
const classify = (answer: Answer): Verdict =>
  classifyAnswer(answer, (body, { status }) => {
    const limited = isRecord(body) && status === 200 ? body['quota_limited'] : undefined;
    return Array.isArray(limited) && limited.includes('events')
      ? throttle('posthog_quota_limited', QUOTA_WAIT_MS)
      : null;
  });

/** PostHog, by its capture API. */
export const posthog: Adapter<PosthogSettings> = {
  name: 'posthog',
  title: 'PostHog',
  schema: POSTHOG_SCHEMA,
  anonymousEvents: 'send',
  advertising: 'none',
  // PostHog takes about 20 MB; a smaller request costs less when it has to go again.
  limits: () => ({ batchEventsMax: 1000, batchBytesMax: 2_000_000, concurrencyMax: 4, timeoutMs: 15_000 }),
  ageMaxMs: () => null,
  map: mapEvent,
  overheadBytes: ({ api_key }) => Buffer.byteLength(JSON.stringify({ api_key, batch: [] })),
  request,
  classify,
};
