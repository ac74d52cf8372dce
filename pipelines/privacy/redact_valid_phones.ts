// Phone numbers in texts that are valid in a numbering plan: of the countries given, or dialled as from abroad.

import { isIPv4 } from 'node:net';
import {
  type CountryCode,
  isSupportedCountry,
  Metadata,
  type PhoneNumber,
  parsePhoneNumberFromString,
} from 'libphonenumber-js/max';
import { type Effort, spend } from './effort.ts';
import { HOLDS_DOUBLE_ZERO, HOLDS_GROUPS, REDACTED } from './normalise_text.ts';
import { BEHIND_ESCAPE } from './redact_phones.ts';

const SEPARATOR = String.raw`(?:[\s().\-/\u2010-\u2015]|%(?:25)*(?:20|28|29|2[DdEeFf]))`;
const OPEN = String.raw`(?:\(|%(?:25)*28)`;
/** Groups of digits with something between them, not inside a word, an identifier, a date or a decimal. */
const GROUPED = new RegExp(
  `(?=[(%0-9])(?:(?<![A-Za-z0-9_]|[0-9][-.,/:])|${BEHIND_ESCAPE}|(?<=%[0-9A-Fa-f]{2}))${OPEN}?[0-9]{1,6}(?:${SEPARATOR}{1,3}[0-9]{2,8}){1,6}(?![A-Za-z0-9_]|[-.,/:]?[0-9])`,
  'g',
);
/** `00` in place of a plus, without anything between the digits. */
const DOUBLE_ZERO = new RegExp(
  `(?:(?<![0-9A-Za-z_]|[0-9][-.,/:])|${BEHIND_ESCAPE})00[1-9][0-9]{7,12}(?![0-9A-Za-z_])`,
  'g',
);
const ESCAPE = /%(?:25)*[0-9a-f]{2}/gi;
const DATE =
  /^(?:(?:19|20)[0-9]{2}[-. /\u2010-\u2015][0-9]{2}[-. /\u2010-\u2015][0-9]{2}|[0-9]{2}[-. /\u2010-\u2015][0-9]{2}[-. /\u2010-\u2015](?:19|20)[0-9]{2})(?![0-9])/;
/** A decimal, and thousands: `55.676098`, `612.345.678`, `12 345 678 910`. */
const AMOUNT = /^[0-9]+\.[0-9]+$|^[0-9]{1,3}(?:\.[0-9]{3})+$|^[0-9]{2}(?:\s[0-9]{3}){3}$/;
const GROUPS = /[0-9]+/g;
const SPACED = /^[0-9]{2,}(?:[\s%][0-9]{2,})+$/;
/** A short number before another, such as a quantity. */
const FIRST_GROUP = /^[0-9]{1,2}(?:\s|%(?:25)*20)+/;
const DIGITS_MIN = 8;
const DIGITS_MAX = 13;

/**
 * Replaces numbers that are valid in the numbering plan of one of the countries and written as people there write them:
 * grouped as usual, or in any groups where the country writes no trunk prefix. Also `00` and a valid number, whatever
 * the country. Digits without anything between them are left: they are an order number as likely.
 *
 * @param bits What `scanText` said of the text.
 * @param effort What is left to the event that the text is of.
 */
export function redactCountryPhones(text: string, bits: number, countries: readonly string[], effort: Effort): string {
  if ((bits & (HOLDS_DOUBLE_ZERO | HOLDS_GROUPS)) === 0) return text;
  const clean =
    (bits & HOLDS_DOUBLE_ZERO) === 0 ? text : text.replace(DOUBLE_ZERO, (match) => withoutDoubleZero(match, effort));
  if ((bits & HOLDS_GROUPS) === 0 || countries.length === 0) return clean;
  return clean.replace(GROUPED, (match) => {
    const plain = match.replace(ESCAPE, ' ');
    const digits = digitsIn(plain);
    if (digits < DIGITS_MIN || digits > DIGITS_MAX || DATE.test(plain) || AMOUNT.test(plain)) return match;
    if (isIPv4(plain.split('/', 1)[0] ?? '')) return match;
    if (isCountryNumber(plain, countries, effort)) return REDACTED;
    const head = FIRST_GROUP.exec(match)?.[0] ?? '';
    const rest = match.slice(head.length).replace(ESCAPE, ' ');
    return head !== '' && digitsIn(rest) >= DIGITS_MIN && isCountryNumber(rest, countries, effort)
      ? head + REDACTED
      : match;
  });
}

function withoutDoubleZero(match: string, effort: Effort): string {
  return readPhone(`+${match.slice(2)}`, null, effort) === null ? match : REDACTED;
}

function isCountryNumber(text: string, countries: readonly string[], effort: Effort): boolean {
  return countries.some((country) => {
    const number = readPhone(text, country, effort);
    return number === 'unread' || (number !== null && isWrittenAsUsual(text, number));
  });
}

function isWrittenAsUsual(text: string, number: PhoneNumber): boolean {
  const groups = groupsOf(text);
  const national = groupsOf(number.formatNational());
  const international = groupsOf(number.formatInternational()).slice(1);
  if (isSame(groups, national) || isSame(groups, international) || isSame(groups, national.slice(1))) return true;
  const hasTrunkPrefix = national.join('') !== number.nationalNumber;
  if (!hasTrunkPrefix) return SPACED.test(text) && number.countryCallingCode !== '1';
  return groups.join('') === national.join('') && !/[./]/.test(text);
}

