import { type Static, Type } from 'typebox';
import type {
  Adapter,
  Answer,
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
  envelope,
  postJson,
  retry,
  safeWord,
  takenOf,
  throttle,
} from '#pipelines/delivery/platform_http.ts';
import type { PrivacyChoices } from '#pipelines/events/consent.ts';
import {
  type CanonicalName,
  firstText,
  isRecord,
  type Properties,
  pageUrl,
  textOrParameter,
} from '#pipelines/events/vocabulary.ts';
import type { Event, EventEntry, Identifiers } from '#schemas/event.ts';
import type { MapContext, MapResult } from '../../contract.ts';
import { commerceOf, happenedAtS, type Item } from '../../event_fields.ts';
import { clientAddress, clientUserAgent, everyHash, hashedPlace, isKnownByDevice } from '../../matching.ts';
import { baseUrlField, listOrNull, present, presentOrNull } from '../../platform_http.ts';
import { eventNamesField, secretField, textField } from '../../setting_fields.ts';

const DEFAULT_BASE_URL = 'https://api.pinterest.com';

const PINTEREST_SCHEMA = Type.Object({
  ad_account_id: textField({
    title: 'Ad account id',
    description: 'Digits only; shown in Ads Manager.',
    pattern: '^\\d{5,20}$',
  }),
  access_token: secretField({
    title: 'Conversion access token',
    description: 'Made in Ads Manager under Conversions.',
  }),
  event_names: Type.Optional(
    eventNamesField('Event names', "Pinterest's names for events of yours.", 'quiz_done=lead', '[a-z][a-z_]{1,40}'),
  ),
  base_url: baseUrlField(DEFAULT_BASE_URL),
});

type PinterestSettings = Static<typeof PINTEREST_SCHEMA>;

/** Pinterest's names; any other act is its `custom`. */
const STANDARD_EVENTS: Partial<Record<CanonicalName, string>> = {
  page_view: 'page_visit',
  view_item: 'view_content',
  view_item_list: 'view_category',
  search: 'search',
  add_to_cart: 'add_to_cart',
  add_to_wishlist: 'add_to_wishlist',
  begin_checkout: 'initiate_checkout',
  add_payment_info: 'add_payment_info',
  purchase: 'checkout',
  generate_lead: 'lead',
  sign_up: 'signup',
  subscribe: 'subscribe',
  start_trial: 'start_trial',
  contact: 'contact',
  schedule: 'schedule',
  find_location: 'find_location',
  customize_product: 'customize_product',
  submit_application: 'submit_application',
};

function eventName({ name, mappedEventName }: MapContext<PinterestSettings>): string {
  return mappedEventName ?? (name.canonical === null ? undefined : STANDARD_EVENTS[name.canonical]) ?? 'custom';
}

const asList = (value: string | null): string[] | null => (value === null ? null : [value]);

/** Hashes go as lists, whatever their number. */
function userData(event: Event, context: MapContext<unknown>): Record<string, unknown> {
  const { site, identifiers, properties } = context;
  const every = (variant: (one: Identifiers) => string | null) => listOrNull(everyHash(context, variant));
  const place = hashedPlace(event, site);
  return present({
    em: every(({ email }) => email),
    ph: every(({ phone_digits }) => phone_digits),
    fn: asList(identifiers.first_name),
    ln: asList(identifiers.last_name),
    external_id: every(({ external_id }) => external_id),
    ct: asList(place.city),
    st: asList(place.state),
    zp: listOrNull(place.zips),
    country: asList(place.country),
    client_ip_address: clientAddress(event),
    client_user_agent: clientUserAgent(event),
    click_id: textOrParameter(properties, ['epik', '_epik', '$epik', 'click_id'], 'epik'),
  });
}

/** Pinterest wants an e-mail, or address and browser together. */
const isMatchable = (user: Record<string, unknown>, event: Event): boolean =>
  'em' in user || (isKnownByDevice(event) && 'client_ip_address' in user && 'client_user_agent' in user);

const asText = (value: number | null): string | null => (value === null ? null : String(value));

const content = ({ id, name, brand, category, price, quantity }: Item): object =>
  present({
    id,
    item_name: name,
    item_brand: brand,
    item_category: category,
    item_price: asText(price),
    quantity: quantity ?? 1,
  });

/** Amounts go as texts. */
function customData(event: Event, properties: Properties, choices: PrivacyChoices): object | null {
  const commerce = commerceOf(event, properties);
  return presentOrNull({
    value: asText(commerce.value),
    currency: commerce.currency,
    order_id: commerce.orderId,
    contents: listOrNull(commerce.items.map(content)),
    content_ids: listOrNull(commerce.contentIds),
    content_name: commerce.contentName,
    content_category: commerce.contentCategory,
    num_items: commerce.itemCount,
    search_string: commerce.searchTerm,
    // Pinterest's word for limited data processing.
    opt_out_type: choices.limitedDataUse === true ? 'LDP' : firstText(properties, ['opt_out_type']),
  });
}

