import type { Effort } from './effort.ts';
import { type FoundPerson, feedPerson, feedPhone, foundNobody } from './found_person.ts';
import { asSha256 } from './hashed_form.ts';
import type { Feed } from './key_words.ts';
import { normaliseIp } from './network.ts';
import { isReachableAddress } from './reachable_address.ts';
import { redactText } from './redact_text.ts';
import { REDACTED } from './redacted.ts';
import { cleanUserAgent } from './user_agent.ts';

const PLACE_CHARACTERS_MAX = 100;
/** No postcode has more, nor the name of a place; and some words for one mean a phone in another language. */
const PLACE_DIGITS_MAX = 9;
const DIGIT = /\p{Nd}/gu;

/** What the properties said about the event's person and device. */
export interface Found extends FoundPerson {
  client_ip: string | null;
  client_user_agent: string | null;
  city: string | null;
  state: string | null;
  zip: string | null;
  country: string | null;
}

export function foundNothing(): Found {
  return {
    ...foundNobody(),
    client_ip: null,
    client_user_agent: null,
    city: null,
    state: null,
    zip: null,
    country: null,
  };
}

/** Members of a list that are looked at. */
export const MEMBERS_MAX = 16;

/** How the texts of a record are searched for phone numbers: as those of all properties. */
interface Search {
  countries: readonly string[];
  effort?: Effort;
}

/**
 * Takes what a person's record holds under a key; whether it was taken. Of a list of addresses or numbers all are taken,
 * of any other its first readable member. What is set already stays, unless `overrides`: a top-level property wins over
 * one in a container.
 */
export function feed(found: Found, kind: Feed, value: unknown, overrides: boolean, search: Search): boolean {
  if (kind === 'client_ip' && Array.isArray(value)) return feedAddress(found, value.join(), overrides);
  if (Array.isArray(value))
    return feedMembers(found, kind, value.slice(0, MEMBERS_MAX).filter(isScalar), overrides, search);
  if (!isScalar(value)) return false;
  const text = String(value);
  switch (kind) {
    case 'phone':
    case 'maybe_phone':
      return feedPhone(found, text, overrides, kind === 'phone');
    case 'email':
    case 'first_name':
    case 'last_name':
    case 'external_id':
      return feedPerson(found, kind, text, overrides);
    case 'client_ip':
      return feedAddress(found, text, overrides);
    case 'client_user_agent':
    case 'city':
    case 'state':
    case 'zip':
    case 'country':
      if (!overrides && found[kind] !== null) return true;
      return put(found, kind, read(kind, text, search));
  }
}

function feedMembers(
  found: Found,
  kind: Feed,
  members: (string | number)[],
  overrides: boolean,
  search: Search,
): boolean {
  const first = members.findIndex((member) => feed(found, kind, member, overrides, search));
  if (first < 0 || (kind !== 'email' && kind !== 'phone' && kind !== 'maybe_phone')) return first >= 0;
  for (const member of members.slice(first + 1)) feed(found, kind, member, false, search);
  return true;
}

/** One that can be a visitor's goes before one of somebody's own network, wherever they stand. */
function feedAddress(found: Found, text: string, overrides: boolean): boolean {
  const address = readAddress(text);
  if (address === null) return false;
  const isReachable = isReachableAddress(address);
  const wasReachable = found.client_ip !== null && isReachableAddress(found.client_ip);
  if (found.client_ip === null || (isReachable === wasReachable ? overrides : isReachable)) found.client_ip = address;
  return true;
}

/** An address, or of those that proxies list (`client, proxy, proxy`) the first that can be a visitor's. */
function readAddress(text: string): string | null {
  const addresses = text.split(',').flatMap((part) => normaliseIp(part) ?? []);
  return addresses.find(isReachableAddress) ?? addresses[0] ?? null;
}

type Column = Exclude<keyof Found, keyof FoundPerson | 'client_ip'>;

function put(found: Found, kind: Column, value: string | null): boolean {
  if (value === null) return false;
  found[kind] = value;
  return true;
}

function read(kind: Column, text: string, { countries, effort }: Search): string | null {
  if (kind === 'client_user_agent') return cleanUserAgent(text, effort);
  const given = asSha256(text.trim());
  if (given !== null) return given;
  const place = redactText(text.trim(), false, kind === 'zip' ? [] : countries, effort);
  if ((place.match(DIGIT)?.length ?? 0) > PLACE_DIGITS_MAX) return REDACTED;
  if (place === '' || place.length > PLACE_CHARACTERS_MAX) return null;
  return kind === 'country' && place.length === 2 ? place.toUpperCase() : place;
}

function isScalar(value: unknown): value is string | number {
  return typeof value === 'string' || (typeof value === 'number' && Number.isFinite(value));
}
