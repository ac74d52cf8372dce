import { createHash } from 'node:crypto';
import { type Static, Type } from 'typebox';
import type { MapContext, MapResult } from '#pipelines/delivery/contract.ts';
import { currencyCode, happenedAtMs, ITEM_FIELD_NAMES, type Item, itemsOf } from '#pipelines/delivery/event_fields.ts';
import { clientAddress, clientUserAgent, everyHash, googleNames, plainPlace } from '#pipelines/delivery/matching.ts';
import { cutText, listOrNull, present, presentOrNull } from '#pipelines/delivery/platform_http.ts';
import { choiceField, eventNamesField, secretField, textField } from '#pipelines/delivery/setting_fields.ts';
import { isRestricted, type PrivacyChoices } from '#pipelines/events/consent.ts';
import {
  firstId,
  firstNumber,
  firstText,
  isRecord,
  type Properties,
  pageReferrer,
  pageUrl,
} from '#pipelines/events/vocabulary.ts';
import { GTAG_LIBRARY } from '#pipelines/intake/ga4/hit_event.ts';
import { ITEM_ALIASES } from '#pipelines/intake/ga4/items.ts';
import {
  isParameterName,
  isReservedEventName,
  isUserPropertyName,
  NAME_CHARACTERS_MAX,
} from '#pipelines/intake/ga4/measurement_protocol.ts';
import { countryCode, stateCode } from '#pipelines/privacy/countries.ts';
import { keyMeaning } from '#pipelines/privacy/key_meaning.ts';
import type { Event, EventEntry } from '#schemas/event.ts';

/** Google's own addresses by where the data is collected. */
export const REGION_URLS = {
  global: 'https://www.google-analytics.com',
  eu: 'https://region1.google-analytics.com',
} as const;

export const GA4_SCHEMA = Type.Object({
  measurement_id: textField({
    title: 'Measurement id',
    description: 'Of the web data stream, as in G-XXXXXXXXXX.',
    pattern: '^G-[A-Z0-9]{4,12}$',
  }),
  api_secret: secretField({
    title: 'API secret',
    description: 'Made in the data stream under Measurement Protocol API secrets.',
  }),
  route: choiceField(['server', 'browser'], {
    title: 'Way of website events',
    description: 'Sent from here, or by the browser itself; GA4 does not deduplicate, so it is never both.',
    default: 'server',
  }),
  region: choiceField(['global', 'eu'], {
    title: 'Collection',
    description: "Google's address, or its address in the European Union.",
    default: 'global',
  }),
  validation: choiceField(['relaxed', 'enforced'], {
    title: 'Validation',
    description: 'Whether Google corrects what does not follow its recommendations, or rejects it.',
    default: 'relaxed',
  }),
  consent: choiceField(['unset', 'granted', 'denied'], {
    title: 'Consent',
    description: 'What is declared for advertising where an event says nothing itself.',
    default: 'unset',
  }),
  include_client_ip: choiceField(['yes', 'no'], {
    title: "Include the visitor's IP address",
    description: 'Google derives the place from it and does not keep it.',
    default: 'yes',
  }),
  event_names: Type.Optional(eventNamesField('Event names', "GA4's names for events of yours.")),
  base_url: Type.Optional(
    textField({
      title: 'Address',
      called: true,
      description: 'In place of the collection address; only for a gateway of your own.',
      pattern: '^https?://[^\\s?#]+$',
    }),
  ),
});

export type Ga4Settings = Static<typeof GA4_SCHEMA>;

/** What gtag has sent, whoever passed it on, the page sends to Google as well where it sends by itself. */
function isOfBrowser({ caller, action_source }: Event, library: unknown): boolean {
  return (caller === 'browser' && action_source === 'website') || library === GTAG_LIBRARY;
}

/**
 * An event in the form of the Measurement Protocol, or why it is not sent: `routed_in_browser` (the browser sends it
 * itself), `reserved_event_name` or `unusable_event_name`. The group is what the request says of the visitor, so that a
 * request holds events of one visitor.
 */
export function mapEvent(entry: EventEntry, context: MapContext<Ga4Settings>): MapResult {
  const { event } = entry;
  const { settings, properties } = context;
  if (settings.route === 'browser' && isOfBrowser(event, context.library))
    return { kind: 'skip', reason: 'routed_in_browser' };
  const named = eventName(context);
  if (named.kind === 'skip') return named;
  const params = parametersOf(event, named.name, properties);
  const form = { name: named.name, timestamp_micros: happenedAtMs(event) * 1000, params };
  return { kind: 'mapped', form, group: JSON.stringify(visitorOf(event, context)) };
}

