// What advertising platforms ask of an event alike: when, under which id, what was bought.

import { firstNumber, firstText, isRecord, type Properties } from '#pipelines/events/vocabulary.ts';
import { readShortText } from '#pipelines/intake/field_rules.ts';
import { META_LIBRARY, TIKTOK_LIBRARY } from '#pipelines/intake/pixels.ts';
import { REDACTED } from '#pipelines/privacy/normalise_text.ts';
import type { Event } from '#schemas/event.ts';

/** What was bought, seen or looked for, as the advertising platforms ask for it alike. */
interface Commerce {
  value: number | null;
  currency: string | null;
  orderId: string | null;
  items: readonly Item[];
  contentIds: readonly string[];
  contentType: string | null;
  contentName: string | null;
  contentCategory: string | null;
  /** Pieces, not kinds. */
  itemCount: number | null;
  searchTerm: string | null;
}

function contentIds(properties: Properties, items: readonly Item[]): string[] {
  const given = properties['content_ids'];
  if (!Array.isArray(given)) return items.map((item) => item.id);
  return given.flatMap((id) => (typeof id === 'string' || typeof id === 'number' ? [String(id)] : []));
}

/** Reads an event in GA4's, Segment's or a pixel's own vocabulary. */
export function commerceOf(event: Event, properties: Properties): Commerce {
  const items = itemsOf(properties);
  const ids = contentIds(properties, items);
  const counted = items.length === 0 ? null : items.reduce((sum, item) => sum + (item.quantity ?? 1), 0);
  return {
    value: event.value,
    currency: currencyCode(event.currency),
    orderId: event.order_id,
    items,
    contentIds: ids,
    contentType: firstText(properties, ['content_type']) ?? (ids.length > 0 ? 'product' : null),
    contentName: firstText(properties, ['content_name']),
    contentCategory: firstText(properties, ['content_category']),
    itemCount: firstNumber(properties, ['num_items']) ?? counted,
    searchTerm: firstText(properties, ['search_string', 'search_term', 'query']),
  };
}

/** One bought or seen thing, in GA4's terms. */
export interface Item {
  id: string;
  name: string | null;
  brand: string | null;
  category: string | null;
  price: number | null;
  quantity: number | null;
  /** All that was said of it, under the names of whoever said it. */
  given: Properties;
}

const LIST_NAMES = ['items', 'contents', 'products'];
/** GA4 caps items at 200; nothing more is of use to a platform. */
const ITEMS_MAX = 200;

/** Under which names an item's fields come, the first that says something first. */
export const ITEM_FIELD_NAMES = {
  id: ['item_id', 'id', 'content_id', 'product_id', 'sku'],
  name: ['item_name', 'name', 'content_name', 'title'],
  brand: ['item_brand', 'brand'],
  category: ['item_category', 'category', 'content_category'],
  price: ['price', 'item_price'],
  quantity: ['quantity'],
} as const;

function readItem(value: unknown): Item[] {
  if (!isRecord(value)) return [];
  const id = firstText(value, ITEM_FIELD_NAMES.id);
  if (id === null) return [];
  return [
    {
      id,
      name: firstText(value, ITEM_FIELD_NAMES.name),
      brand: firstText(value, ITEM_FIELD_NAMES.brand),
      category: firstText(value, ITEM_FIELD_NAMES.category),
      price: firstNumber(value, ITEM_FIELD_NAMES.price),
      quantity: firstNumber(value, ITEM_FIELD_NAMES.quantity),
      given: value,
    },
  ];
}

/** Items in GA4's `items`, Meta's and TikTok's `contents` or Segment's `products`; those without an id are left out. */
export function itemsOf(properties: Properties): Item[] {
  for (const name of LIST_NAMES) {
    const list = properties[name];
    if (Array.isArray(list) && list.length > 0) return list.slice(0, ITEMS_MAX).flatMap(readItem);
  }
  return [];
}

/**
 * The currencies of ISO 4217 that money is paid in: not its funds, metals and test codes, nor what has given way to
 * another, but for ANG and BGN, which did so of late. Platforms refuse an event with any other.
 */
const CURRENCIES: ReadonlySet<string> = new Set(
  [
    'AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF',
    'CHF CLP CNY COP CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD',
    'HNL HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD',
    'MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN',
    'PYG QAR RON RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY',
    'TTD TWD TZS UAH UGX USD UYU UZS VES VND VUV WST XAF XCD XCG XOF XPF YER ZAR ZMW ZWG',
  ].flatMap((line) => line.split(' ')),
);

/** ISO 4217 in upper case; null when it is none. */
export function currencyCode(text: string | null): string | null {
  const code = text?.trim().toUpperCase() ?? '';
  return CURRENCIES.has(code) ? code : null;
}

/**
 * When the event happened, in milliseconds since 1970 UTC. Platforms refuse a time in their future; an event cannot have
 * happened after it reached us, whatever the sender's clock says.
 */
export const happenedAtMs = (event: Event): number => Math.min(event.timestamp, event.received_at);

/** The same in whole seconds, as most platforms take it. */
export const happenedAtS = (event: Event): number => Math.floor(happenedAtMs(event) / 1000);

/** Room for clocks that differ and for the time a batch spends on its way: one event too old refuses a whole batch. */
const AGE_MARGIN_MS = 60_000;

/** When an event becomes older than a platform takes it, milliseconds since 1970 UTC. */
export const deadlineOfAge = (event: Event, ageMaxMs: number): number => event.timestamp + ageMaxMs - AGE_MARGIN_MS;

const PIXEL_LIBRARIES: ReadonlySet<unknown> = new Set([META_LIBRARY, TIKTOK_LIBRARY]);

/**
 * The id by which an ad platform tells that an event is one with what its own pixel on the page sent: the event's id, or
 * of a pixel's hit the id that the page gave to the pixel. One that held personal data was removed from the event.
 */
export function dedupId(event: Event, properties: Properties): string {
  const sent = PIXEL_LIBRARIES.has(properties['$lib']) ? readShortText(properties['$event_id']) : null;
  return sent === null || sent.includes(REDACTED) ? event.event_id : sent;
}
