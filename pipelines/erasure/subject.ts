// Who is meant by what somebody typed in, by the same hashes that the pipeline makes of it.

import { basePersonId, type JOINING, nodeOf, phoneHmac } from '#pipelines/identity/identity.ts';
import { cleanDistinctId } from '#pipelines/intake/call.ts';
import { readShortText } from '#pipelines/intake/field_rules.ts';
import { longId } from '#pipelines/intake/sent_event.ts';
import {
  asSha256,
  customerAnonymousId,
  hashEmail,
  hashExternalId,
  phoneHashes,
  pseudonym,
  readPhone,
} from '#pipelines/privacy/hash_identifiers.ts';
import { normaliseEmail } from '#pipelines/privacy/normalise_text.ts';
import type { Site } from '#schemas/setting.ts';

type IdentifierKind = (typeof JOINING)[number];

/** An identifier of a person. */
export interface SubjectIdentifier {
  kind: IdentifierKind;
  /** As rows have it: SHA-256 in hex, of a phone number the keyed hash. */
  value: string;
  /** By which people are joined who have said it. */
  node: string;
}

/** What is known to be one person's, without a name in it. */
export interface PersonSubject {
  /** As derived from distinct ids. */
  persons: string[];
  identifiers: SubjectIdentifier[];
}

/** Exactly one of them. */
export interface TypedSubject {
  distinct_id?: string;
  person_id?: string;
  email?: string;
  phone?: string;
  external_id?: string;
}

const PERSON_ID = /^p_[0-9a-f]{32}$/;

/** Secrets by which identifiers are joined now, and were before. */
export type IdentitySecrets = readonly [current: Buffer, ...former: Buffer[]];

/**
 * The person that is meant; null where what was typed in is no such thing, and could be of nobody. Nothing of it is kept but
 * digests.
 */
export function readSubject(typed: TypedSubject, site: Site, secrets: IdentitySecrets): PersonSubject | null {
  const { distinct_id, person_id, email, phone, external_id } = typed;
  const ofHash = (kind: IdentifierKind, sha256: string, ids: string[] = []): PersonSubject =>
    subjectOf(site.site_id, secrets, kind, sha256, ids);
  if (distinct_id !== undefined) {
    const sent = readShortText(distinct_id) ?? longId(distinct_id, secrets[0]);
    if (sent === null) return null;
    const { distinctId, identifier } = cleanDistinctId(sent, secrets[0], site);
    const known = identifier === null ? null : readSubject({ [identifier.kind]: identifier.raw }, site, secrets);
    const own = basePersonId(site.site_id, distinctId);
    return { persons: [...new Set([own, ...(known?.persons ?? [])])], identifiers: known?.identifiers ?? [] };
  }
  if (person_id !== undefined) return PERSON_ID.test(person_id) ? { persons: [person_id], identifiers: [] } : null;
  if (email !== undefined) {
    const hashed = hashEmail(email)?.email ?? null;
    const normal = normaliseEmail(email);
    return hashed === null ? null : ofHash('email', hashed, normal === null ? [] : [pseudonym(normal, secrets[0])]);
  }
  if (phone !== undefined) {
    const given = asSha256(phone.trim());
    if (given !== null) return ofHash('phone', given);
    const read = readPhone(phone, site.default_country, site.default_country);
    if (read?.isOfOne !== true) return null;
    const { phone: hashed } = phoneHashes(read.number);
    return hashed === null ? null : ofHash('phone', hashed, [pseudonym(read.number, secrets[0])]);
  }
  const hashed = external_id === undefined ? null : hashExternalId(external_id);
  return hashed === null ? null : ofHash('external_id', hashed);
}

/** Who says an identifier, given as its SHA-256, and the visitors that are made of it where no other id is sent. */
function subjectOf(
  siteId: string,
  secrets: IdentitySecrets,
  kind: IdentifierKind,
  sha256: string,
  distinctIds: readonly string[],
): PersonSubject {
  const ids = [...distinctIds, customerAnonymousId(secrets[0], siteId, sha256)];
  const node = nodeOf(secrets[0], siteId, kind, sha256);
  const values = kind === 'phone' ? secrets.map((secret) => phoneHmac(secret, siteId, sha256)) : [sha256];
  return {
    persons: ids.map((id) => basePersonId(siteId, id)),
    identifiers: values.map((value) => ({ kind, value, node })),
  };
}

/** An identifier as a row has it; null where the row has none. */
export function identifierOfRow(
  secret: Buffer,
  siteId: string,
  kind: IdentifierKind,
  value: string,
): SubjectIdentifier | null {
  if (value === '') return null;
  return { kind, value, node: kind === 'phone' ? value : nodeOf(secret, siteId, kind, value) };
}

/** Two parts of what is known of one person. */
export function together(one: PersonSubject, other: PersonSubject): PersonSubject {
  const identifiers = [...one.identifiers, ...other.identifiers];
  return {
    persons: [...new Set([...one.persons, ...other.persons])],
    identifiers: [...new Map(identifiers.map((each) => [`${each.kind}/${each.value}`, each])).values()],
  };
}

export const sizeOf = ({ persons, identifiers }: PersonSubject): number => persons.length + identifiers.length;
