import { isIP } from 'node:net';
import { sha256Hex } from '#pipelines/delivery/hash.ts';
import { cityName, countryCode, postalCodes, stateCode } from '#pipelines/delivery/places.ts';
import { firstText, type Properties, pageParameter } from '#pipelines/delivery/properties.ts';
import type { Event, Identifiers } from '#schemas/event.ts';
import type { Site } from '#schemas/setting.ts';

export type UserData = Record<string, string | string[]>;

const hashed = (value: string | null): string | null => (value === null ? null : sha256Hex(value));

/** Lists let several forms of one value be offered; a single value goes as a text. */
const hashedList = (values: string[]): string | string[] | null =>
  values.length > 1 ? values.map(sha256Hex) : hashed(values[0] ?? null);

function placeKeys(event: Event, site: Site): Record<string, string | string[] | null> {
  const country = countryCode(event.country);
  const readAs = country ?? countryCode(site.default_country);
  return {
    ct: hashed(cityName(event.city)),
    st: hashed(stateCode(event.state, readAs)),
    zp: hashedList(postalCodes(event.zip, readAs)),
    country: hashed(country),
  };
}

const FBC = /^fb\.\d+\.\d{10,16}\.[^\s]+$/;
const FBP = /^fb\.\d+\.\d{10,16}\.\d+/;

/**
 * The click id: the cookie's value when the event carries it, else built from the click's parameter as
 * `fb.1.<milliseconds>.<fbclid>`. The case of fbclid is significant.
 */
export function clickId(event: Event, properties: Properties): string | null {
  const cookie = firstText(properties, ['fbc', '_fbc', '$fbc']);
  if (cookie !== null && FBC.test(cookie)) return cookie;
  const parameter = firstText(properties, ['fbclid', '$fbclid']) ?? pageParameter(properties, 'fbclid');
  return parameter === null ? null : `fb.1.${event.timestamp}.${parameter}`;
}

function browserId(properties: Properties): string | null {
  const cookie = firstText(properties, ['fbp', '_fbp', '$fbp']);
  return cookie !== null && FBP.test(cookie) ? cookie : null;
}

/** Ids that Meta or the advertiser gave out; Meta's page lists them under "do not hash". */
const PLAIN_IDS = ['subscription_id', 'lead_id', 'fb_login_id', 'ctwa_clid', 'page_id', 'madid', 'anon_id'];

/** The customer information parameters of an event, those that are absent left out. */
export function userData(event: Event, site: Site, identifiers: Identifiers, properties: Properties): UserData {
  const keys: Record<string, string | string[] | null> = {
    em: identifiers.email,
    ph: identifiers.phone_digits,
    fn: identifiers.first_name,
    ln: identifiers.last_name,
    external_id: identifiers.external_id,
    ...placeKeys(event, site),
    client_ip_address: event.client_ip !== null && isIP(event.client_ip) > 0 ? event.client_ip : null,
    client_user_agent: event.client_user_agent,
    fbc: clickId(event, properties),
    fbp: browserId(properties),
    ...Object.fromEntries(PLAIN_IDS.map((name) => [name, firstText(properties, [name])])),
  };
  return Object.fromEntries(Object.entries(keys).flatMap(([key, value]) => (value === null ? [] : [[key, value]])));
}

/** Combinations that Meta's best practices page names as too broad to match anybody by; an event with no more is refused. */
const TOO_BROAD = [
  new Set(['ct', 'country', 'st', 'zp', 'ge', 'client_user_agent']),
  new Set(['db', 'client_user_agent']),
  new Set(['fn', 'ge']),
];

export function isTooBroad(data: UserData): boolean {
  const keys = Object.keys(data);
  return TOO_BROAD.some((broad) => keys.every((key) => broad.has(key)));
}
