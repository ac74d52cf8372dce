import { commerceOf } from '#pipelines/delivery/commerce.ts';
import type { MapContext, MapResult } from '#pipelines/delivery/contract.ts';
import { type CanonicalName, platformName } from '#pipelines/delivery/conversion_names.ts';
import { dedupId } from '#pipelines/delivery/dedup_id.ts';
import { happenedAtS } from '#pipelines/delivery/event_time.ts';
import type { Item } from '#pipelines/delivery/items.ts';
import { listOrNull, present, presentOrNull } from '#pipelines/delivery/present.ts';
import { isRestricted } from '#pipelines/delivery/privacy_choices.ts';
import { firstText, type Properties, pageReferrer, pageUrl } from '#pipelines/delivery/properties.ts';
import type { Event, EventEntry } from '#schemas/event.ts';
import { groupOf, isTooOldFor, sourceOf } from './event_source.ts';
import type { TiktokSettings } from './settings.ts';
import { isMatchable, userOf } from './user.ts';

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
 * An event in the form of the Events API, or why it is not sent: `missing_event_source_id` (an offline event where the
 * site has no event set for it), `too_old` (for the pixel), `insufficient_user_data`, and `missing_value` or `missing_currency` for a purchase.
 */
export function mapEvent(entry: EventEntry, context: MapContext<TiktokSettings>): MapResult {
  const { event } = entry;
  const { settings, properties, choices } = context;
  const source = sourceOf(event, settings, properties);
  if (source === null) return { kind: 'skip', reason: 'missing_event_source_id' };
  if (isTooOldFor(source, event, context.nowMs)) return { kind: 'skip', reason: 'too_old' };
  const name = context.chosenName ?? platformName(context.name, STANDARD_EVENTS);
  const user = userOf(event, context);
  if (!isMatchable(user, event)) return { kind: 'skip', reason: 'insufficient_user_data' };
  const bought = eventProperties(event, properties);
  if (name === 'Purchase' && bought?.['value'] === undefined) return { kind: 'skip', reason: 'missing_value' };
  if (name === 'Purchase' && bought?.['currency'] === undefined) return { kind: 'skip', reason: 'missing_currency' };
  const form = present({
    event: name,
    event_time: happenedAtS(event),
    event_id: dedupId(event, properties),
    user,
    page:
      source.kind === 'web' ? presentOrNull({ url: pageUrl(properties), referrer: pageReferrer(properties) }) : null,
    properties: bought,
    lead: source.kind === 'crm' ? leadOf(properties) : null,
    limited_data_use: isRestricted(choices) || (choices.limitedDataUse === null && settings.limited_data_use === 'yes'),
  });
  return { kind: 'mapped', form, group: groupOf(source) };
}