function groupsOf(text: string): readonly string[] {
  return text.match(GROUPS) ?? [];
}

function isSame(left: readonly string[], right: readonly string[]): boolean {
  return left.length === right.length && left.every((group, at) => group === right[at]);
}

function digitsIn(text: string): number {
  return groupsOf(text).reduce((sum, group) => sum + group.length, 0);
}

const DIALLED_SEPARATOR = String.raw`[\s().\-/+\u2010-\u2015]`;
const DIALLED_START = `(?:(?<![A-Za-z0-9_]|[0-9][-.,/:])|${BEHIND_ESCAPE})`;
/** `00 49 151 12345678` and `plus 49 151 12345678`: the calling code stands alone. */
const CALLING_CODE_ALONE = String.raw`(?<number>\(?[1-9][0-9]{0,2}(?:${DIALLED_SEPARATOR}{1,3}[0-9]{1,12}){1,6})(?![A-Za-z0-9_])`;
const SPELLED = new RegExp(
  String.raw`${DIALLED_START}(?:\(?00\)?${DIALLED_SEPARATOR}{1,2}|plus\s{1,3})${CALLING_CODE_ALONE}`,
  'gi',
);
/** What is dialled in a country for other countries, where that is not `00` alone: `011`, `8~10`, `00 21`. */
const prefixed = new Map<string, RegExp | null>();
/** `+49,151,12345678` and `+49'151'12345678`; one comma rather stands between two numbers. */
const JOINED = /(?:\+|%(?:25)*2B)(?<number>[1-9][0-9]{0,2}(?:[,'’`][0-9]{2,12}){2,6})(?![0-9])/gi;
const THOUSANDS = /^[0-9]{1,3}(?:[,'’`][0-9]{3})+$/;
const LAST_GROUP = /[^0-9]+[0-9]+$/;
const GROUPS_MIN = 2;

/**
 * Replaces valid numbers that have `00` and a space, or the word plus, in place of the sign, whatever the country, and those that
 * have what is dialled instead in one of the countries.
 *
 * @param bits What `scanText` said of the text.
 */
export function redactDialledPhones(text: string, bits: number, countries: readonly string[], effort: Effort): string {
  let clean = text.replace(SPELLED, (match, number: string) => withoutDialled(match, number, effort));
  if ((bits & HOLDS_GROUPS) === 0) return clean;
  for (const country of countries) {
    const pattern = prefixPattern(country);
    if (pattern !== null)
      clean = clean.replace(pattern, (match, number: string) => withoutDialled(match, number, effort));
  }
  return clean;
}

function prefixPattern(country: string): RegExp | null {
  const known = prefixed.get(country);
  if (known !== undefined) return known;
  const prefix = isSupportedCountry(country) ? prefixOf(country) : '00';
  const pattern =
    prefix === '00'
      ? null
      : new RegExp(`${DIALLED_START}(?:${prefix})${DIALLED_SEPARATOR}{1,2}${CALLING_CODE_ALONE}`, 'g');
  prefixed.set(country, pattern);
  return pattern;
}

/** Carriers' own digits stand apart from what is before them, as people write it. */
function prefixOf(country: CountryCode): string {
  const metadata = new Metadata();
  metadata.selectNumberingPlan(country);
  const prefix = metadata.numberingPlan?.IDDPrefix() ?? '00';
  return prefix.replace(/^00(?=[([])/, String.raw`00[\s-]?`).replace(/^810$/, String.raw`8[~\s-]?10`);
}

/** Replaces valid numbers with a plus whose groups are joined by commas or apostrophes, unless they are thousands. */
export function redactJoinedPhones(text: string, effort: Effort): string {
  return text.replace(JOINED, (match, number: string) =>
    THOUSANDS.test(number) ? match : withoutDialled(match, number, effort),
  );
}

/** What follows the number may have been taken for a part of it: then it is valid without its last groups. */
function withoutDialled(match: string, number: string, effort: Effort): string {
  for (let candidate = number; ; candidate = candidate.replace(LAST_GROUP, '')) {
    const groups = candidate.match(GROUPS) ?? [];
    if (groups.length < GROUPS_MIN) return match;
    if (isDialled(groups, effort)) return REDACTED + number.slice(candidate.length);
  }
}

function isDialled(groups: readonly string[], effort: Effort): boolean {
  const number = readPhone(`+${groups.join(' ')}`, null, effort);
  return number === 'unread' || (number !== null && number.countryCallingCode === groups[0]);
}

const STEPS = 20;

/**
 * The valid number that a text is in a country, or with its plus in whatever country; null where it is none.
 * `unread`: there is no effort left.
 */
function readPhone(text: string, country: string | null, effort: Effort): PhoneNumber | null | 'unread' {
  const key = `${country ?? ''} ${text}`;
  const known = effort.phones.get(key);
  if (known !== undefined) return known;
  if (!spend(effort, STEPS)) return 'unread';
  const number = parse(text, country);
  const valid = number?.isValid() === true ? number : null;
  effort.phones.set(key, valid);
  return valid;
}

function parse(text: string, country: string | null): PhoneNumber | undefined {
  if (country === null) return parsePhoneNumberFromString(text);
  return isSupportedCountry(country)
    ? parsePhoneNumberFromString(text, { defaultCountry: country, extract: false })
    : undefined;
}
