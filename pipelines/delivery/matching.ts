// By what platforms match a person: identifiers, places, names, device.

import { cityName, countryCode, postalCodes, stateCode } from '#pipelines/privacy/countries.ts';
import { asSha256, isMd5, noIdentifiers, sha256Hex } from '#pipelines/privacy/hash_identifiers.ts';
import { isReachableAddress } from '#pipelines/privacy/ip_addresses.ts';
import type { Event, EventEntry, Identifiers } from '#schemas/event.ts';
import type { Site } from '#schemas/setting.ts';
import type { MapContext } from './contract.ts';

const NONE = noIdentifiers();

/** A base and its variants are taken from one source together: a variant that is null equals its own base. */
function pick<Keys extends keyof Identifiers>(
  base: keyof Identifiers,
  keys: readonly Keys[],
  own: Identifiers,
  known: Identifiers,
): Pick<Identifiers, Keys> {
  const source = own[base] === null ? known : own;
  return Object.fromEntries(keys.map((key) => [key, source[key]])) as Pick<Identifiers, Keys>;
}

/** Those that one person has one of, at a time. */
const TELLING = ['email', 'phone', 'external_id'] as const satisfies (keyof Identifiers)[];

/** Whether two name different addresses, numbers or customers: a second one on the browser of the first may be somebody else. */
const contradicts = (one: Identifiers, other: Identifiers): boolean =>
  TELLING.some((kind) => one[kind] !== null && other[kind] !== null && one[kind] !== other[kind]);

/**
 * The identifiers to match an event by: its own, completed by those known of the person, where it does not say itself that it is
 * of somebody else. Nothing is added to an event taken in offline mode, which stays anonymous.
 */
export function matchingIdentifiers({ event, person }: EventEntry): Identifiers {
  const own = event.identifiers ?? NONE;
  const persons = event.mode === 'offline' ? NONE : (person?.identifiers ?? NONE);
  const known = contradicts(own, persons) ? NONE : persons;
  return {
    ...pick('email', ['email', 'email_google', 'email_stripped'], own, known),
    ...pick('phone', ['phone', 'phone_digits'], own, known),
    ...pick('first_name', ['first_name', 'first_name_google'], own, known),
    ...pick('last_name', ['last_name', 'last_name_google'], own, known),
    ...pick('external_id', ['external_id'], own, known),
  };
}

/** Every hash of one kind that the event may be matched by, each once, that of `identifiers` first. */
export function everyHash(
  { identifiers, further }: Pick<MapContext<unknown>, 'identifiers' | 'further'>,
  variant: (identifiers: Identifiers) => string | null,
): string[] {
  return [...new Set([identifiers, ...further].flatMap((one) => variant(one) ?? []))];
}

/** SHA-256 of where the customer lives, normalised as Meta's, Snapchat's and Pinterest's pages ask alike. */
interface HashedPlace {
  city: string | null;
  state: string | null;
  /** More than one where platforms and their libraries disagree on the form. */
  zips: string[];
  country: string | null;
}

/** What the sender hashed already goes as it is; an MD5 sum is of no use to any platform. */
function hashed(text: string | null, normalised: (text: string) => string | null): string | null {
  if (text === null || isMd5(text.trim())) return null;
  const given = asSha256(text.trim());
  if (given !== null) return given;
  const value = normalised(text);
  return value === null ? null : sha256Hex(value);
}

/** A place in clear; null where there is none, or a hash of it. */
export function plainPlace(text: string | null): string | null {
  const trimmed = text?.trim() ?? '';
  return trimmed === '' || isMd5(trimmed) || asSha256(trimmed) !== null ? null : trimmed;
}

function hashedZips(zip: string | null, country: string | null): string[] {
  const given = asSha256(zip?.trim() ?? '');
  return given === null ? postalCodes(plainPlace(zip), country).map(sha256Hex) : [given];
}

/** A state or postal code without a country is read by the site's. */
export function hashedPlace(event: Event, site: Site): HashedPlace {
  const country = countryCode(event.country);
  const readAs = country ?? countryCode(site.default_country);
  return {
    city: hashed(event.city, cityName),
    state: hashed(event.state, (state) => stateCode(state, readAs)),
    zips: hashedZips(event.zip, readAs),
    country: country === null ? null : sha256Hex(country),
  };
}

