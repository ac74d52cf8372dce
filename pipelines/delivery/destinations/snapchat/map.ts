import { type Static, Type } from 'typebox';
import type { MapContext, MapResult } from '#pipelines/delivery/contract.ts';
import { commerceOf, happenedAtS, type Item } from '#pipelines/delivery/event_fields.ts';
import {
  clientAddress,
  clientUserAgent,
  everyHash,
  hashedPlace,
  isKnownByDevice,
} from '#pipelines/delivery/matching.ts';
import { baseUrlField, listOrNull, present, presentOrNull } from '#pipelines/delivery/platform_http.ts';
import { choiceField, eventNamesField, secretField, textField } from '#pipelines/delivery/setting_fields.ts';
import { isRestricted, type PrivacyChoices } from '#pipelines/events/consent.ts';
import {
  type CanonicalName,
  firstId,
  type Properties,
  pageUrl,
  textOrParameter,
} from '#pipelines/events/vocabulary.ts';
import type { Event, EventEntry, Identifiers } from '#schemas/event.ts';

export const DEFAULT_BASE_URL = 'https://tr.snapchat.com';

export const SNAPCHAT_SCHEMA = Type.Object({
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

export type SnapchatSettings = Static<typeof SNAPCHAT_SCHEMA>;

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
export function mapEvent(entry: EventEntry, context: MapContext<SnapchatSettings>): MapResult {
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
