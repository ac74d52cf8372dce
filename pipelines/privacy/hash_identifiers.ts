// Hashes of identifiers: SHA-256 as platforms take it, and HMACs with a key of ours for ids.

import { hash } from 'node:crypto';
import {
  type CountryCode,
  isSupportedCountry,
  type PhoneNumber,
  parsePhoneNumberFromString,
} from 'libphonenumber-js/max';
import type { Identifiers } from '#schemas/event.ts';
import { networkOf } from './ip_addresses.ts';
import { normalised, normaliseEmail, plainText, scanText } from './normalise_text.ts';
import { isDummyNumber, isPlaceholderAddress } from './placeholder_ids.ts';

const BLOCK_BYTES = 64;
const HASH_BYTES = 32;
const INNER_PAD = 0x36;
const OUTER_PAD = 0x5c;

interface Pads {
  inner: Buffer;
  outer: Buffer;
}

/** Of each key, which is the same for many messages. */
const padsOfKey = new WeakMap<Buffer, Pads>();

/**
 * HMAC-SHA256 of the message (RFC 2104), 32 bytes. Made from two one-shot hashes, because a `createHmac` object costs
 * more than ten times as much for messages this short.
 *
 * @param key Not to be changed once it was used.
 */
export function hmacSha256(key: Buffer, message: string): Buffer {
  const pads = padsOf(key);
  const inner = Buffer.allocUnsafe(BLOCK_BYTES + Buffer.byteLength(message));
  pads.inner.copy(inner);
  inner.write(message, BLOCK_BYTES);
  const outer = Buffer.allocUnsafe(BLOCK_BYTES + HASH_BYTES);
  pads.outer.copy(outer);
  hash('sha256', inner, 'buffer').copy(outer, BLOCK_BYTES);
  return hash('sha256', outer, 'buffer');
}

function padsOf(key: Buffer): Pads {
  const known = padsOfKey.get(key);
  if (known !== undefined) return known;
  const block = Buffer.alloc(BLOCK_BYTES);
  (key.length > BLOCK_BYTES ? hash('sha256', key, 'buffer') : key).copy(block);
  const pads = { inner: padded(block, INNER_PAD), outer: padded(block, OUTER_PAD) };
  padsOfKey.set(key, pads);
  return pads;
}

const padded = (block: Buffer, pad: number): Buffer => Buffer.from(block.map((byte) => byte ^ pad));

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

/** The fields that hold an identifier: its hash, and those of the forms that platforms disagree on. */
export const IDENTIFIER_VARIANTS: Readonly<Record<Identifier, readonly (keyof Identifiers)[]>> = {
  email: ['email', 'email_google', 'email_stripped'],
  phone: ['phone', 'phone_digits'],
  first_name: ['first_name', 'first_name_google'],
  last_name: ['last_name', 'last_name_google'],
  external_id: ['external_id'],
};

export function copyIdentifier(into: Identifiers, kind: Identifier, from: Identifiers): void {
  for (const variant of IDENTIFIER_VARIANTS[kind]) into[variant] = from[variant];
}

/** Fills in the variants that one of the same identifier has, as a hash that was sent has none. */
export function completeIdentifier(into: Identifiers, kind: Identifier, from: Identifiers): void {
  for (const variant of IDENTIFIER_VARIANTS[kind]) into[variant] ??= from[variant];
}

/**
 * Hashes a raw identifier into its fields; whether it could be read. An unreadable one changes nothing.
 *
 * @param raw A phone number as it was read (`readPhone`).
 */