const USER_PROPERTIES_MAX = 25;
const USER_PROPERTY_CHARACTERS_MAX = 36;
const CLIENT_ID_NAMES = ['client_id', 'ga_client_id', '$ga_client_id', 'cid'];

/** The client id in the value of the `_ga` cookie, `GA1.1.<number>.<seconds>`. */
const cookieId = (text: string | null): string | null => /^GA\d\.\d\.(\d+\.\d+)$/.exec(text ?? '')?.[1] ?? null;

/** A number of up to ten digits out of four bytes. */
const numberAt = (digest: Buffer, offset: number): number => digest.readUInt32BE(offset);

function givenClientId(properties: Properties): string | null {
  const own = firstId(properties, CLIENT_ID_NAMES);
  return cookieId(own) ?? own ?? cookieId(firstText(properties, ['_ga', '$ga']));
}

/**
 * The client id of the browser where the event carries it; else a stable one made from the visitor's id, in the form of a
 * browser's, which joins the visitor's events here and no session of the web. Anonymous events have only the latter, and
 * one whose visitor does not want to be measured an id of its own.
 */
function clientId(event: Event, properties: Properties, isUnmeasured: boolean): string {
  const given = event.mode === 'offline' || isUnmeasured ? null : givenClientId(properties);
  if (given !== null) return given;
  const source = isUnmeasured ? ['event', event.site_id, event.event_id] : [event.site_id, event.distinct_id];
  const digest = createHash('sha256').update(JSON.stringify(source)).digest();
  return `${numberAt(digest, 0)}.${numberAt(digest, 4)}`;
}

/** Lower case without digits and symbols, its spaces kept, as Google's page on user-provided data asks for places. */
function placeName(text: string | null): string | null {
  const name =
    plainPlace(text)
      ?.normalize('NFC')
      .toLowerCase()
      .replace(/[^\p{L}\p{M}\s]/gu, '')
      .trim() ?? '';
  return name === '' ? null : name;
}

const postalCode = (text: string | null): string | null => plainPlace(text)?.replace(/[.~]/g, '') ?? null;

/** User-provided data: hashed by Google's rules, the place as it is and only beside a name. */
function userData(event: Event, context: MapContext<unknown>): object | null {
  const country = countryCode(event.country)?.toUpperCase() ?? null;
  const place = {
    city: placeName(event.city),
    region: placeName(event.state),
    postal_code: postalCode(event.zip),
    country,
  };
  const addresses = googleNames(context).map(({ givenName, familyName }) =>
    present({ sha256_first_name: givenName, sha256_last_name: familyName, ...place }),
  );
  return presentOrNull({
    sha256_email_address: listOrNull(everyHash(context, ({ email, email_google }) => email_google ?? email)),
    sha256_phone_number: listOrNull(everyHash(context, ({ phone }) => phone)),
    address: listOrNull(addresses),
  });
}

function userProperties(properties: Properties): object | null {
  const given = isRecord(properties['user_properties']) ? properties['user_properties'] : properties['$set'];
  if (!isRecord(given)) return null;
  const kept = Object.entries(given).flatMap(([name, value]): [string, object][] => {
    const isScalar = typeof value === 'string' || (typeof value === 'number' && Number.isFinite(value));
    if (!isScalar || !isUserPropertyName(name) || isVisitorIdentifierName(name)) return [];
    return [[name, { value: typeof value === 'string' ? cutText(value, USER_PROPERTY_CHARACTERS_MAX) : value }]];
  });
  return presentOrNull(Object.fromEntries(kept.slice(0, USER_PROPERTIES_MAX)));
}

const word = (granted: boolean | null): string | null => (granted === null ? null : granted ? 'GRANTED' : 'DENIED');

const consent = (choices: PrivacyChoices): object | null =>
  presentOrNull({
    ad_user_data: word(choices.adUserData),
    ad_personalization: word(isRestricted(choices) ? false : choices.adPersonalization),
  });

/** The customer's place, for events whose browser is not known; a state goes by its ISO 3166-2 code in the US only. */
function userLocation(event: Event): object | null {
  const country = countryCode(event.country);
  const state = country === 'us' ? stateCode(plainPlace(event.state), country) : null;
  return presentOrNull({
    city: plainPlace(event.city),
    region_id: state !== null && state.length === 2 ? `US-${state.toUpperCase()}` : null,
    country_id: country?.toUpperCase() ?? null,
  });
}

