import {
  type CountryCode,
  isSupportedCountry,
  type PhoneNumber,
  parsePhoneNumberFromString,
} from 'libphonenumber-js/max';
import { asSha256, sha256Hex } from './hashed_form.ts';

const PHONE_CHARACTERS_MAX = 60;
const TEL = /^tel:(?:\/\/)?/i;
const INTERNATIONAL_PREFIX = /^00(?=\s*[1-9])/;
const INTERNATIONAL = /^\(?[+\uff0b]/;

export interface PhoneHashes {
  /** Of E.164 with the plus (TikTok, Google). */
  phone: string;
  /** Of E.164 without the plus (Meta, Snapchat, Pinterest). */
  phone_digits: string;
}

/**
 * E.164 with the plus, or null. Without `+` or `00` the number is read in the site's country, then as a country code
 * with its plus left off. A number written internationally need only have a possible length, since number ranges are
 * opened faster than metadata is published; a national one without a country must be valid beyond doubt.
 */
export function normalisePhone(text: string, country: string | null): string | null {
  if (text.length > PHONE_CHARACTERS_MAX) return null;
  const number = text.trim().replace(TEL, '').trimStart().replace(INTERNATIONAL_PREFIX, '+');
  if (INTERNATIONAL.test(number)) return e164(parse(number, null), true);
  const region = country === null ? null : asCountry(country);
  const national = region === null ? undefined : parse(number, region);
  return e164(national, false) ?? e164(parse(`+${digitsOf(number)}`, null), false) ?? e164(national, true);
}

/** Hashes a phone number; a SHA-256 given instead stands for both forms. Anything unreadable, an MD5 sum included, is null. */
export function hashPhone(text: string, country: string | null): PhoneHashes | null {
  const given = asSha256(text.trim());
  if (given !== null) return { phone: given, phone_digits: given };
  const number = normalisePhone(text, country);
  return number === null ? null : { phone: sha256Hex(number), phone_digits: sha256Hex(number.slice(1)) };
}

function parse(text: string, region: CountryCode | null): PhoneNumber | undefined {
  return parsePhoneNumberFromString(text, { extract: false, ...(region === null ? {} : { defaultCountry: region }) });
}

function e164(number: PhoneNumber | undefined, possibleSuffices: boolean): string | null {
  if (number === undefined) return null;
  return number.isValid() || (possibleSuffices && number.isPossible()) ? number.number : null;
}

function asCountry(country: string): CountryCode | null {
  const upper = country.toUpperCase();
  return isSupportedCountry(upper) ? upper : null;
}

function digitsOf(text: string): string {
  return text.replace(/[^\p{Nd}]/gu, '');
}
