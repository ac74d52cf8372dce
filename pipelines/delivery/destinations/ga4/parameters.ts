import { currencyCode } from '#pipelines/delivery/currency.ts';
import { cutText } from '#pipelines/delivery/cut_text.ts';
import { isParameterName } from '#pipelines/delivery/ga4_names.ts';
import { type Item, itemsOf } from '#pipelines/delivery/items.ts';
import { present } from '#pipelines/delivery/present.ts';
import {
  firstId,
  firstNumber,
  firstText,
  isRecord,
  type Properties,
  pageReferrer,
  pageUrl,
} from '#pipelines/delivery/properties.ts';
import type { Event } from '#schemas/event.ts';
import { namesVisitor } from './names.ts';

/** Limits of the Measurement Protocol's page on sending events. */
const PARAMETERS_MAX = 25;
const VALUE_CHARACTERS_MAX = 100;
const LONG_VALUES: ReadonlyMap<string, number> = new Map([
  ['page_title', 300],
  ['page_referrer', 420],
  ['page_location', 1000],
]);

/** What the request says elsewhere, or what GA4 has its own parameter for. */
const SAID_ELSEWHERE = new Set([
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

/** GA4's own parameters of an item beside those that every platform has, and other names under which they come. */
const ITEM_PARAMETERS: ReadonlyMap<string, readonly string[]> = new Map([
  ['affiliation', []],
  ['coupon', []],
  ['creative_name', []],
  ['creative_slot', []],
  ['discount', []],
  ['index', ['position', 'list_position']],
  ['item_category2', []],
  ['item_category3', []],
  ['item_category4', []],
  ['item_category5', []],
  ['item_list_id', ['list_id']],
  ['item_list_name', ['list_name', 'list']],
  ['item_variant', ['variant']],
  ['location_id', []],
  ['promotion_id', []],
  ['promotion_name', []],
]);
const NUMBERS_OF_ITEMS = new Set(['discount', 'index']);

/** Custom parameters that GA4 keeps of an item. */
const CUSTOM_OF_ITEM_MAX = 10;

/** Names of items that are said under GA4's own. */
const SAID_OF_ITEM = new Set([
  ...['item_id', 'id', 'content_id', 'product_id', 'sku', 'item_name', 'name', 'content_name', 'title'],
  ...['item_brand', 'brand', 'item_category', 'category', 'content_category', 'price', 'item_price', 'quantity'],
  ...[...ITEM_PARAMETERS].flat(2),
]);

function item({ id, name, brand, category, price, quantity, given }: Item): object {
  const known = [...ITEM_PARAMETERS].map(([parameter, others]): [string, unknown] => {
    const names = [parameter, ...others];
    const text = (): string | null => firstText(given, names);
    return [parameter, NUMBERS_OF_ITEMS.has(parameter) ? firstNumber(given, names) : cutOrNull(text())];
  });
  const custom = Object.entries(given).flatMap(([parameter, value]): [string, string | number][] => {
    if (SAID_OF_ITEM.has(parameter) || !isParameterName(parameter) || namesVisitor(parameter)) return [];
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
export function parametersOf(event: Event, eventName: string, properties: Properties): Record<string, unknown> {
  const own = ownParameters(event, eventName, properties);
  const rest = Object.entries(properties).flatMap(([name, value]): [string, string | number][] => {
    if (Object.hasOwn(own, name) || SAID_ELSEWHERE.has(name) || isRecord(value)) return [];
    if (!isParameterName(name) || namesVisitor(name)) return [];
    const kept = scalar(name, value);
    return kept === null ? [] : [[name, kept]];
  });
  return { ...own, ...Object.fromEntries(rest.slice(0, PARAMETERS_MAX - Object.keys(own).length)) };
}
