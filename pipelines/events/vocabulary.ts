// What senders call conversions and properties, and how their values are read.
import { isPlaceholderId, isRounded } from '#pipelines/privacy/placeholder_ids.ts';

/**
 * The canonical conversion names (GA4's) and the names other vocabularies use for the same act: Segment's e-commerce
 * specification, the browser pixels' standard events and PostHog's page view.
 */
export const ALIASES = {
  page_view: ['page', 'PageView', 'Pageview', '$pageview', 'page viewed', 'PageVisit'],
  view_item: ['Product Viewed', 'ViewContent'],
  view_item_list: ['Product List Viewed', 'ListView'],
  search: ['view_search_results', 'Products Searched', 'Search'],
  add_to_cart: ['Product Added', 'AddToCart', 'AddCart'],
  add_to_wishlist: ['Product Added to Wishlist', 'AddToWishlist'],
  begin_checkout: ['Checkout Started', 'InitiateCheckout', 'StartCheckout'],
  add_payment_info: ['Payment Info Entered', 'AddPaymentInfo', 'AddBilling'],
  purchase: ['Order Completed', 'Purchase', 'CompletePayment', 'PlaceAnOrder'],
  refund: ['Order Refunded'],
  generate_lead: ['Lead Generated', 'Lead', 'SubmitForm'],
  sign_up: ['Signed Up', 'SignUp', 'CompleteRegistration'],
  subscribe: ['Subscribe'],
  start_trial: ['Trial Started', 'StartTrial'],
  contact: ['Contact'],
  schedule: ['Schedule'],
  find_location: ['FindLocation'],
  customize_product: ['CustomizeProduct'],
  download: ['Download'],
  donate: ['Donate'],
  submit_application: ['SubmitApplication'],
} as const;

export type CanonicalName = keyof typeof ALIASES;
export const CANONICAL_NAMES = Object.keys(ALIASES) as CanonicalName[];

/** The act an event stands for: its canonical name where it has one, and the name it was given. */
export interface ConversionName {
  canonical: CanonicalName | null;
  given: string;
}

/** A name as it is compared: case and separators do not matter. */
export const folded = (name: string): string => name.toLowerCase().replace(/[\s_.-]+/g, '');

const CANONICAL_BY_FOLDED: ReadonlyMap<string, CanonicalName> = new Map(
  CANONICAL_NAMES.flatMap((canonical) =>
    [canonical, ...ALIASES[canonical]].map((alias): [string, CanonicalName] => [folded(alias), canonical]),
  ),
);

/** Reads a name in any of the known vocabularies; case and separators do not matter. */
export function conversionName(given: string): ConversionName {
  return { canonical: CANONICAL_BY_FOLDED.get(folded(given)) ?? null, given };
}

/** A platform's own name for the act; its table leaves out what it has no standard event for, which goes as given. */
export function platformName(name: ConversionName, table: Partial<Record<CanonicalName, string>>): string {
  return (name.canonical === null ? undefined : table[name.canonical]) ?? name.given;
}

/** Reads event properties, whose names and types are the sender's. */
export type Properties = Record<string, unknown>;

export const isRecord = (value: unknown): value is Properties =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The first of the named properties that is a text with something in it; numbers that were not rounded count as text. */
export function firstText(properties: Properties, names: readonly string[]): string | null {
  for (const name of names) {
    const value = properties[name];
    if (typeof value === 'string' && value.trim() !== '') return value.trim();
    if (typeof value === 'number' && Number.isFinite(value) && !isRounded(value)) return String(value);
  }
  return null;
}

/** The first of the named properties that is an id: what many people share by mistake would be one person's elsewhere too. */
export const firstId = (properties: Properties, names: readonly string[]): string | null =>
  names.map((name) => firstText(properties, [name])).find((id) => id !== null && !isPlaceholderId(id)) ?? null;

/** The first of the named properties that is a finite number, or a text that is one in decimal notation. */
export function firstNumber(properties: Properties, names: readonly string[]): number | null {
  for (const name of names) {
    const value = properties[name];
    if (typeof value === 'number' && Number.isFinite(value)) return value;
    if (typeof value === 'string' && /^\s*-?\d{1,15}(\.\d{1,10})?\s*$/.test(value)) return Number(value);
  }
  return null;
}