/** An event in the form of Pinterest's API for Conversions, or `insufficient_user_data`. */
function mapEvent(entry: EventEntry, context: MapContext<PinterestSettings>): MapResult {
  const { event } = entry;
  const { settings, properties, choices } = context;
  const user = userData(event, context);
  if (!isMatchable(user, event)) return { kind: 'skip', reason: 'insufficient_user_data' };
  const isWeb = event.action_source === 'website';
  const form = present({
    event_name: eventName(context),
    event_time: happenedAtS(event),
    event_id: context.dedupId,
    action_source: isWeb ? 'web' : 'offline',
    event_source_url: isWeb ? pageUrl(properties) : null,
    opt_out: choices.adPersonalization === false ? true : null,
    language: firstText(properties, ['language', '$browser_language'])?.slice(0, 2).toLowerCase(),
    user_data: user,
    custom_data: customData(event, properties, choices),
  });
  return { kind: 'mapped', form, group: settings.ad_account_id };
}

const DAY_MS = 86_400_000;
const AGE_MAX_MS = 7 * DAY_MS;
const BODY = envelope('{"data":[', ']}');

function request(pieces: readonly SerializedEvent[], context: RequestContext<PinterestSettings>): HttpRequest {
  const { settings } = context;
  const address = addressOf(context.baseUrl, settings.base_url, DEFAULT_BASE_URL);
  const headers = { authorization: `Bearer ${settings.access_token}` };
  return postJson(address, `/v5/ad_accounts/${context.group}/events`, BODY.around(pieces), headers);
}

const EVENT_FAILED = dead('pinterest_event_failed');

/** The words for what became of each event, in the order sent; null where there are none, or others than are known. */
function statusesOf(body: unknown): string[] | null {
  const inner = isRecord(body) && isRecord(body['details']) ? body['details'] : body;
  const events = isRecord(inner) ? inner['events'] : undefined;
  if (!Array.isArray(events)) return null;
  const statuses = events.map((event: unknown) => (isRecord(event) ? event['status'] : undefined));
  return statuses.every((status) => status === 'processed' || status === 'failed') ? statuses : null;
}

/** A verdict for each event, or where they cannot be told apart one by how many were processed. */
function classifyStatuses(statuses: readonly string[], sent: number): Verdict {
  const verdicts = statuses.map((status) => (status === 'processed' ? DELIVERED : EVENT_FAILED));
  if (verdicts.length === sent) return { kind: 'per_event', verdicts };
  const taken = verdicts.filter((verdict) => verdict === DELIVERED).length;
  return takenOf(taken, sent, 'pinterest_none_processed', `${taken} of ${sent} processed`);
}

/** The wait until the limit counts anew, in seconds; Pinterest sends it in place of Retry-After. */
function resetMs(headers: Record<string, string>): number | null {
  const seconds = headers['x-ratelimit-reset']?.trim() ?? '';
  return /^\d{1,6}$/.test(seconds) ? Number(seconds) * 1000 : null;
}

/**
 * Pinterest's answers: a verdict for each event, with status 200 when all were processed and 422 when some were not;
 * `{code, message}` for what is wrong with the request. Where it judges another number of events than were sent those it
 * processed are counted.
 */
const classify = (answer: Answer, sentIds: readonly string[]): Verdict =>
  classifyAnswer(answer, (body, { status, headers }, waitMs) => {
    const statuses = status === 200 || status === 422 ? statusesOf(body) : null;
    if (statuses !== null) return classifyStatuses(statuses, sentIds.length);
    const code = isRecord(body) ? safeWord(body['code']) : '';
    const reason = /^\d+$/.test(code) ? `pinterest_${code}` : `http_${status}`;
    if (status === 429) return throttle(reason, waitMs ?? resetMs(headers));
    if (status === 401 || status === 403 || status === 404) return credentialsBroken(reason);
    if (status === 400 || status === 422) return doubtful(reason);
    return status === 200 ? retry('unreadable_answer') : null;
  });

/** Pinterest API for Conversions, version 5. */
export const pinterest: Adapter<PinterestSettings> = {
  name: 'pinterest',
  title: 'Pinterest API for Conversions',
  schema: PINTEREST_SCHEMA,
  anonymousEvents: 'skip',
  advertising: 'restrictable',
  limits: () => ({ batchEventsMax: 1000, batchBytesMax: 1_000_000, concurrencyMax: 4, timeoutMs: 10_000 }),
  ageMaxMs: () => AGE_MAX_MS,
  map: mapEvent,
  overheadBytes: () => BODY.bytes,
  request,
  classify,
};
