import type { Identifiers } from '#schemas/event.ts';
import { hashEmail } from './hash_email.ts';
import { hashExternalId, hashName } from './hash_name.ts';
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

/** Hashes a raw identifier into its fields; whether it could be read. An unreadable one changes nothing. */
export function putIdentifier(into: Identifiers, kind: Identifier, raw: string, country: string | null): boolean {
  const fields = hashIdentifier(kind, raw, country);
  if (fields === null) return false;
  Object.assign(into, fields);
  return true;
}

function hashIdentifier(kind: Identifier, raw: string, country: string | null): Partial<Identifiers> | null {
  switch (kind) {
    case 'email':
      return hashEmail(raw);
    case 'phone':
      return hashPhone(raw, country);
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