/**
 * What all events of one request share: who, where, and what was agreed to. GA4 has no word for a visitor who refuses to
 * be measured: like the ping of Google's own tag, such an event says nothing of who it was.
 */
function visitorOf(event: Event, context: MapContext<Ga4Settings>): Record<string, unknown> {
  const { identifiers, properties, settings, choices } = context;
  const isUnmeasured = choices.analytics === false;
  const isAnonymous = event.mode === 'offline' || isUnmeasured;
  const userId = isAnonymous ? null : identifiers.external_id;
  const address = settings.include_client_ip === 'yes' && !isUnmeasured ? clientAddress(event) : null;
  return present({
    client_id: clientId(event, properties, isUnmeasured),
    user_id: userId,
    // Google's page: user_id must be present wherever user_data is.
    user_data: userId === null || choices.adUserData === false ? null : userData(event, context),
    user_properties: isUnmeasured ? null : userProperties(properties),
    consent: consent(choices),
    ip_override: address,
    user_location: address === null ? userLocation(event) : null,
    user_agent: clientUserAgent(event),
  });
}

/** Limits of the Measurement Protocol's page on sending events. */
const PARAMETERS_MAX = 25;
const VALUE_CHARACTERS_MAX = 100;
const LONG_VALUES: ReadonlyMap<string, number> = new Map([
  ['page_title', 300],
  ['page_referrer', 420],
  ['page_location', 1000],
]);

/** What the request says elsewhere, or what GA4 has its own parameter for. */
const HANDLED_PARAMETERS = new Set([
  'items',
  'contents',
  'products',
  'client_id',
  'user_id',
  'user_properties',
  'consent',
  'timestamp_micros',
  'value',
  'currency',
  'transaction_id',
  'order_id',
  'event_id',
  'url',
  'page_url',
  'location',
  'referrer',
  'title',
  'session_id',
  'engagement_time_msec',
  // What was agreed to is said of the visitor.
  'gcs',
  'gcd',
  'npa',
  'gpc',
  'us_privacy',
  'opt_out',
  'opt_out_type',
  'limited_data_use',
  'restricted_data_processing',
  'data_processing_options',
  'data_processing_options_country',
  'data_processing_options_state',
  'ad_user_data',
  'ad_personalization',
  'ad_storage',
  'analytics_storage',
]);

const cut = (name: string, text: string): string => cutText(text, LONG_VALUES.get(name) ?? VALUE_CHARACTERS_MAX);

/** A value as GA4 takes it, a text or a number; flags go as texts, and all else is left out. */
function scalar(name: string, value: unknown): string | number | null {
  if (typeof value === 'string') return value.trim() === '' ? null : cut(name, value.trim());
  if (typeof value === 'number') return Number.isFinite(value) ? value : null;
  return typeof value === 'boolean' ? String(value) : null;
}

/** The session that the event belongs to, by which Realtime and session reports join it. */
const sessionId = (properties: Properties): string | null => {
  const id = firstText(properties, ['session_id', 'ga_session_id', '$ga_session_id', 'sid']);
  return id !== null && /^\d{1,20}$/.test(id) ? id : null;
};

/** GA4's own parameters of an item beside those that every platform has. */
const ITEM_PARAMETERS = [
  ...['affiliation', 'coupon', 'creative_name', 'creative_slot', 'discount', 'index'],
  ...['item_category2', 'item_category3', 'item_category4', 'item_category5', 'item_list_id', 'item_list_name'],
  ...['item_variant', 'location_id', 'promotion_id', 'promotion_name'],
];
const NUMBERS_OF_ITEMS = new Set(['discount', 'index']);

/** Custom parameters that GA4 keeps of an item. */
const CUSTOM_OF_ITEM_MAX = 10;

/** Names of items that are said under GA4's own. */
const HANDLED_ITEM_PARAMETERS: ReadonlySet<string> = new Set([
  ...Object.values(ITEM_FIELD_NAMES).flat(),
  ...ITEM_PARAMETERS,
  ...Object.values(ITEM_ALIASES).flat(),
]);

