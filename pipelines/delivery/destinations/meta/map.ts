import { type Static, Type } from 'typebox';
import type { MapContext, MapResult } from '#pipelines/delivery/contract.ts';
import { commerceOf, happenedAtMs, happenedAtS, type Item } from '#pipelines/delivery/event_fields.ts';
import {
  clientAddress,
  clientUserAgent,
  everyHash,
  hashedPlace,
  isKnownByDevice,
} from '#pipelines/delivery/matching.ts';
import { baseUrlField, listOrNull, oneOrList, present } from '#pipelines/delivery/platform_http.ts';
import {
  checkedField,
  choiceField,
  eventNamesField,
  secretField,
  textField,
} from '#pipelines/delivery/setting_fields.ts';
import type { PrivacyChoices } from '#pipelines/events/consent.ts';
import {
  type CanonicalName,
  firstId,
  firstNumber,
  firstText,
  type Properties,
  pageUrl,
  platformName,
  textOrParameter,
} from '#pipelines/events/vocabulary.ts';
import { readRoutePixels } from '#pipelines/settings/destination_settings.ts';
import { matchesUrl } from '#pipelines/settings/url_pattern.ts';
import type { Event, EventEntry, Identifiers } from '#schemas/event.ts';
import type { Site } from '#schemas/setting.ts';

/** Graph API version; Meta keeps each one for at least two years for this API. */
const DEFAULT_VERSION = 'v25.0';
export const DEFAULT_BASE_URL = 'https://graph.facebook.com';

export const META_SCHEMA = Type.Object({
  pixel_id: textField({
    title: 'Pixel or dataset id',
    description: 'Digits only; shown in Events Manager.',
    pattern: '^\\d{5,20}$',
  }),
  access_token: secretField({
    title: 'Access token',
    description: 'A token that may send events to this pixel, made in Events Manager under Settings.',
  }),
  test_event_code: Type.Optional(
    textField({
      title: 'Test event code',
      description: 'Shows events in the Test Events tab. They still count: leave this empty in production.',
      pattern: '^[A-Za-z0-9_-]{1,64}$',
    }),
  ),
  version: textField({
    title: 'Graph API version',
    pattern: '^v\\d{1,3}\\.\\d{1,2}$',
    default: DEFAULT_VERSION,
  }),
  event_source_url: Type.Optional(
    textField({
      title: 'Fallback page address',
      description: 'Used for website events that carry no page address, which Meta requires of them.',
      pattern: '^https?://[^\\s]+$',
    }),
  ),
  data_processing: choiceField(['unset', 'none', 'ldu_geolocate', 'ldu_california'], {
    title: 'Limited data use',
    description:
      'What is declared where an event says nothing itself: nothing, no limits, limits where Meta locates the person, or the limits of California.',
    default: 'unset',
  }),
  route_pixels: Type.Optional(
    checkedField(
      {
        title: 'Pixels for some pages',
        description:
          'A JSON array of {"pixel_id", "url_pattern"}: events of pages that match go to that pixel, with the same access token.',
      },
      (value) => readRoutePixels(value) !== null,
    ),
  ),
  event_names: Type.Optional(eventNamesField('Event names', "Meta's names for events of yours.")),
  base_url: baseUrlField(DEFAULT_BASE_URL),
});

export type MetaSettings = Static<typeof META_SCHEMA>;

/** Meta's standard events; what is missing here goes as a custom event under the name it was given. */
export const STANDARD_EVENTS: Partial<Record<CanonicalName, string>> = {
  page_view: 'PageView',
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
  donate: 'Donate',
  submit_application: 'SubmitApplication',
};

const DATA_PROCESSING: Record<MetaSettings['data_processing'], object> = {
  unset: {},
  none: { data_processing_options: [] },
  ldu_geolocate: {
    data_processing_options: ['LDU'],
    data_processing_options_country: 0,
    data_processing_options_state: 0,
  },
  ldu_california: {
    data_processing_options: ['LDU'],
    data_processing_options_country: 1,
    data_processing_options_state: 1000,
  },
};

