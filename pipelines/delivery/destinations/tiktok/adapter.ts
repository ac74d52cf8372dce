import { type Static, Type } from 'typebox';
import type {
  Adapter,
  Answer,
  EventVerdict,
  HttpRequest,
  RequestContext,
  SerializedEvent,
  Verdict,
} from '#pipelines/delivery/contract.ts';
import {
  addressOf,
  classifyAnswer,
  credentialsBroken,
  DELIVERED,
  dead,
  doubtful,
  joined,
  postJson,
  retry,
  split,
  throttle,
} from '#pipelines/delivery/platform_http.ts';
import { isRestricted } from '#pipelines/events/consent.ts';
import {
  type CanonicalName,
  firstId,
  firstText,
  isRecord,
  type Properties,
  pageReferrer,
  pageUrl,
  platformName,
  textOrParameter,
} from '#pipelines/events/vocabulary.ts';
import { countryCode } from '#pipelines/privacy/countries.ts';
import type { Event, EventEntry, Identifiers } from '#schemas/event.ts';
import type { MapContext, MapResult } from '../../contract.ts';
import { commerceOf, deadlineOfAge, happenedAtS, type Item } from '../../event_fields.ts';
import { clientAddress, clientUserAgent, everyHash, hashedPlace, isKnownByDevice, plainPlace } from '../../matching.ts';
import { baseUrlField, listOrNull, oneOrList, present, presentOrNull } from '../../platform_http.ts';
import { choiceField, eventNamesField, secretField, textField } from '../../setting_fields.ts';

const DEFAULT_BASE_URL = 'https://business-api.tiktok.com';

const TIKTOK_SCHEMA = Type.Object({
  pixel_code: textField({
    title: 'Pixel code',
    description: 'Of the website, shown in Events Manager.',
    pattern: '^[A-Z0-9]{10,30}$',
  }),
  access_token: secretField({
    title: 'Access token',
    description: 'Made in Events Manager, in the settings of the pixel.',
  }),
  offline_event_set_id: Type.Optional(
    textField({
      title: 'Offline event set id',
      description:
        'Takes events of shops, phone, chat, email and back offices; without it the last go to the pixel, others are skipped.',
      pattern: '^\\d{5,30}$',
    }),
  ),
  crm_event_set_id: Type.Optional(
    textField({
      title: 'CRM event set id',
      description: 'Takes back-office events that carry a lead_id; without it they go to the offline event set.',
      pattern: '^\\d{5,30}$',
    }),
  ),
  limited_data_use: choiceField(['no', 'yes'], {
    title: 'Limited data use',
    description: 'What is declared where an event says nothing itself.',
    default: 'no',
  }),
  test_event_code: Type.Optional(
    textField({
      title: 'Test event code',
      description: 'Shows events in the Test Events tab, one to a request: leave this empty in production.',
      pattern: '^[A-Za-z0-9_-]{1,64}$',
    }),
  ),
  event_names: Type.Optional(eventNamesField('Event names', "TikTok's names for events of yours.")),
  base_url: baseUrlField(DEFAULT_BASE_URL),
});

type TiktokSettings = Static<typeof TIKTOK_SCHEMA>;

/** TikTok's standard events; what is missing here goes as a custom event under the name it was given. */
export const STANDARD_EVENTS: Partial<Record<CanonicalName, string>> = {
  page_view: 'Pageview',
  view_item: 'ViewContent',
  view_item_list: 'ViewContent',
  search: 'Search',
  add_to_cart: 'AddToCart',
  add_to_wishlist: 'AddToWishlist',
  begin_checkout: 'InitiateCheckout',
  add_payment_info: 'AddPaymentInfo',
  purchase: 'Purchase',
  generate_lead: 'Lead',
  sign_up: 'CompleteRegistration',
  subscribe: 'Subscribe',
  start_trial: 'StartTrial',
  contact: 'Contact',
  schedule: 'Schedule',
  find_location: 'FindLocation',
  customize_product: 'CustomizeProduct',
  download: 'Download',
  submit_application: 'SubmitApplication',
};

const content = (item: Item): object =>
  present({
    content_id: item.id,
    content_name: item.name,
    content_category: item.category,
    brand: item.brand,
    price: item.price,
    quantity: item.quantity ?? 1,
  });

function eventProperties(event: Event, properties: Properties): Record<string, unknown> | null {
  const commerce = commerceOf(event, properties);
  return presentOrNull({
    value: commerce.value,
    currency: commerce.currency,
    order_id: commerce.orderId,
    contents: listOrNull(commerce.items.map(content)),
    content_ids: listOrNull(commerce.contentIds),
    content_type: commerce.contentType,
    num_items: commerce.itemCount,
    search_string: commerce.searchTerm,
    description: firstText(properties, ['description']),
    shop_id: firstText(properties, ['shop_id']),
  });
}

const leadOf = (properties: Properties): object | null =>
  presentOrNull({
    lead_id: firstText(properties, ['lead_id']),
    lead_event_source: firstText(properties, ['lead_event_source']),
  });

