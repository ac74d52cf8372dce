import type { Identifiers } from '#schemas/event.ts';
import { type Identifier, noIdentifiers, putIdentifier } from './identifiers.ts';
import type { Feed } from './key_meaning.ts';
import { normaliseIp } from './network.ts';
import { isReachableAddress } from './reachable_address.ts';
import { redactText } from './redact_text.ts';
import { cleanUserAgent } from './user_agent.ts';

const PLACE_CHARACTERS_MAX = 100;

/** What the properties said about the event's person and device. */
export interface Found {
  identifiers: Identifiers | null;
  client_ip: string | null;
  client_user_agent: string | null;
  city: string | null;
  state: string | null;
  zip: string | null;
  country: string | null;
}

export function foundNothing(): Found {
  return {
    identifiers: null,
    client_ip: null,
    client_user_agent: null,
    city: null,
    state: null,
    zip: null,
    country: null,
  };
}

/**
 * Takes what a person's record holds under a key; whether it was taken. A list gives its first readable member. What
 * is set already stays, unless `overrides`: a top-level property wins over one in a container.
 */
export function feed(found: Found, kind: Feed, value: unknown, overrides: boolean, country: string | null): boolean {
  if (kind === 'client_ip' && Array.isArray(value)) return feedAddress(found, value.join(), overrides);
  if (Array.isArray(value))
    return value.some((member) => isScalar(member) && feed(found, kind, member, overrides, country));
  if (!isScalar(value)) return false;
  const text = String(value);
  switch (kind) {
    case 'email':
    case 'phone':
    case 'first_name':
    case 'last_name':
    case 'external_id':
      return feedIdentifier(found, kind, text, overrides, country);
    case 'client_ip':
      return feedAddress(found, text, overrides);
    case 'client_user_agent':
    case 'city':
    case 'state':
    case 'zip':
    case 'country':
      if (!overrides && found[kind] !== null) return true;
      return put(found, kind, read(kind, text));
  }
}

function feedIdentifier(
  found: Found,
  kind: Identifier,
  text: string,
  overrides: boolean,
  country: string | null,
): boolean {
  const identifiers = found.identifiers ?? noIdentifiers();
  if (!overrides && identifiers[kind] !== null) return true;
  if (!putIdentifier(identifiers, kind, text, country)) return false;
  found.identifiers = identifiers;
  return true;
}

type Column = Exclude<keyof Found, 'identifiers' | 'client_ip'>;

function put(found: Found, kind: Column, value: string | null): boolean {
  if (value === null) return false;
  found[kind] = value;
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

function read(kind: Column, text: string): string | null {
  if (kind === 'client_user_agent') return cleanUserAgent(text);
  const place = redactText(text.trim());
  if (place === '' || place.length > PLACE_CHARACTERS_MAX) return null;
  return kind === 'country' && place.length === 2 ? place.toUpperCase() : place;
}

function isScalar(value: unknown): value is string | number {
  return typeof value === 'string' || (typeof value === 'number' && Number.isFinite(value));
}