const wholeNumber = (properties: Properties, name: string): number | null => {
  const number = firstNumber(properties, [name]);
  return number !== null && Number.isInteger(number) && number >= 0 ? number : null;
};

/**
 * The event's own declaration of limited data use, as the browser pixel takes it, else the site's. Where the event does
 * not name both country and state, those of the site's setting hold, or else Meta locates the person.
 */
function dataProcessing(settings: MetaSettings, { limitedDataUse }: PrivacyChoices, properties: Properties): object {
  if (limitedDataUse === null) return DATA_PROCESSING[settings.data_processing];
  if (!limitedDataUse) return DATA_PROCESSING.none;
  const country = wholeNumber(properties, 'data_processing_options_country');
  const state = wholeNumber(properties, 'data_processing_options_state');
  const ofSite = settings.data_processing === 'ldu_california' ? 'ldu_california' : 'ldu_geolocate';
  if (country === null || state === null) return DATA_PROCESSING[ofSite];
  return {
    data_processing_options: ['LDU'],
    data_processing_options_country: country,
    data_processing_options_state: state,
  };
}

function sourceUrl(settings: MetaSettings, site: Site, properties: Properties): string | null {
  const domain = site.domains[0];
  return pageUrl(properties) ?? settings.event_source_url ?? (domain === undefined ? null : `https://${domain}/`);
}

/** The pixel of the first pattern that the page matches, else the site's own. */
function pixelOf(settings: MetaSettings, url: string | null): string {
  const routes = settings.route_pixels === undefined ? [] : (readRoutePixels(settings.route_pixels) ?? []);
  const route = url === null ? undefined : routes.find(({ url_pattern }) => matchesUrl(url_pattern, url));
  return route?.pixel_id ?? settings.pixel_id;
}

const isMissing = (custom: Record<string, unknown>, key: string): boolean => custom[key] === undefined;

/**
 * An event in the form of the Conversions API, or why Meta would refuse it: `insufficient_user_data`,
 * `missing_client_user_agent` and `missing_event_source_url` (website events need both), `missing_value` and
 * `missing_currency` (purchases need both). One refused event would fail all others of its request.
 */
export function mapEvent(entry: EventEntry, context: MapContext<MetaSettings>): MapResult {
  const { event } = entry;
  const { settings, site, properties, choices } = context;
  const name = context.mappedEventName ?? platformName(context.name, STANDARD_EVENTS);
  const user = userData(event, context);
  const custom = customData(event, properties);
  const url = sourceUrl(settings, site, properties);
  const reason = refusal(event, name, user, custom, url);
  if (reason !== null) return { kind: 'skip', reason };
  const form = {
    event_name: name,
    event_time: happenedAtS(event),
    event_id: context.dedupId,
    action_source: event.action_source,
    ...(url !== null && event.action_source === 'website' ? { event_source_url: url } : {}),
    user_data: user,
    ...(Object.keys(custom).length > 0 ? { custom_data: custom } : {}),
    // Meta's word for measuring without personalised advertising.
    ...(choices.adPersonalization === false ? { opt_out: true } : {}),
    ...dataProcessing(settings, choices, properties),
  };
  return { kind: 'mapped', form, group: pixelOf(settings, pageUrl(properties)) };
}

function refusal(
  event: Event,
  name: string,
  user: ReturnType<typeof userData>,
  custom: Record<string, unknown>,
  url: string | null,
): string | null {
  if (isTooBroad(user, event)) return 'insufficient_user_data';
  if (event.action_source === 'website' && user['client_user_agent'] === undefined) return 'missing_client_user_agent';
  if (event.action_source === 'website' && url === null) return 'missing_event_source_url';
  if (name === 'Purchase' && isMissing(custom, 'value')) return 'missing_value';
  if (name === 'Purchase' && isMissing(custom, 'currency')) return 'missing_currency';
  return null;
}

type UserData = Record<string, string | readonly string[]>;

const FBC = /^fb\.\d+\.\d{10,16}\.[^\s]+$/;
const FBP = /^fb\.\d+\.\d{10,16}\.\d+/;

/**
 * The click id: the cookie's value when the event carries it, else built from the click's parameter as
 * `fb.1.<milliseconds>.<fbclid>`. The case of fbclid is significant.
 */
