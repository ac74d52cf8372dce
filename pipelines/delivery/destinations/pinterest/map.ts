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
import { eventNamesField, secretField, textField } from '#pipelines/delivery/setting_fields.ts';
import type { PrivacyChoices } from '#pipelines/events/consent.ts';
import {
  type CanonicalName,
  firstText,
  type Properties,
  pageUrl,
  textOrParameter,
} from '#pipelines/events/vocabulary.ts';
import type { Event, EventEntry, Identifiers } from '#schemas/event.ts';

export const DEFAULT_BASE_URL = 'https://api.pinterest.com';

export const PINTEREST_SCHEMA = Type.Object({
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

export type PinterestSettings = Static<typeof PINTEREST_SCHEMA>;

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
export function mapEvent(entry: EventEntry, context: MapContext<PinterestSettings>): MapResult {
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
