import { currencyCode } from '#pipelines/delivery/currency.ts';
import { isParameterName } from '#pipelines/delivery/ga4_names.ts';
import { type Item, itemsOf } from '#pipelines/delivery/items.ts';
import { present } from '#pipelines/delivery/present.ts';
import {
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

const cut = (name: string, text: string): string => text.slice(0, LONG_VALUES.get(name) ?? VALUE_CHARACTERS_MAX);

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

const item = ({ id, name, brand, category, price, quantity }: Item): object =>
  present({
    item_id: cut('', id),
    item_name: name === null ? null : cut('', name),
    item_brand: brand === null ? null : cut('', brand),
    item_category: category === null ? null : cut('', category),
    price,
    quantity,
  });

/** GA4 counts one purchase of a transaction id; one without an order has its event's, so that a repetition counts once. */
const transactionId = (event: Event, name: string, properties: Properties): string | null =>
  event.order_id ?? firstText(properties, ['transaction_id']) ?? (name === 'purchase' ? event.event_id : null);

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