function nested(properties: Properties, path: readonly string[]): Properties {
  let value: unknown = properties;
  for (const step of path) value = isRecord(value) ? value[step] : undefined;
  return isRecord(value) ? value : {};
}

const isWebAddress = (text: string | null): text is string => text !== null && /^https?:\/\/[^\s]+$/i.test(text);

const PAGE_URL_NAMES = ['event_source_url', '$current_url', 'page_location', 'page_url', 'url', '$url', 'location'];
const PAGE_URL_PLACES: readonly string[][] = [[], ['page'], ['context', 'page']];

const placed = (properties: Properties, places: readonly string[][], names: readonly string[]): (string | null)[] =>
  places.flatMap((path) => names.map((name) => firstText(nested(properties, path), [name])));

const REFERRER_NAMES = ['$referrer', 'page_referrer', 'referrer', 'referrer_url', 'document_referrer'];

/** The http or https address of the page before, under the names that common tags and SDKs use. */
export const pageReferrer = (properties: Properties): string | null =>
  placed(properties, PAGE_URL_PLACES, REFERRER_NAMES).find(isWebAddress) ?? null;

/** The http or https address of the page where the event happened, under the names that common tags and SDKs use. */
export function pageUrl(properties: Properties): string | null {
  return placed(properties, PAGE_URL_PLACES, PAGE_URL_NAMES).find(isWebAddress) ?? null;
}

/** A parameter of the page address, as it was written there (case kept). */
export function pageParameter(properties: Properties, name: string): string | null {
  const url = pageUrl(properties);
  const value = url !== null && URL.canParse(url) ? new URL(url).searchParams.get(name) : null;
  return value === '' ? null : value;
}

/** A text under one of the names, or else as a parameter of the page address: how click ids travel. */
export const textOrParameter = (properties: Properties, names: readonly string[], parameter: string): string | null =>
  firstText(properties, names) ?? pageParameter(properties, parameter);

/** What a yes-or-no property says. `unreadable`: it is there, and means neither. */
export type PrivacyFlag = 'yes' | 'no' | 'absent' | 'unreadable';

const YES = new Set(['true', '1', 'yes', 'y', 'on', 't']);
const NO = new Set(['false', '0', 'no', 'n', 'off', 'f']);

/** A value as a word without case; empty where it is none, such as an object, which may not even have a text. */
export const wordOf = (value: unknown): string =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    ? String(value).trim().toLowerCase()
    : '';

/** Reads a flag, a number or a word, whatever its case; null, an empty text and PHP's empty object, which is a list, say nothing. */
export function readFlag(value: unknown): PrivacyFlag {
  if (value === undefined || value === null || (Array.isArray(value) && value.length === 0)) return 'absent';
  if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') return 'unreadable';
  const word = wordOf(value);
  if (word === '') return 'absent';
  if (YES.has(word)) return 'yes';
  return NO.has(word) ? 'no' : 'unreadable';
}

/** The object or list that a text holds as JSON, as tag managers send them; anything else is as it was. */
export function unwrapped(value: unknown): unknown {
  if (typeof value !== 'string' || !/^\s*[[{]/.test(value)) return value;
  try {
    return JSON.parse(value) as unknown;
  } catch {
    return value;
  }
}

/**
 * The property in which an event says itself where it goes, in the form that event definitions have: `{ "meta": false }`.
 * A kind speaks for its destinations that are not named, `all` for the others: `{ "all": false, "webhook": true }`. Absent means send.
 */
export const DESTINATIONS_PROPERTY = '$destinations';

/** Whether the event keeps itself from a destination. What cannot be read counts as a no, as it does of consent. */
export function excludesDestination(properties: Properties, destination: string, kind = destination): boolean {
  const said = unwrapped(properties[DESTINATIONS_PROPERTY]);
  const flag = isRecord(said) ? firstStated(said[destination], said[kind], said['all']) : readFlag(said);
  return flag === 'no' || flag === 'unreadable';
}

const firstStated = (...said: readonly unknown[]): PrivacyFlag =>
  said.map(readFlag).find((flag) => flag !== 'absent') ?? 'absent';