/**
 * An event in the form of the Events API, or why it is not sent: `missing_event_source_id` (an offline event where the site
 * has no event set for it), `too_old` (for the pixel), `insufficient_user_data`, and `missing_value` or `missing_currency`
 * for a purchase.
 */
function mapEvent(entry: EventEntry, context: MapContext<TiktokSettings>): MapResult {
  const { event } = entry;
  const { settings, properties, choices } = context;
  const source = sourceOf(event, settings, properties);
  if (source === null) return { kind: 'skip', reason: 'missing_event_source_id' };
  if (isTooOldFor(source, event, context.nowMs)) return { kind: 'skip', reason: 'too_old' };
  const name = context.mappedEventName ?? platformName(context.name, STANDARD_EVENTS);
  const user = userOf(event, context);
  if (!isMatchable(user, event)) return { kind: 'skip', reason: 'insufficient_user_data' };
  const bought = eventProperties(event, properties);
  if (name === 'Purchase' && bought?.['value'] === undefined) return { kind: 'skip', reason: 'missing_value' };
  if (name === 'Purchase' && bought?.['currency'] === undefined) return { kind: 'skip', reason: 'missing_currency' };
  const form = present({
    event: name,
    event_time: happenedAtS(event),
    event_id: context.dedupId,
    user,
    page:
      source.kind === 'web' ? presentOrNull({ url: pageUrl(properties), referrer: pageReferrer(properties) }) : null,
    properties: bought,
    lead: source.kind === 'crm' ? leadOf(properties) : null,
    limited_data_use: isRestricted(choices) || (choices.limitedDataUse === null && settings.limited_data_use === 'yes'),
  });
  return { kind: 'mapped', form, group: groupOf(source) };
}

/** Lower case, letters and digits only, as TikTok takes places. */
function folded(text: string | null): string | null {
  const deadLetters =
    plainPlace(text)
      ?.normalize('NFC')
      .toLowerCase()
      .replace(/[^\p{L}\p{M}\p{N}]/gu, '') ?? '';
  return deadLetters === '' ? null : deadLetters;
}

/** Keys by which TikTok can match an event to a person; one of them is needed. */
const MATCHING = ['email', 'phone', 'external_id', 'ttclid', 'ttp'];

const isMatchable = (user: Record<string, unknown>, event: Event): boolean =>
  MATCHING.some((key) => key in user) || (isKnownByDevice(event) && 'ip' in user);

/**
 * The `user` of an event. E-mail, phone (E.164 with its plus), customer number, names and postal code are hashed; the
 * rest goes as it is, as the Events API's parameter page asks.
 */
function userOf(event: Event, context: MapContext<unknown>): Record<string, unknown> {
  const { site, identifiers, properties } = context;
  const every = (variant: (one: Identifiers) => string | null) => oneOrList(everyHash(context, variant));
  return present({
    email: every(({ email }) => email),
    phone: every(({ phone }) => phone),
    external_id: every(({ external_id }) => external_id),
    first_name: identifiers.first_name,
    last_name: identifiers.last_name,
    zip_code: hashedPlace(event, site).zips[0] ?? null,
    city: folded(event.city),
    state: folded(event.state),
    country: countryCode(event.country),
    ttclid: textOrParameter(properties, ['ttclid', '$ttclid'], 'ttclid'),
    ttp: firstId(properties, ['ttp', '_ttp', '$ttp']),
    ip: clientAddress(event),
    user_agent: clientUserAgent(event),
    locale: firstText(properties, ['locale', '$locale', '$browser_language', 'language']),
  });
}

/** Where TikTok files an event: a kind of source, and the id of the pixel or event set. */
interface EventSource {
  kind: 'web' | 'offline' | 'crm';
  id: string;
}

const DAY_MS = 86_400_000;
/** TikTok attributes events of a pixel up to 7 days back, those of an event set up to 28. */
const PIXEL_AGE_MAX_MS = 7 * DAY_MS;
const EVENT_SET_AGE_MAX_MS = 28 * DAY_MS;

/** How old an event may be; one of a back office may go to an event set. */
const ageMaxMs = (event: Event): number =>
  event.action_source === 'website' ? PIXEL_AGE_MAX_MS : EVENT_SET_AGE_MAX_MS;

/** Whether the source no longer takes the event, whatever another would. */
const isTooOldFor = ({ kind }: EventSource, event: Event, nowMs: number): boolean =>
  kind === 'web' && nowMs >= deadlineOfAge(event, PIXEL_AGE_MAX_MS);

/**
 * Events of the website belong to the pixel, back-office events of a lead to the CRM event set, all others to the offline
 * event set. Where the site has no such set, what a system made by itself goes to the pixel: a server's library that
 * reports a sale of the website says no more than that. Sales in shops, by telephone, chat and e-mail do not: null.
 */
