import { type Static, Type } from 'typebox';
import type { MapContext, MapResult } from '#pipelines/delivery/contract.ts';
import { commerceOf, happenedAtMs, type Item } from '#pipelines/delivery/event_fields.ts';
import { everyHash, type GoogleName, googleNames, plainPlace } from '#pipelines/delivery/matching.ts';
import { baseUrlField, listOrNull, present, presentOrNull } from '#pipelines/delivery/platform_http.ts';
import { choiceField, eventNamesField, secretField, textField } from '#pipelines/delivery/setting_fields.ts';
import { isRestricted, type PrivacyChoices } from '#pipelines/events/consent.ts';
import { firstText, type Properties, pageParameter } from '#pipelines/events/vocabulary.ts';
import { countryCode } from '#pipelines/privacy/countries.ts';
import type { ActionSource, Event, EventEntry } from '#schemas/event.ts';
import type { Site } from '#schemas/setting.ts';

export const DEFAULT_BASE_URL = 'https://datamanager.googleapis.com';
export const DEFAULT_TOKEN_URL = 'https://oauth2.googleapis.com/token';

const ACCOUNT = '^\\d{3}-?\\d{3}-?\\d{4}$';

export const GOOGLE_SCHEMA = Type.Object({
  customer_id: textField({
    title: 'Google Ads account',
    description: 'The customer id of the account that has the conversion actions.',
    pattern: ACCOUNT,
  }),
  login_customer_id: Type.Optional(
    textField({
      title: 'Manager account',
      description: 'Where the service account has its access through a manager account.',
      pattern: ACCOUNT,
    }),
  ),
  event_names: eventNamesField(
    'Conversion actions',
    'Ids of the conversion actions that events count for; an event without one is skipped.',
    'purchase=123456789',
    '\\d{1,20}',
  ),
  service_account_key: secretField({
    title: 'Service account key',
    description: 'The whole JSON key file of a service account that may use the Data Manager API.',
  }),
  consent: choiceField(['unset', 'granted', 'denied'], {
    title: 'Consent',
    description:
      'What is declared for advertising where an event says nothing itself; with denied only events that say granted are sent.',
    default: 'unset',
  }),
  token_url: textField({
    title: 'Token address',
    called: true,
    description: 'Of the OAuth 2 token service; changed only for a gateway of your own.',
    pattern: '^https?://[^\\s?#]+$',
    default: DEFAULT_TOKEN_URL,
  }),
  base_url: baseUrlField(DEFAULT_BASE_URL),
});

export type GoogleSettings = Static<typeof GOOGLE_SCHEMA>;

/** Google's word for where an event happened; it has none for e-mail and back-office jobs. */
const EVENT_SOURCES: Record<ActionSource, string> = {
  website: 'WEB',
  physical_store: 'IN_STORE',
  phone_call: 'PHONE',
  chat: 'MESSAGE',
  email: 'OTHER',
  system_generated: 'OTHER',
};

/** An address matches only when all four of its parts are there. */
function addressOf(event: Event, site: Site, { givenName, familyName }: GoogleName): object | null {
  const country = countryCode(event.country) ?? countryCode(site.default_country);
  const postalCode = plainPlace(event.zip);
  if (givenName === null || familyName === null || country === null || postalCode === null) return null;
  return { address: { givenName, familyName, regionCode: country.toUpperCase(), postalCode } };
}

const IDENTIFIERS_MAX = 10;

/** At most ten, so that of many addresses and numbers none crowds out the postal address. */
function userIdentifiers(event: Event, context: MapContext<unknown>): object[] {
  const emails = everyHash(context, ({ email, email_google }) => email_google ?? email);
  const phones = everyHash(context, ({ phone }) => phone);
  const addresses = googleNames(context).flatMap((name) => addressOf(event, context.site, name) ?? []);
  const rest = IDENTIFIERS_MAX - addresses.length;
  const direct = [
    ...emails.map((emailAddress) => ({ emailAddress })),
    ...phones.map((phoneNumber) => ({ phoneNumber })),
  ];
  return [...direct.slice(0, rest), ...addresses];
}

const CLICK_IDS = ['gclid', 'gbraid', 'wbraid'] as const;

/**
 * One click id, as Google Ads refuses conversions with more than one: of the newest click, which is that of the page's address, and
 * where a click gave several, the first of gclid, gbraid and wbraid.
 */
function adIdentifiers(properties: Properties): object | null {
  const ofPage = CLICK_IDS.map((name): [string, string | null] => [name, pageParameter(properties, name)]);
  const kept = CLICK_IDS.map((name): [string, string | null] => [name, firstText(properties, [name, `$${name}`])]);
  const found = [...ofPage, ...kept].find(([, id]) => id !== null);
  return found === undefined ? null : Object.fromEntries([found]);
}

const word = (granted: boolean | null): string | null =>
  granted === null ? null : granted ? 'CONSENT_GRANTED' : 'CONSENT_DENIED';

/** Google has no other word for limited use than that advertising is not personalised. */
const consent = (choices: PrivacyChoices): object | null =>
  presentOrNull({
    adUserData: word(choices.adUserData),
    adPersonalization: word(isRestricted(choices) ? false : choices.adPersonalization),
  });

const cartItem = ({ id, price, quantity }: Item): object =>
  present({ merchantProductId: id, quantity: String(Math.max(1, Math.round(quantity ?? 1))), unitPrice: price });

/** A purchase is known by its order, as the tag on the page knows it, so that both count once; anything else by its id. */
const transactionId = (event: Event, context: MapContext<GoogleSettings>): string =>
  (context.name.canonical === 'purchase' ? event.order_id : null) ?? event.event_id;

/**
 * An event in the form of the Data Manager API, or why it is not sent: `no_conversion_action` (the site's settings name
 * none for it) or `insufficient_user_data` (neither a click id nor a hashed identifier). The group is the conversion
 * action.
 */
export function mapEvent(entry: EventEntry, context: MapContext<GoogleSettings>): MapResult {
  const { event } = entry;
  const { properties, mappedEventName, choices } = context;
  if (mappedEventName === null) return { kind: 'skip', reason: 'no_conversion_action' };
  const ads = adIdentifiers(properties);
  const user = userIdentifiers(event, context);
  if (ads === null && user.length === 0) return { kind: 'skip', reason: 'insufficient_user_data' };
  const { value, currency, items } = commerceOf(event, properties);
  const cart = listOrNull(items.map(cartItem));
  const form = present({
    transactionId: transactionId(event, context),
    eventTimestamp: new Date(happenedAtMs(event)).toISOString(),
    eventSource: EVENT_SOURCES[event.action_source],
    conversionValue: value,
    currency: value === null ? null : currency,
    adIdentifiers: ads,
    userData: user.length === 0 ? null : { userIdentifiers: user },
    consent: consent(choices),
    cartData: cart === null ? null : { items: cart },
    eventLocation: presentOrNull({ storeId: firstText(properties, ['store_id', 'store_code']) }),
  });
  return { kind: 'mapped', form, group: mappedEventName };
}