export function putIdentifier(into: Identifiers, kind: Identifier, raw: string): boolean {
  const fields = hashIdentifier(kind, raw);
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

function hashIdentifier(kind: Identifier, raw: string): Partial<Identifiers> | null {
  switch (kind) {
    case 'email':
      return hashEmail(raw);
    case 'phone':
      return phoneHashes(raw);
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

const GOOGLE_DOMAINS = new Set(['gmail.com', 'googlemail.com']);

/**
 * Hashes an e-mail address in the variants the platforms disagree on: dots and plus tag kept (Meta, TikTok, Snapchat,
 * Pinterest, LinkedIn), removed for gmail.com and googlemail.com (Google), removed for every domain (Microsoft,
 * Reddit). One of Google's of which nothing is left is none, nor is one that is filled in for nobody. A SHA-256 given
 * instead of an address stands for all of them. Anything else, an MD5 sum included, is null.
 */
export function hashEmail(text: string): Pick<Identifiers, 'email' | 'email_google' | 'email_stripped'> | null {
  const given = asSha256(text.trim());
  if (given !== null) return { email: given, email_google: null, email_stripped: null };
  const email = normaliseEmail(text);
  if (email === null || isPlaceholderAddress(email)) return null;
  const at = email.lastIndexOf('@');
  const stripped = stripLocalPart(email, at);
  const strippedHash = stripped === null || stripped === email ? null : sha256Hex(stripped);
  const isGoogle = GOOGLE_DOMAINS.has(email.slice(at + 1));
  // Google gives out no such address, and asks that none be sent.
  if (isGoogle && stripped === null) return null;
  return { email: sha256Hex(email), email_google: isGoogle ? strippedHash : null, email_stripped: strippedHash };
}

function stripLocalPart(email: string, at: number): string | null {
  const plus = email.indexOf('+');
  const local = email.slice(0, plus >= 0 && plus < at ? plus : at).replaceAll('.', '');
  return local === '' ? null : local + email.slice(at);
}

const NAME_CHARACTERS_MAX = 200;
const ASCII_SPACE_AND_PUNCTUATION = /[\s!-/:-@[-`{-~]/g;
const APOSTROPHE_OR_HYPHEN = /['\u2019\u2010-]/;
const NOT_LETTER_NOR_SPACE = /[^\p{L}\p{M}\s]/gu;

interface NameHashes {
  name: string;
  /** Google's rule; null when equal to `name`. */
  name_google: string | null;
}

/**
 * Hashes a first or last name, its accents composed, by two rules: lower case without ASCII white space and punctuation, as
 * Meta's pixel does it (`Mary Ann` is `maryann`), and lower case, trimmed, without digits and symbols, as Google's enhanced
 * conversions page asks (`mary ann`). A SHA-256 given instead of a name stands for both; an MD5 sum and an empty name are
 * null.
 */
export function hashName(text: string): NameHashes | null {
  const trimmed = normalised(text.trim(), 'NFC');
  const given = asSha256(trimmed);
  if (given !== null) return { name: given, name_google: null };
  if (trimmed.length > NAME_CHARACTERS_MAX || isMd5(trimmed)) return null;
  const lower = trimmed.toLowerCase();
  const base = lower.replace(ASCII_SPACE_AND_PUNCTUATION, '');
  if (base === '') return null;
  const google = lower.replace(NOT_LETTER_NOR_SPACE, '').trim();
  return { name: sha256Hex(base), name_google: google === base || google === '' ? null : sha256Hex(google) };
}

/** Hashes a name in lower case with the apostrophe or hyphen that it has, as Google's libraries do; null where it has none. */
export function hashWholeName(text: string): string | null {
  const lower = normalised(text.trim(), 'NFC').toLowerCase();
  return lower.length <= NAME_CHARACTERS_MAX && APOSTROPHE_OR_HYPHEN.test(lower) ? sha256Hex(lower) : null;
}

/** Hashes a customer number in lower case; null where that is how it was given. */
function hashLowerExternalId(text: string): string | null {
  const trimmed = text.trim();
  const lower = trimmed.toLowerCase();
  const isUsable = trimmed.length <= NAME_CHARACTERS_MAX && asSha256(trimmed) === null;
  return isUsable && lower !== trimmed ? sha256Hex(lower) : null;
}

/** Hashes a customer number of the site's own: trimmed, case kept; a SHA-256 given instead passes through. */
export function hashExternalId(text: string): string | null {
  const trimmed = text.trim();
  if (trimmed === '' || trimmed.length > NAME_CHARACTERS_MAX) return null;
  return asSha256(trimmed) ?? sha256Hex(trimmed);
}

const PHONE_CHARACTERS_MAX = 60;
const TEL = /^tel:(?:\/\/)?/i;
const INTERNATIONAL_PREFIX = /^00(?=\s*[1-9])/;
/** Round the country code, or from there on: `(+49) 171 1234567`, `(+1 650) 253-0000`. */
const PREFIX_IN_BRACKETS = /^\(\s*(\+|00)([^()]*)\)?/;
const PLUSES = /^\+[\s+]*(?:00)?(?=\s*[1-9(])/;
const END = /[\s;,.]+$/;
/** Mexico's mobiles had a 1 behind the country code until 2019, and are exported with it still. */
const MEXICAN_MOBILE = /^\+\s?52[\s().-]{0,3}1[\s().-]{0,3}(?=(?:[0-9][\s().-]{0,3}){10}$)/;
/** Written before a country code as if it belonged there: `0919876543210`. */
const TRUNK_ZERO = /^\(?0[1-9]/;

/** A phone number in E.164 with the plus, and whom it is of. */
interface ReadPhone {
  number: string;
  /**
   * One that is not surely anybody's in particular, as it is of no range that is given out or is filled in for nobody, joins
   * no people.
   */
  isOfOne: boolean;
}

/** E.164 with the plus, or null. */
export function normalisePhone(
  text: string,
  country: string | null,
  siteCountry: string | null = null,
  validOnly = false,
): string | null {
  return readPhone(text, country, siteCountry, validOnly)?.number ?? null;
}

/**
 * The number that a text is, or null. Without `+` or `00` the number is read in the customer's country, in the site's where
 * it is none there, then as a country code with its plus left off, or a trunk zero before it. A number written
 * internationally need only have a possible length, since number ranges are opened faster than metadata is published; a
 * national one without a country must be valid beyond doubt, and with `validOnly` any.
 */
export function readPhone(
  text: string,
  country: string | null,
  siteCountry: string | null = null,
  validOnly = false,
): ReadPhone | null {
  if (text.length > PHONE_CHARACTERS_MAX) return null;
  const plain = plainText(text, scanText(text)).trim().replace(TEL, '').trimStart();
  const trimmed = plain.replace(PREFIX_IN_BRACKETS, '$1$2 ').replace(END, '');
  const number = trimmed.replace(INTERNATIONAL_PREFIX, '+').replace(PLUSES, '+').replace(MEXICAN_MOBILE, '+52');
  const regions = [country, siteCountry].flatMap((one) => (one === null ? [] : (asCountry(one) ?? [])));
  if (number.startsWith('+')) {
    const international = parse(number, null);
    // `00700` and the like are dialled in place of `00` in some countries.
    const dialled = INTERNATIONAL_PREFIX.test(trimmed) ? regions.map((region) => parse(trimmed, region)) : [];
    return readNumber(international, false) ?? firstOf(dialled, false) ?? readNumber(international, !validOnly);
  }
  const national = regions.map((region) => parse(number, region));
  return (
    firstOf(national, false) ??
    readNumber(parse(`+${digitsOf(number)}`.replace(MEXICAN_MOBILE, '+52'), null), false) ??
    (TRUNK_ZERO.test(number) ? readNumber(parse(`+${digitsOf(number).slice(1)}`, null), false) : null) ??
    firstOf(national.slice(0, 1), !validOnly)
  );
}

/**
 * Hashes a phone number in E.164, with the plus (TikTok, Google) and without (Meta, Snapchat, Pinterest); a SHA-256 given
 * instead stands for both forms.
 */
export function phoneHashes(number: string): Pick<Identifiers, 'phone' | 'phone_digits'> {
  const given = asSha256(number);
  return given === null
    ? { phone: sha256Hex(number), phone_digits: sha256Hex(number.slice(1)) }
    : { phone: given, phone_digits: given };
}

function parse(text: string, region: CountryCode | null): PhoneNumber | undefined {
  return parsePhoneNumberFromString(text, { extract: false, ...(region === null ? {} : { defaultCountry: region }) });
}

/** In North America no area begins with 0 or 1: such a number is one of another country. */
const isCrossOrigin = ({ number }: PhoneNumber): boolean => /^\+1[01]/.test(number);

function firstOf(numbers: readonly (PhoneNumber | undefined)[], possibleSuffices: boolean): ReadPhone | null {
  const found = numbers.find((number) => readNumber(number, possibleSuffices) !== null);
  return found === undefined || isCrossOrigin(found) ? null : readNumber(found, possibleSuffices);
}

function readNumber(number: PhoneNumber | undefined, possibleSuffices: boolean): ReadPhone | null {
  if (number === undefined) return null;
  const isValid = number.isValid();
  if (!isValid && !(possibleSuffices && number.isPossible())) return null;
  return { number: number.number, isOfOne: isValid && !isDummyNumber(number.nationalNumber) };
}

function asCountry(country: string): CountryCode | null {
  const upper = country.toUpperCase();
  return isSupportedCountry(upper) ? upper : null;
}

function digitsOf(text: string): string {
  return text.replace(/[^\p{Nd}]/gu, '');
}

const HEX_64 = /^[0-9a-f]{64}$/i;
const HEX_32 = /^[0-9a-f]{32}$/i;

/** SHA-256 in lower-case hex, the form every advertising platform takes. */
export function sha256Hex(text: string): string {
  return hash('sha256', text);
}

/** The SHA-256 a sender has hashed already, lower-cased, or null. Meta's libraries pass 64 hex digits through likewise. */
export function asSha256(text: string): string | null {
  return text.length === 64 && HEX_64.test(text) ? text.toLowerCase() : null;
}

/** Whether the text is an MD5 sum: no platform matches it, so it is refused instead of being hashed a second time. */
export function isMd5(text: string): boolean {
  return text.length === 32 && HEX_32.test(text);
}

const BASE32 = 'abcdefghijklmnopqrstuvwxyz234567';
const ID_BYTES = 16;

/**
 * The default distinct_id: `anon_` and 26 letters of base32, the first 128 bits of HMAC-SHA256(the day's random salt;
 * site, network, user agent). It cannot be computed again once the salt is destroyed.
 */
export function anonymousId(salt: Buffer, siteId: string, ip: string | null, userAgent: string | null): string {
  const network = ip === null ? '' : networkOf(ip);
  return `anon_${base32(hmacSha256(salt, `${siteId}\0${network}\0${userAgent ?? ''}`))}`;
}

/**
 * The default distinct_id of a sale that a server reports with the customer's identifiers but without a visitor:
 * stable per customer, where the reporting server's own address would make one visitor of all its customers.
 */
export function customerAnonymousId(secret: Buffer, siteId: string, hashedIdentifier: string): string {
  return `anon_${base32(hmacSha256(secret, `${siteId}\0customer\0${hashedIdentifier}`))}`;
}

function base32(bytes: Buffer): string {
  let text = '';
  let bits = 0;
  let held = 0;
  for (let at = 0; at < ID_BYTES; at += 1) {
    held = ((held << 8) | bytes.readUInt8(at)) & 0xfff;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      text += BASE32.charAt((held >> bits) & 31);
    }
  }
  return text + BASE32.charAt((held << (5 - bits)) & 31);
}

/** What stands for an id that was an e-mail address or a phone number: `h_` and HMAC-SHA256 in hex, 66 characters. */
export function pseudonym(text: string, secret: Buffer): string {
  return `h_${hmacSha256(secret, text).toString('hex')}`;
}
