// Items and purchases in GA4's words.
import type { JsonObject } from '#pipelines/privacy/clean_properties.ts';
import { isPlaceholderId } from '#pipelines/privacy/placeholder_ids.ts';
import type { Caller } from '#schemas/event.ts';
import { digestId } from '../event_id.ts';
import { readShortText } from '../field_rules.ts';
import { canonicalJson } from '../json_text.ts';
import { numberOr } from './hits.ts';

/** GA4 takes no more of one event. */
export const ITEMS_MAX = 200;

/** Keys and the names they stand for, as `id:item_id`. */
export function namesOf(...lists: readonly string[]): ReadonlyMap<string, string> {
  return new Map(lists.flatMap((list) => list.split(' ').map((pair) => pair.split(':') as [string, string])));
}

/** What stands before a value of an item on the wire, and GA4's name for it. */
const FIELDS = namesOf(
  'id:item_id nm:item_name br:item_brand ca:item_category c2:item_category2 c3:item_category3 c4:item_category4',
  'c5:item_category5 va:item_variant pr:price qt:quantity cp:coupon ln:item_list_name lp:index li:item_list_id',
  'ds:discount af:affiliation pi:promotion_id pn:promotion_name cn:creative_name cs:creative_slot lo:location_id',
);
const NUMBERS = new Set(['price', 'quantity', 'index', 'discount']);
/** The parameters of its own that an item may have are counted by one character: 0 to 9, then A to Q. */
const OWN_NAME = /^k[0-9A-Q]/;
const OWN_VALUE = /^v[0-9A-Q]/;

/**
 * GA4's parameters of an item that come under other names too, as gtag called them before GA4 and still takes them: of hits
 * that come, and of events of others that are sent to GA4.
 */
export const ITEM_ALIASES: Readonly<Record<string, readonly string[]>> = {
  item_id: ['id'],
  item_name: ['name'],
  item_brand: ['brand'],
  item_variant: ['variant'],
  item_list_id: ['list_id'],
  item_list_name: ['list_name', 'list'],
  index: ['position', 'list_position'],
  creative_name: ['creative'],
};
const NAMES_BY_ALIAS: ReadonlyMap<string, string> = new Map(
  Object.entries(ITEM_ALIASES).flatMap(([name, aliases]) => aliases.map((alias): [string, string] => [alias, name])),
);
const CATEGORIES = ['item_category', 'item_category2', 'item_category3', 'item_category4', 'item_category5'];

const ITEM_KEY = /^pr(\d{1,3})$/;

/** The items of a hit, `pr1` to `pr200`, in that order; those that say nothing are left out. */
export function itemsOfHit(fields: ReadonlyMap<string, string>): JsonObject[] {
  const numbered: [number, string][] = [];
  for (const [key, text] of fields) {
    const number = Number(ITEM_KEY.exec(key)?.[1] ?? 0);
    if (number >= 1 && number <= ITEMS_MAX) numbered.push([number, text]);
  }
  return numbered
    .sort(([a], [b]) => a - b)
    .map(([, text]) => readItem(text))
    .filter((item) => Object.keys(item).length > 0);
}

/** An item as it is on the wire, `id1~nmShirt~pr9.5`, under GA4's names. */
export function readItem(text: string): JsonObject {
  const item = new Map<string, unknown>();
  const ownNames = new Map<string, string>();
  const ownValues = new Map<string, string>();
  for (const part of partsOf(text)) {
    const code = part.slice(0, 2);
    const value = part.slice(2);
    const name = FIELDS.get(code);
    if (name !== undefined) item.set(name, typedValue(name, value));
    else if (OWN_NAME.test(code)) ownNames.set(code.charAt(1), value);
    else if (OWN_VALUE.test(code)) ownValues.set(code.charAt(1), value);
  }
  for (const [index, name] of ownNames) {
    const value = ownValues.get(index);
    if (name !== '' && value !== undefined && !item.has(name)) item.set(name, value);
  }
  return withoutLegacyNames(Object.fromEntries(item));
}

/** Separated by `~`; two of them are one that belongs to a value. What follows a last one is nothing. */
function partsOf(text: string): string[] {
  const parts: string[] = [];
  let part = '';
  for (let from = 0; from <= text.length; ) {
    const found = text.indexOf('~', from);
    const at = found < 0 ? text.length : found;
    part += text.slice(from, at);
    const isOfValue = text.charAt(at + 1) === '~';
    if (isOfValue) part += '~';
    else {
      parts.push(part);
      part = '';
    }
    from = at + (isOfValue ? 2 : 1);
  }
  return parts;
}

/** An item under GA4's names of today, which win over those it had before; a category's levels stand apart. */
export function withoutLegacyNames(item: JsonObject): JsonObject {
  const renamed = new Map<string, unknown>();
  for (const [name, value] of Object.entries(item)) {
    if (name === 'category') {
      for (const [level, part] of levelsOf(value)) keepFirst(renamed, item, level, part);
    } else {
      const today = NAMES_BY_ALIAS.get(name);
      if (today === undefined) renamed.set(name, value);
      else keepFirst(renamed, item, today, typedValue(today, value));
    }
  }
  return Object.fromEntries(renamed);
}

function keepFirst(renamed: Map<string, unknown>, item: JsonObject, name: string, value: unknown): void {
  if (!Object.hasOwn(item, name) && !renamed.has(name)) renamed.set(name, value);
}

function levelsOf(category: unknown): [string, unknown][] {
  if (typeof category !== 'string') return [['item_category', category]];
  const levels = category.split('/', CATEGORIES.length);
  return levels.map((level, at) => [CATEGORIES[at] ?? '', level]);
}

function typedValue(name: string, value: unknown): unknown {
  return NUMBERS.has(name) && typeof value === 'string' ? numberOr(value) : value;
}

/** What a purchase is known by that has no id of its own, and who says so. */
interface SentPurchase {
  transactionId: unknown;
  clientId: unknown;
  caller: Caller;
}

/** An id that says something; a placeholder would be that of many. */
export function statedId(sent: unknown): string | null {
  const id = readShortText(sent);
  return id === null || isPlaceholderId(id) ? null : id;
}

/** A client id as gtag keeps it in its cookie: a random number of 31 bits, and the second in which it was made. */
const OF_GTAG = /^\d{1,10}\.\d{10}$/;

/**
 * The id of a purchase by its transaction and its client, as GA4 takes purchases for one by transaction and user. The
 * transaction alone is often an order number that can be guessed: with that as id, a stranger's hit would make the real
 * order a duplicate. A server that states no browser's client id is believed, and its purchase is known by the
 * transaction alone, whatever it makes up as client id. Null where a browser states no client.
 */
export function purchaseId({ transactionId, clientId, caller }: SentPurchase, secret: Buffer): string | null {
  const transaction = statedId(transactionId);
  if (transaction === null) return null;
  const client = readShortText(clientId);
  if (caller === 'server' && !OF_GTAG.test(client ?? '')) return transaction;
  return client === null ? null : digestId(canonicalJson(['ga4 purchase', client, transaction]), secret);
}
