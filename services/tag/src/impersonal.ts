import { campaignOf } from './campaign.ts';
import { withoutIds } from './masked.ts';
import type { Properties } from './types.ts';

/** Names, folded, of what was bought and for how much: digits there are no phone's. */
const THING =
  /^_((\w+_)?(order|transaction|product|item|content|category|variant|promotion|coupon|list|creative|definition)_?ids?|\w*(value|price|tax|total|revenue|amount|shipping|discount)|sku|gtin|ean)_$/;
/** Parts of names, folded, by which SPEC 2.2, the platforms and other vocabularies know a person, a device or a click. */
const PERSONAL =
  /mail|phone|mobile|address|birth|street|postal|postcode|passw|token|secret|cookie|finger|login|credential|(sur|user|first|last|full|middle|given|family|maiden|display|nick|screen|customer|person|contact|recipient)_?name|clk?id_|braid_|li_fat|epik|_(ipv?|nick|tel|fax|city|town|zip|zip_?code|plz|dob|lat|lng|lon|latitude|longitude|geo|fb[pc]|ttp|g[ac]l?|gid|user|username|customer|member|alias|iban|ssn|vat|traits|hash)_|^_name_$/;
/** A name that ends in an id of something else than what was bought. */
const ID =
  /(_|user|client|customer|visitor|device|session|external|account|member|anonymous|distinct)[a-z]{0,2}id(s|_\w)?_$/;

/** `$deviceId` and `device-id-2` are `_device_id_`. */
const folded = (name: string): string =>
  `_${name.replace(/([a-z\d])([A-Z])/g, '$1_$2').toLowerCase()}_`.replace(/[\W\d_]+/g, '_');

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

/**
 * The properties without what tells one visitor from another: no identifier by its name, and no text that holds an e-mail
 * address, a phone number or a token, however deep; of the page's address no query but the campaign, and of the page before
 * only the site. In the address, the campaign and the title such are masked.
 */
export function impersonal(properties: Properties): Properties {
  const { $current_url, $referrer, $title, ...others } = properties;
  const { origin, pathname, search } = new URL($current_url as string);
  return {
    ...campaignOf(withoutIds(search)),
    ...cleanedEntries(JSON.parse(JSON.stringify(others)) as object),
    $current_url: origin + withoutIds(pathname),
    ...($title ? { $title: withoutIds($title as string) } : {}),
    ...($referrer ? { $referrer: new URL($referrer as string).origin } : {}),
  };
}
