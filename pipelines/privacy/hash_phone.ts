import {
  type CountryCode,
  isSupportedCountry,
  type PhoneNumber,
  parsePhoneNumberFromString,
} from 'libphonenumber-js/max';
import { asSha256, sha256Hex } from './hashed_form.ts';
import { plainText } from './plain_text.ts';
import { scanText } from './scan_text.ts';

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

export interface PhoneHashes {
  /** Of E.164 with the plus (TikTok, Google). */
  phone: string;
  /** Of E.164 without the plus (Meta, Snapchat, Pinterest). */
  phone_digits: string;
}

/**
 * E.164 with the plus, or null. Without `+` or `00` the number is read in the customer's country, in the site's where it is
 * none there, then as a country code with its plus left off, or a trunk zero before it. A number written internationally need only have a possible
 * length, since number ranges are opened faster than metadata is published; a national one without a country must be
 * valid beyond doubt, and with `validOnly` any.
 */
export function normalisePhone(
  text: string,
  country: string | null,
  siteCountry: string | null = null,
  validOnly = false,
): string | null {
  if (text.length > PHONE_CHARACTERS_MAX) return null;
  const plain = plainText(text, scanText(text)).trim().replace(TEL, '').trimStart();
  const trimmed = plain.replace(PREFIX_IN_BRACKETS, '$1$2 ').replace(END, '');
  const number = trimmed.replace(INTERNATIONAL_PREFIX, '+').replace(PLUSES, '+').replace(MEXICAN_MOBILE, '+52');
  const regions = [country, siteCountry].flatMap((one) => (one === null ? [] : (asCountry(one) ?? [])));
  if (number.startsWith('+')) {
    const international = parse(number, null);
    // `00700` and the like are dialled in place of `00` in some countries.
    const dialled = INTERNATIONAL_PREFIX.test(trimmed) ? regions.map((region) => parse(trimmed, region)) : [];
    return e164(international, false) ?? firstE164(dialled, false) ?? e164(international, !validOnly);
  }
  const national = regions.map((region) => parse(number, region));
  return (
    firstE164(national, false) ??
    e164(parse(`+${digitsOf(number)}`.replace(MEXICAN_MOBILE, '+52'), null), false) ??
    (TRUNK_ZERO.test(number) ? e164(parse(`+${digitsOf(number).slice(1)}`, null), false) : null) ??
    firstE164(national.slice(0, 1), !validOnly)
  );
}

/** Hashes a phone number; a SHA-256 given instead stands for both forms. Anything unreadable, an MD5 sum included, is null. */
export function hashPhone(
  text: string,
  country: string | null,
  siteCountry: string | null = null,
  validOnly = false,
): PhoneHashes | null {
  const given = asSha256(text.trim());
  if (given !== null) return { phone: given, phone_digits: given };
  const number = normalisePhone(text, country, siteCountry, validOnly);
  return number === null ? null : { phone: sha256Hex(number), phone_digits: sha256Hex(number.slice(1)) };
}

function parse(text: string, region: CountryCode | null): PhoneNumber | undefined {
  return parsePhoneNumberFromString(text, { extract: false, ...(region === null ? {} : { defaultCountry: region }) });
}

/** In North America no area begins with 0 or 1: such a number is one of another country. */
const isForeign = ({ number }: PhoneNumber): boolean => /^\+1[01]/.test(number);

function firstE164(numbers: readonly (PhoneNumber | undefined)[], possibleSuffices: boolean): string | null {
  const found = numbers.find((number) => e164(number, possibleSuffices) !== null);
  return found === undefined || isForeign(found) ? null : e164(found, possibleSuffices);
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
