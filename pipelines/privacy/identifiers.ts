import type { Identifiers } from '#schemas/event.ts';
import { hashEmail } from './hash_email.ts';
import { hashExternalId, hashLowerExternalId, hashName, hashWholeName } from './hash_name.ts';
import { hashPhone } from './hash_phone.ts';

/** Identifiers of nobody yet: every field null. */
export function noIdentifiers(): Identifiers {
  return {
    email: null,
    email_google: null,
    email_stripped: null,
    phone: null,
    phone_digits: null,
    first_name: null,
    first_name_google: null,
    last_name: null,
    last_name_google: null,
    external_id: null,
  };
}

export type Identifier = 'email' | 'phone' | 'first_name' | 'last_name' | 'external_id';

/** Countries by which a national phone number is read, the first first. */
export interface Countries {
  own: string | null;
  sites: string | null;
  /** Whether a phone number must be valid, a possible length not sufficing. */
  validOnly?: boolean;
}

const VARIANTS: Readonly<Record<Identifier, readonly (keyof Identifiers)[]>> = {
  email: ['email', 'email_google', 'email_stripped'],
  phone: ['phone', 'phone_digits'],
  first_name: ['first_name', 'first_name_google'],
  last_name: ['last_name', 'last_name_google'],
  external_id: ['external_id'],
};

/** Copies one identifier with its variants. */
export function copyIdentifier(into: Identifiers, kind: Identifier, from: Identifiers): void {
  for (const variant of VARIANTS[kind]) into[variant] = from[variant];
}

/** Fills in the variants that one of the same identifier has, as a hash that was sent has none. */
export function completeIdentifier(into: Identifiers, kind: Identifier, from: Identifiers): void {
  for (const variant of VARIANTS[kind]) into[variant] ??= from[variant];
}

/** Hashes a raw identifier into its fields; whether it could be read. An unreadable one changes nothing. */
export function putIdentifier(into: Identifiers, kind: Identifier, raw: string, countries: Countries): boolean {
  const fields = hashIdentifier(kind, raw, countries);
  if (fields === null) return false;
  Object.assign(into, fields);
  return true;
}

/** A second form in which some platforms or their libraries hash an identifier; null where there is none. */
export function otherForm(kind: Identifier, raw: string): Partial<Identifiers> | null {
  switch (kind) {
    case 'first_name':
      return { first_name_google: hashWholeName(raw) };
    case 'last_name':
      return { last_name_google: hashWholeName(raw) };
    case 'external_id':
      return { external_id: hashLowerExternalId(raw) };
    case 'email':
    case 'phone':
      return null;
  }
}

function hashIdentifier(
  kind: Identifier,
  raw: string,
  { own, sites, validOnly }: Countries,
): Partial<Identifiers> | null {
  switch (kind) {
    case 'email':
      return hashEmail(raw);
    case 'phone':
      return hashPhone(raw, own, sites, validOnly);
    case 'first_name': {
      const hashes = hashName(raw);
      return hashes && { first_name: hashes.name, first_name_google: hashes.name_google };
    }
    case 'last_name': {
      const hashes = hashName(raw);
      return hashes && { last_name: hashes.name, last_name_google: hashes.name_google };
    }
    case 'external_id': {
      const external_id = hashExternalId(raw);
      return external_id === null ? null : { external_id };
    }
  }
}