/** SHA-256 of a first and a last name by Google's rules. */
export interface GoogleName {
  givenName: string | null;
  familyName: string | null;
}

/**
 * A person's name in the forms that Google's pages and libraries differ in: without apostrophes and hyphens, and with them
 * where it has any. None where no name is known.
 */
export function googleNames({
  identifiers,
  further,
}: Pick<MapContext<unknown>, 'identifiers' | 'further'>): GoogleName[] {
  const givenName = identifiers.first_name_google ?? identifiers.first_name;
  const familyName = identifiers.last_name_google ?? identifiers.last_name;
  if (givenName === null && familyName === null) return [];
  const given = further.find((one) => one.first_name_google !== null)?.first_name_google ?? null;
  const family = further.find((one) => one.last_name_google !== null)?.last_name_google ?? null;
  const whole =
    given === null && family === null ? [] : [{ givenName: given ?? givenName, familyName: family ?? familyName }];
  return [{ givenName, familyName }, ...whole];
}

/** The visitor's IP address, version 4 or 6; null when the event has none that can be a visitor's. */
export const clientAddress = ({ client_ip }: Event): string | null =>
  client_ip !== null && isReachableAddress(client_ip) ? client_ip : null;
const ENDING = /(?:http-?client|-(?:node|python|php|ruby|java|go|dotnet)|httpclient)\/\d/i;

/** HTTP and event libraries, shop systems and tools by name, up to the end of the name. */
const NAMES =
  'node(?:\\.?js)?|node-fetch|undici|axios|got|ky|superagent|needle|bun|deno|okhttp|retrofit|go-http-client|go-resty|fasthttp|guzzlehttp|php|php-soap|php-curl-class|zend_?http_?client|laminas_http_client|symfony httpclient|wordpress|woocommerce|magento|prestashop|shopware|shopify[a-z-]*|python|python-requests|python-urllib|python-httpx|aiohttp|httpx|urllib3?|java|java-http-client|jersey|apache-httpclient|apache-httpasyncclient|jakarta commons-httpclient|spring[a-z-]*|vert\\.x-webclient|akka-http|ktor-client|faraday|ruby|rest-client|httparty|typhoeus|http\\.rb|excon|reqwest|hyper|ureq|isahc|dart|curl|libcurl|wget|libwww-perl|lwp|mojolicious|hackney|finch|req|postmanruntime|insomnia|httpie|restsharp|refit|elixir|erlang|salesforce|zapier|make|n8n|segment|posthog|analytics|rudder(?:stack)?|rudder-sdk|mixpanel|amplitude|jitsu|snowplow|unirest|powershell|windowspowershell';
const LIBRARY = new RegExp(
  `^(?:${NAMES})(?:-(?:node|python|php|ruby|go|java|dotnet|rs|elixir|sdk)[a-z-]*)?(?=$|[/ ;(,])`,
  'i',
);

/** Browsers and apps on a device; whatever else is in their user agent, it is somebody's. */
const DEVICE =
  /^(?:mozilla|opera|dalvik)\/|cfnetwork|\((?:iphone|ipad|ipod|android|macintosh|windows|linux; (?:u; )?android)\b/i;

/** The visitor's user agent; null when the event has none, or that of a server's HTTP library. */
export const clientUserAgent = ({ client_user_agent }: Event): string | null =>
  client_user_agent === null || isLibraryUserAgent(client_user_agent) ? null : client_user_agent;

/**
 * Whether address and browser say who it was. Of a sale in a shop, by telephone or by a back office they say at the most
 * which server reported it.
 */
export const isKnownByDevice = ({ action_source }: Event): boolean => action_source === 'website';

/** Whether a user agent is the name of what a server calls with, and says nothing of a shopper's browser or app. */
export function isLibraryUserAgent(userAgent: string): boolean {
  const text = userAgent.trim();
  return !DEVICE.test(text) && (LIBRARY.test(text) || ENDING.test(text));
}