function item({ id, name, brand, category, price, quantity, given }: Item): object {
  const known = ITEM_PARAMETERS.map((parameter): [string, unknown] => {
    const names = [parameter, ...(ITEM_ALIASES[parameter] ?? [])];
    const text = (): string | null => firstText(given, names);
    return [parameter, NUMBERS_OF_ITEMS.has(parameter) ? firstNumber(given, names) : cutOrNull(text())];
  });
  const custom = Object.entries(given).flatMap(([parameter, value]): [string, string | number][] => {
    if (HANDLED_ITEM_PARAMETERS.has(parameter) || !isParameterName(parameter) || isVisitorIdentifierName(parameter))
      return [];
    const kept = scalar(parameter, value);
    return kept === null ? [] : [[parameter, kept]];
  });
  return present({
    item_id: cut('', id),
    item_name: cutOrNull(name),
    item_brand: cutOrNull(brand),
    item_category: cutOrNull(category),
    price,
    quantity,
    ...Object.fromEntries(known),
    ...Object.fromEntries(custom.slice(0, CUSTOM_OF_ITEM_MAX)),
  });
}

const cutOrNull = (text: string | null): string | null => (text === null ? null : cut('', text));

/** GA4 counts one purchase of a transaction id; one without an order has its event's, so that a repetition counts once. */
const transactionId = (event: Event, name: string, properties: Properties): string | null =>
  event.order_id ?? firstId(properties, ['transaction_id']) ?? (name === 'purchase' ? event.event_id : null);

function ownParameters(event: Event, eventName: string, properties: Properties): Record<string, unknown> {
  const items = itemsOf(properties).map(item);
  const orderId = transactionId(event, eventName, properties);
  const title = firstText(properties, ['page_title', '$title', 'title']);
  const url = pageUrl(properties);
  const referrer = pageReferrer(properties);
  return present({
    session_id: sessionId(properties),
    engagement_time_msec: firstNumber(properties, ['engagement_time_msec']) ?? 1,
    value: event.value,
    currency: currencyCode(event.currency),
    transaction_id: orderId === null ? null : cut('', orderId),
    items: items.length > 0 ? items : null,
    page_location: url === null ? null : cut('page_location', url),
    page_referrer: referrer === null ? null : cut('page_referrer', referrer),
    page_title: title === null ? null : cut('page_title', title),
    event_id: cut('', event.event_id),
  });
}

/**
 * The parameters of an event: GA4's own first, then the event's properties whose names GA4 takes, in their order, up to
 * the 25 it keeps. Values that are neither text, number nor flag are left out.
 */
function parametersOf(event: Event, eventName: string, properties: Properties): Record<string, unknown> {
  const own = ownParameters(event, eventName, properties);
  const rest = Object.entries(properties).flatMap(([name, value]): [string, string | number][] => {
    if (Object.hasOwn(own, name) || HANDLED_PARAMETERS.has(name) || isRecord(value)) return [];
    if (!isParameterName(name) || isVisitorIdentifierName(name)) return [];
    const kept = scalar(name, value);
    return kept === null ? [] : [[name, kept]];
  });
  return { ...own, ...Object.fromEntries(rest.slice(0, PARAMETERS_MAX - Object.keys(own).length)) };
}

/** GA4's form of a name: letters, digits and underscores, a letter first, at most 40 characters; null when nothing is left. */
function nameOf(text: string): string | null {
  const name = text
    .trim()
    .replace(/[^a-zA-Z0-9_]+/g, '_')
    .replace(/^[^a-zA-Z]+/, '')
    .replace(/_+$/, '')
    .slice(0, NAME_CHARACTERS_MAX);
  return name === '' ? null : name;
}

/** An event's name as GA4 takes it, or why it takes none. The canonical names are GA4's own. */
function eventName(
  context: Pick<MapContext<unknown>, 'name' | 'mappedEventName'>,
): { kind: 'name'; name: string } | { kind: 'skip'; reason: string } {
  const { canonical, given } = context.name;
  const name = context.mappedEventName ?? canonical ?? given;
  if (isReservedEventName(name)) return { kind: 'skip', reason: 'reserved_event_name' };
  const formed = nameOf(name);
  if (formed === null) return { kind: 'skip', reason: 'unusable_event_name' };
  return isReservedEventName(formed) ? { kind: 'skip', reason: 'reserved_event_name' } : { kind: 'name', name: formed };
}

/** Google's own click ids. */
const GOOGLE_CLICKS = new Set(['gclid', 'gbraid', 'wbraid', 'dclid']);
const OTHER_IDS = new Set(['subscription_id', 'page_id', 'lead_event_source']);

/**
 * Whether a property's name says that it holds an id of the visitor: a customer number, a device's or a lead's id, or
 * another platform's click. Google forbids what identifies a person, and has fields of its own for what it asks for.
 */
const isVisitorIdentifierName = (name: string): boolean =>
  OTHER_IDS.has(name) || (!GOOGLE_CLICKS.has(name) && keyMeaning(name).removal === 'if_anonymous');
