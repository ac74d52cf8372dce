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
  DELIVERED,
  doubtful,
  envelope,
  postJson,
  retry,
  split,
} from '#pipelines/delivery/platform_http.ts';
import { isRestricted, type PrivacyChoices } from '#pipelines/events/consent.ts';
import {
  type CanonicalName,
  firstId,
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
import { choiceField, eventNamesField, secretField, textField } from '../../setting_fields.ts';

const DEFAULT_BASE_URL = 'https://tr.snapchat.com';

const SNAPCHAT_SCHEMA = Type.Object({
  pixel_id: textField({
    title: 'Pixel id',
    description: 'Of the Snap Pixel, shown in Events Manager.',
    pattern: '^[0-9a-fA-F-]{16,40}$',
  }),
  access_token: secretField({
    title: 'Conversions API token',
    description: 'Made in Business Manager under the pixel.',
  }),
  custom_event: choiceField(
    ['none', 'CUSTOM_EVENT_1', 'CUSTOM_EVENT_2', 'CUSTOM_EVENT_3', 'CUSTOM_EVENT_4', 'CUSTOM_EVENT_5'],
    {
      title: 'Other events',
      description: 'Snapchat takes its own names only: what events without one go as; with none they are skipped.',
      default: 'none',
    },
  ),
  limited_data_use: choiceField(['no', 'yes'], {
    title: 'Limited data use',
    description: 'What is declared where an event says nothing itself.',
    default: 'no',
  }),
  event_names: Type.Optional(
    eventNamesField(
      'Event names',
      "Snapchat's names for events of yours.",
      'quiz_done=SIGN_UP',
      '[A-Z][A-Z0-9_]{1,40}',
    ),
  ),
  base_url: baseUrlField(DEFAULT_BASE_URL),
});

type SnapchatSettings = Static<typeof SNAPCHAT_SCHEMA>;

const STANDARD_EVENTS: Partial<Record<CanonicalName, string>> = {
  page_view: 'PAGE_VIEW',
  view_item: 'VIEW_CONTENT',
  view_item_list: 'LIST_VIEW',
  search: 'SEARCH',
  add_to_cart: 'ADD_CART',
  add_to_wishlist: 'ADD_TO_WISHLIST',
  begin_checkout: 'START_CHECKOUT',
  add_payment_info: 'ADD_BILLING',
  purchase: 'PURCHASE',
  generate_lead: 'SIGN_UP',
  sign_up: 'SIGN_UP',
  subscribe: 'SUBSCRIBE',
  start_trial: 'START_TRIAL',
};

/** Snapchat's own name for the act; it takes no others. */
function eventName({ name, mappedEventName, settings }: MapContext<SnapchatSettings>): string | null {
  const standard = name.canonical === null ? undefined : STANDARD_EVENTS[name.canonical];
  return mappedEventName ?? standard ?? (settings.custom_event === 'none' ? null : settings.custom_event);
}

function userData(event: Event, context: MapContext<unknown>): Record<string, unknown> {
  const { site, identifiers, properties } = context;
  const every = (variant: (one: Identifiers) => string | null) => listOrNull(everyHash(context, variant));
  const place = hashedPlace(event, site);
  return present({
    em: every(({ email }) => email),
    ph: every(({ phone_digits }) => phone_digits),
    fn: identifiers.first_name,
    ln: identifiers.last_name,
    external_id: every(({ external_id }) => external_id),
    ct: place.city,
    st: place.state,
    zp: place.zips[0] ?? null,
    country: place.country,
    client_ip_address: clientAddress(event),
    client_user_agent: clientUserAgent(event),
    sc_click_id: textOrParameter(properties, ['sc_click_id', 'ScCid', '$sc_click_id'], 'ScCid'),
    sc_cookie1: firstId(properties, ['sc_cookie1', '_scid', '$scid']),
  });
}

/** E-mail, phone or a click, or address and browser together: without one of them Snapchat matches nobody. */
function isMatchable(user: Record<string, unknown>, event: Event): boolean {
  if (['em', 'ph', 'external_id', 'sc_click_id', 'sc_cookie1'].some((key) => key in user)) return true;
  return isKnownByDevice(event) && 'client_ip_address' in user && 'client_user_agent' in user;
}

const content = ({ id, quantity, price, brand }: Item): object =>
  present({ id, quantity: quantity ?? 1, item_price: price, brand });

function customData(event: Event, properties: Properties): object | null {
  const commerce = commerceOf(event, properties);
  return presentOrNull({
    value: commerce.value,
    currency: commerce.currency,
    order_id: commerce.orderId,
    contents: listOrNull(commerce.items.map(content)),
    content_ids: listOrNull(commerce.contentIds),
    content_category: commerce.contentCategory,
    num_items: commerce.itemCount,
    search_string: commerce.searchTerm,
  });
}

const LIMITED_DATA_USE = { data_processing_options: ['LMU'] };

const isLimited = (settings: SnapchatSettings, choices: PrivacyChoices): boolean =>
  isRestricted(choices) || (choices.limitedDataUse === null && settings.limited_data_use === 'yes');

/**
 * An event in the form of Snapchat's Conversions API, or why it is not sent: `no_platform_event` (Snapchat has no name for
 * it and the site chose none) or `insufficient_user_data`.
 */
function mapEvent(entry: EventEntry, context: MapContext<SnapchatSettings>): MapResult {
  const { event } = entry;
  const { settings, properties, choices } = context;
  const name = eventName(context);
  if (name === null) return { kind: 'skip', reason: 'no_platform_event' };
  const user = userData(event, context);
  if (!isMatchable(user, event)) return { kind: 'skip', reason: 'insufficient_user_data' };
  const isWeb = event.action_source === 'website';
  const form = present({
    event_name: name,
    event_time: happenedAtS(event),
    event_id: context.dedupId,
    action_source: isWeb ? 'WEB' : 'OFFLINE',
    event_source_url: isWeb ? pageUrl(properties) : null,
    user_data: user,
    custom_data: customData(event, properties),
    ...(isLimited(settings, choices) ? LIMITED_DATA_USE : {}),
  });
  return { kind: 'mapped', form, group: settings.pixel_id };
}

const DAY_MS = 86_400_000;
const AGE_MAX_MS = 37 * DAY_MS;
const BODY = envelope('{"data":[', ']}');

/** Snapchat takes the token in the address only. */
function request(pieces: readonly SerializedEvent[], context: RequestContext<SnapchatSettings>): HttpRequest {
  const { settings } = context;
  const path = `/v3/${context.group}/events?access_token=${encodeURIComponent(settings.access_token)}`;
  return postJson(addressOf(context.baseUrl, settings.base_url, DEFAULT_BASE_URL), path, BODY.around(pieces));
}

const TAKEN = new Set(['VALID', 'SUCCESS']);
const REFUSED = new Set(['INVALID', 'FAILED']);

/** Places of the records that an answer finds fault with. */
function refusedIndexesOf(body: Record<string, unknown>): number[] {
  const records: unknown[] = Array.isArray(body['error_records']) ? body['error_records'] : [];
  return records.filter(isRecord).flatMap((record) => {
    const indexes: unknown[] = Array.isArray(record['record_indexes']) ? record['record_indexes'] : [];
    return indexes.filter((place): place is number => Number.isInteger(place) && Number(place) >= 0);
  });
}

/** Snapchat's answers: a `status` word, and the records it refuses the request for. */
const classify = (answer: Answer): Verdict =>
  classifyAnswer(answer, (body, { status }) => {
    const word = isRecord(body) && typeof body['status'] === 'string' ? body['status'].toUpperCase() : '';
    const isRefusal = REFUSED.has(word) && (status === 200 || status === 400 || status === 422);
    if (isRefusal && isRecord(body)) {
      const refusedIndexes = refusedIndexesOf(body);
      const detail = `status ${status}`;
      return refusedIndexes.length > 0
        ? split('snapchat_invalid', detail, refusedIndexes)
        : doubtful('snapchat_invalid', detail);
    }
    if (status !== 200) return null;
    return TAKEN.has(word) ? DELIVERED : retry('unreadable_answer');
  });

/** Snapchat Conversions API, version 3. */
export const snapchat: Adapter<SnapchatSettings> = {
  name: 'snapchat',
  title: 'Snapchat Conversions API',
  schema: SNAPCHAT_SCHEMA,
  anonymousEvents: 'skip',
  advertising: 'restrictable',
  limits: () => ({ batchEventsMax: 2000, batchBytesMax: 2_000_000, concurrencyMax: 4, timeoutMs: 10_000 }),
  ageMaxMs: () => AGE_MAX_MS,
  map: mapEvent,
  overheadBytes: () => BODY.bytes,
  request,
  classify,
};