function clickId(event: Event, properties: Properties): string | null {
  const cookie = firstText(properties, ['fbc', '_fbc', '$fbc']);
  if (cookie !== null && FBC.test(cookie)) return cookie;
  const parameter = textOrParameter(properties, ['fbclid', '$fbclid'], 'fbclid');
  return parameter === null ? null : `fb.1.${happenedAtMs(event)}.${parameter}`;
}

function browserId(properties: Properties): string | null {
  const cookie = firstText(properties, ['fbp', '_fbp', '$fbp']);
  return cookie !== null && FBP.test(cookie) ? cookie : null;
}

/** Ids that Meta or the advertiser gave out; Meta's page lists them under "do not hash". */
const PLAIN_IDS = ['subscription_id', 'lead_id', 'fb_login_id', 'ctwa_clid', 'page_id', 'madid', 'anon_id'];

/** The customer information parameters of an event, those that are absent left out. */
function userData(event: Event, context: MapContext<unknown>): UserData {
  const { site, properties, identifiers } = context;
  const every = (variant: (one: Identifiers) => string | null) => oneOrList(everyHash(context, variant));
  const place = hashedPlace(event, site);
  const keys: Record<string, string | readonly string[] | null> = {
    em: every(({ email }) => email),
    ph: every(({ phone_digits }) => phone_digits),
    fn: identifiers.first_name,
    ln: identifiers.last_name,
    external_id: every(({ external_id }) => external_id),
    ct: place.city,
    st: place.state,
    zp: oneOrList(place.zips),
    country: place.country,
    client_ip_address: clientAddress(event),
    client_user_agent: clientUserAgent(event),
    fbc: clickId(event, properties),
    fbp: browserId(properties),
    ...Object.fromEntries(PLAIN_IDS.map((name) => [name, firstId(properties, [name])])),
  };
  return Object.fromEntries(Object.entries(keys).flatMap(([key, value]) => (value === null ? [] : [[key, value]])));
}

const DEVICE_KEYS = new Set(['client_ip_address', 'client_user_agent']);

/** Combinations that Meta's best practices page names as too broad to match anybody by; an event with no more is refused. */
const TOO_BROAD = [
  new Set(['ct', 'country', 'st', 'zp', 'ge', 'client_user_agent']),
  new Set(['db', 'client_user_agent']),
  new Set(['fn', 'ge']),
];

/** Whether Meta would match nobody by it. Of an offline event the device is no identity. */
function isTooBroad(data: UserData, event: Event): boolean {
  const keys = Object.keys(data).filter((key) => isKnownByDevice(event) || !DEVICE_KEYS.has(key));
  return TOO_BROAD.some((broad) => keys.every((key) => broad.has(key)));
}

const DELIVERY_CATEGORIES = new Set(['home_delivery', 'in_store', 'curbside']);

const content = (item: Item, deliveryCategory: string | null): object =>
  present({
    id: item.id,
    quantity: item.quantity ?? 1,
    item_price: item.price,
    delivery_category: deliveryCategory,
  });

/**
 * The custom_data of an event: what was bought, for how much. Only parameters that Meta documents are sent, so that
 * nothing else of the event's properties leaves the service.
 */
function customData(event: Event, properties: Properties): Record<string, unknown> {
  const commerce = commerceOf(event, properties);
  const category = firstText(properties, ['delivery_category']);
  const deliveryCategory = category !== null && DELIVERY_CATEGORIES.has(category) ? category : null;
  return present({
    value: commerce.value,
    currency: commerce.currency,
    order_id: commerce.orderId,
    contents: listOrNull(commerce.items.map((item) => content(item, deliveryCategory))),
    content_ids: listOrNull(commerce.contentIds),
    content_type: commerce.contentType,
    num_items: commerce.itemCount,
    delivery_category: deliveryCategory,
    content_name: commerce.contentName,
    content_category: commerce.contentCategory,
    search_string: commerce.searchTerm,
    predicted_ltv: firstNumber(properties, ['predicted_ltv']),
    net_revenue: firstNumber(properties, ['net_revenue']),
    status: firstText(properties, ['status']),
  });
}
