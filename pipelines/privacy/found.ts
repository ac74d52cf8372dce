import type { Effort } from './effort.ts';
import { type FoundPerson, feedPerson, feedPhone, foundNobody } from './found_person.ts';
import { asSha256 } from './hashed_form.ts';
import type { Feed } from './key_words.ts';
import { writtenAddress } from './network.ts';
import { isUnstated, numberId } from './placeholder_id.ts';
import { isReachableAddress } from './reachable_address.ts';
import { redactText } from './redact_text.ts';
import { REDACTED } from './redacted.ts';
import { cleanUserAgent } from './user_agent.ts';

const PLACE_CHARACTERS_MAX = 100;
/** No postcode has more, nor the name of a place; and some words for one mean a phone in another language. */
const PLACE_DIGITS_MAX = 9;
const LETTER = /\p{L}/u;
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
 * of any other its first readable member. What is set already stays, unless that had a lower rank.
 */
export function feed(found: Found, kind: Feed, value: unknown, rank: number, search: Search): boolean {
  if (Array.isArray(value)) {
    const members = value.slice(0, MEMBERS_MAX).filter(isScalar);
    if (kind === 'client_ip') return feedAddress(found, members.join(), rank);
    return feedMembers(found, kind, members, rank, search);
  }
  if (!isScalar(value)) return false;
  const text = typeof value === 'number' ? numberId(value) : value;
  switch (kind) {
    case 'phone':
    case 'maybe_phone':
      return feedPhone(found, text, rank, kind === 'phone');
    case 'email':
    case 'first_name':
    case 'last_name':
    case 'external_id':
      return feedPerson(found, kind, text, rank);
    case 'client_ip':
      return feedAddress(found, text, rank);
    case 'client_user_agent':
    case 'city':
    case 'state':
    case 'zip':
    case 'country':
      if (found[kind] !== null && rank <= (found.ranks[kind] ?? 0)) return true;
      return put(found, kind, read(kind, text, search), rank);
  }
}

function feedMembers(found: Found, kind: Feed, members: (string | number)[], rank: number, search: Search): boolean {
  const first = members.findIndex((member) => feed(found, kind, member, rank, search));
  if (first < 0 || (kind !== 'email' && kind !== 'phone' && kind !== 'maybe_phone')) return first >= 0;
  for (const member of members.slice(first + 1)) feed(found, kind, member, rank, search);
  return true;
}

/** One that can be a visitor's goes before one of somebody's own network, wherever they stand. */
function feedAddress(found: Found, text: string, rank: number): boolean {
  const address = readAddress(text);
  if (address === null) return false;
  const isReachable = isReachableAddress(address);
  const wasReachable = found.client_ip !== null && isReachableAddress(found.client_ip);
  const isHigher = rank > (found.ranks.client_ip ?? 0);
  if (found.client_ip !== null && !(isReachable === wasReachable ? isHigher : isReachable)) return true;
  return put(found, 'client_ip', address, rank);
}

/** An address, or of those that proxies list (`client, proxy, proxy`) the first that can be a visitor's. */
function readAddress(text: string): string | null {
  const addresses = text.split(',').flatMap((part) => writtenAddress(part) ?? []);
  return addresses.find(isReachableAddress) ?? addresses[0] ?? null;
}

type Column = Exclude<keyof Found, keyof FoundPerson>;

function put(found: Found, kind: Column, value: string | null, rank: number): boolean {
  if (value === null) return false;
  found[kind] = value;
  found.ranks[kind] = rank;
  return true;
}

function read(kind: Exclude<Column, 'client_ip'>, text: string, { countries, effort }: Search): string | null {
  if (isUnstated(text)) return null;
  if (kind === 'client_user_agent') return cleanUserAgent(text, effort);
  const given = asSha256(text.trim());
  if (given !== null) return given;
  const place = redactText(text.trim().normalize('NFC'), false, kind === 'zip' ? [] : countries, effort);
  if ((place.match(DIGIT)?.length ?? 0) > PLACE_DIGITS_MAX) return REDACTED;
  if (place === '' || place.length > PLACE_CHARACTERS_MAX) return null;
  // `country_code: '49'` is what is dialled.
  if (kind === 'country' && !LETTER.test(place)) return null;
  return kind === 'country' && place.length === 2 ? place.toUpperCase() : place;
}

function isScalar(value: unknown): value is string | number {
  return typeof value === 'string' || (typeof value === 'number' && Number.isFinite(value));
}
