// What is taken off events and texts, so that they tell no visitor from another and hold nobody's data.
import type { Properties } from './types.ts';
import { campaignOf } from './visitor.ts';

/** A text without its parts that hold an e-mail address or six digits in a row, as a phone or an account has. */
export const covered = (text: string): string =>
  text.replace(/[^\s/=&?]+/g, (part) => (/@|%40|\d{6}/.test(part) ? '***' : part));

/**
 * What may be told of anybody's event, and tells nobody from another, whatever the page has put into it: where it happened,
 * how the visitor came, and what an order has.
 */
export const bare = ({ $current_url, $referrer, value, currency, order_id }: Properties): Properties => {
  const { origin, pathname, search } = new URL($current_url as string);
  return {
    ...campaignOf(covered(search)),
    $current_url: origin + covered(pathname),
    $referrer: $referrer && new URL($referrer as string).origin,
    value,
    currency,
    order_id,
  };
};

/** Names, folded, of what was bought and for how much: digits there are no phone's. */
const THING =
  /^_((\w+_)?(order|transaction|product|item|content|category|variant|promotion|coupon|list|creative|definition)_?ids?|\w*(value|price|tax|total|revenue|amount|shipping|discount)|sku|gtin|ean)_$/;
/** Parts of names, folded, by which the API, the platforms and other vocabularies know a person, a device or a click. */
const PERSONAL =
  /mail|phone|mobile|address|birth|street|postal|postcode|passw|token|secret|cookie|finger|login|credential|(sur|user|first|last|full|middle|given|family|maiden|display|nick|screen|customer|person|contact|recipient)_?name|clk?id_|braid_|li_fat|epik|_(ipv?|nick|tel|fax|city|town|zip|zip_?code|plz|dob|lat|lng|lon|latitude|longitude|geo|fb[pc]|ttp|g[ac]l?|gid|user|username|customer|member|alias|iban|ssn|vat|traits|hash)_|^_name_$/;
/** A name that ends in an id of something else than what was bought. */
const ID =
  /(_|user|client|customer|visitor|device|session|external|account|member|anonymous|distinct)[a-z]{0,2}id(s|_\w)?_$/;

/** `$deviceId` and `device-id-2` are `_device_id_`. */
const folded = (name: string): string =>
  `_${name.replace(/([a-z\d])([A-Z])/g, '$1_$2').toLowerCase()}_`.replace(/[\W\d_]+/g, '_');

/**
 * A text without e-mail addresses, without tokens (UUIDs and 20 or more letters with digits among them) and without numbers
 * of nine or more digits, such as a phone's or a card's.
 */
const withoutIds = (text: string): string =>
  text
    .replace(/[^\s@/=&?]{1,64}(@|%40)[^\s@/&]+/gi, '***')
    .replace(/[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}/gi, '***')
    .replace(/\b(?=[a-z]*\d)(?=\d*[a-z])[a-z\d]{20,}/gi, '***')
    .replace(/\+?\d([\s()./-]{0,2}\d){8,}/g, '***');

const tells = (name: string, text: string): boolean =>
  THING.test(name) ? /@|%40/.test(text) : PERSONAL.test(name) || ID.test(name) || withoutIds(text) !== text;

/** A JSON value without what tells one visitor from another in it; undefined where that is all of it. */
function cleaned(value: unknown, name: string): unknown {
  if (typeof value === 'boolean' || value === null) return value;
  if (tells(name, typeof value === 'object' ? '' : `${value as string}`)) return undefined;
  if (Array.isArray(value)) return value.map((one) => cleaned(one, name)).filter((one) => one !== undefined);
  return typeof value === 'object' ? cleanedEntries(value) : value;
}

const cleanedEntries = (value: object): Properties =>
  Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => withoutIds(name) === name)
      .map(([name, one]) => [name, cleaned(one, folded(name))]),
  );

/** A route in the fragment; empty for another fragment, and for the route of the root, which is the page itself. */
export const routeOf = (hash: string): string => /^#!?\/[^?#]+/.exec(hash)?.[0] ?? '';

/**
 * The properties without what tells one visitor from another: no identifier by its name, and no text that holds an e-mail
 * address, a phone number or a token, however deep; of the page's address no query but the campaign and no fragment but a route
 * that counts, and of the page before only the site. In the address, the campaign and the title such are masked.
 */
export function impersonal(properties: Properties, hasRoutes?: boolean): Properties {
  const { $current_url, $referrer, $title, ...others } = properties;
  const { origin, pathname, search, hash } = new URL($current_url as string);
  return {
    ...campaignOf(withoutIds(search)),
    ...cleanedEntries(JSON.parse(JSON.stringify(others)) as object),
    $current_url: origin + withoutIds(pathname + (hasRoutes ? routeOf(hash) : '')),
    ...($title ? { $title: withoutIds($title as string) } : {}),
    ...($referrer ? { $referrer: new URL($referrer as string).origin } : {}),
  };
}

const CHARACTERS_MAX = 500;

/** A text on one line. */
export const squeezed = (text: string): string => text.replace(/\s+/g, ' ').trim();

/** The beginning of a text up to where a word of it or a part of an address ends, so that nothing is cut out of sight. */
const beginning = (text: string): string =>
  text.length > CHARACTERS_MAX ? text.slice(0, CHARACTERS_MAX).replace(/[^\s/]*$/, '') : text;

/** The first 500 characters of a text on one line, without that. */
export const masked = (text: string): string => withoutIds(beginning(squeezed(text)));

/** Where a visitor's own words may stand: what is typed, chosen, edited or computed from that. */
const PRIVATE =
  'textarea,select,option,output,script,style,[contenteditable],[role=textbox],[role=searchbox],[role=combobox],[data-svc-private]';

function gather(node: Node): string {
  let text = '';
  for (const child of node.childNodes) {
    if (child instanceof Text) text += child.data;
    else if (child instanceof Element && !child.matches(PRIVATE)) text += ` ${gather(child)} `;
  }
  return text;
}

/** What the page says in an element, on one line; never what a person typed there. It forces no layout. */
export function textOf(element: Element): string {
  if (element.closest(PRIVATE)) return '';
  const isButton = element instanceof HTMLInputElement && /^(submit|button|reset)$/.test(element.type);
  return squeezed(isButton ? element.value : gather(element));
}