function sourceOf(event: Event, settings: TiktokSettings, properties: Properties): EventSource | null {
  const pixel = { kind: 'web', id: settings.pixel_code } as const;
  if (event.action_source === 'website') return pixel;
  const isOfSystem = event.action_source === 'system_generated';
  const { crm_event_set_id: crm, offline_event_set_id: offline } = settings;
  if (isOfSystem && crm !== undefined && firstText(properties, ['lead_id']) !== null) return { kind: 'crm', id: crm };
  if (offline !== undefined) return { kind: 'offline', id: offline };
  return isOfSystem ? pixel : null;
}

/** A source as the group of a request, which holds events of one source only. */
const groupOf = ({ kind, id }: EventSource): string => `${kind}:${id}`;

function sourceOfGroup(group: string): { event_source: string; event_source_id: string } {
  const [event_source = '', event_source_id = ''] = group.split(':');
  return { event_source, event_source_id };
}

const PATH = '/open_api/v1.3/event/track/';
/** Room for the longest source, its id and a test event code. */
const ENVELOPE_BYTES_MAX = 300;

function request(pieces: readonly SerializedEvent[], context: RequestContext<TiktokSettings>): HttpRequest {
  const { settings } = context;
  const { test_event_code } = settings;
  const envelope = { ...sourceOfGroup(context.group), ...(test_event_code === undefined ? {} : { test_event_code }) };
  const forms = joined(pieces);
  const body = `${JSON.stringify(envelope).slice(0, -1)},"data":[${forms}]}`;
  const address = addressOf(context.baseUrl, settings.base_url, DEFAULT_BASE_URL);
  return postJson(address, PATH, body, { 'access-token': settings.access_token });
}

const OK = 0;
const PARTIAL_SUCCESS = 20_001;
const THROTTLED = 40_100;
/** No permission (40001), no such object (40007), token that has ended or is none (40102, 40104, 40105). */
const CREDENTIAL_CODES = new Set([40_001, 40_007, 40_102, 40_104, 40_105]);

/** Places of the events that a partial success names, from 0; null when it names none that can be read. */
function failedPlaces(data: unknown, count: number): Set<number> | null {
  const failed = isRecord(data) ? data['failed_events'] : undefined;
  if (!Array.isArray(failed) || failed.length === 0) return null;
  const places = failed.map((one: unknown) => (isRecord(one) ? one['order_in_batch'] : undefined));
  const isPlace = (place: unknown): place is number => Number.isInteger(place) && Number(place) < count;
  return places.every(isPlace) && places.every((place) => place >= 0) ? new Set(places) : null;
}

/**
 * The events of a partial success: those that failed are named by their place. Where they are not, the batch is sent
 * again in parts; TikTok drops what it has already by event and id.
 */
function classifyPartial(data: unknown, count: number, detail: string): Verdict {
  const reason = `tiktok_${PARTIAL_SUCCESS}`;
  const failed = failedPlaces(data, count);
  if (failed === null) return split(reason, detail);
  const verdicts = Array.from(
    { length: count },
    (_, place): EventVerdict => (failed.has(place) ? dead(reason, detail) : DELIVERED),
  );
  return { kind: 'per_event', verdicts };
}

function classifyCode(body: Record<string, unknown>, code: number, count: number, waitMs: number | null): Verdict {
  const requestId = body['request_id'];
  const isId = typeof requestId === 'string' && /^[A-Za-z0-9]{1,64}$/.test(requestId);
  const detail = isId ? `request_id ${requestId}` : '';
  const reason = `tiktok_${code}`;
  if (code === OK) return DELIVERED;
  if (code === PARTIAL_SUCCESS) return classifyPartial(body['data'], count, detail);
  if (code === THROTTLED) return throttle(reason, waitMs, detail);
  if (CREDENTIAL_CODES.has(code)) return credentialsBroken(reason, detail);
  // 40002 is a wrong parameter, which an unknown pixel is as well as a field of an event.
  return code >= 50_000 ? retry(reason, detail) : doubtful(reason, detail);
}

/**
 * TikTok's answers, which come with HTTP status 200 whatever they say: the body's `code` tells. Its message may repeat what
 * was sent and is left out.
 */
const classify = (answer: Answer, sentIds: readonly string[]): Verdict =>
  classifyAnswer(answer, (body, { status }, waitMs) => {
    if (isRecord(body) && typeof body['code'] === 'number')
      return classifyCode(body, body['code'], sentIds.length, waitMs);
    return status === 200 ? retry('unreadable_answer') : null;
  });

/** TikTok Events API 2.0. */
export const tiktok: Adapter<TiktokSettings> = {
  name: 'tiktok',
  title: 'TikTok Events API',
  schema: TIKTOK_SCHEMA,
  anonymousEvents: 'skip',
  advertising: 'restrictable',
  limits: ({ test_event_code }) => ({
    // Test events are shown one to a request.
    batchEventsMax: test_event_code === undefined ? 1000 : 1,
    batchBytesMax: 1_000_000,
    concurrencyMax: 4,
    timeoutMs: 10_000,
  }),
  ageMaxMs,
  map: mapEvent,
  overheadBytes: () => ENVELOPE_BYTES_MAX,
  request,
  classify,
};
