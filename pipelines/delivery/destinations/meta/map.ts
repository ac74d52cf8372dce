import type { MapContext, MapResult } from '#pipelines/delivery/contract.ts';
import { type CanonicalName, platformName } from '#pipelines/delivery/conversion_names.ts';
import { dedupId } from '#pipelines/delivery/dedup_id.ts';
import { happenedAtS } from '#pipelines/delivery/event_time.ts';
import type { PrivacyChoices } from '#pipelines/delivery/privacy_choices.ts';
import { firstNumber, type Properties, pageUrl } from '#pipelines/delivery/properties.ts';
import { matchesUrl } from '#pipelines/delivery/url_pattern.ts';
import { readRoutePixels } from '#pipelines/settings/route_pixels.ts';
import type { Event, EventEntry } from '#schemas/event.ts';
import type { Site } from '#schemas/setting.ts';
import { customData } from './custom_data.ts';
import type { MetaSettings } from './settings.ts';
import { isTooBroad, userData } from './user_data.ts';

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
  const name = context.chosenName ?? platformName(context.name, STANDARD_EVENTS);
  const user = userData(event, context);
  const custom = customData(event, properties);
  const url = sourceUrl(settings, site, properties);
  const reason = refusal(event, name, user, custom, url);
  if (reason !== null) return { kind: 'skip', reason };
  const form = {
    event_name: name,
    event_time: happenedAtS(event),
    event_id: dedupId(event, properties),
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
