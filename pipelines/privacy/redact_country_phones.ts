import { isIPv4 } from 'node:net';
import type { PhoneNumber } from 'libphonenumber-js/max';
import type { Effort } from './effort.ts';
import { BEHIND_ESCAPE } from './literal_escape.ts';
import { readPhone } from './read_phone.ts';
import { REDACTED } from './redacted.ts';
import { HOLDS_DOUBLE_ZERO, HOLDS_GROUPS } from './scan_text.ts';

const BETWEEN = String.raw`(?:[\s().\-/\u2010-\u2015]|%(?:25)*(?:20|28|29|2[DdEeFf]))`;
const OPEN = String.raw`(?:\(|%(?:25)*28)`;
/** Groups of digits with something between them, not inside a word, an identifier, a date or a decimal. */
const GROUPED = new RegExp(
  `(?=[(%0-9])(?:(?<![A-Za-z0-9_]|[0-9][-.,/:])|${BEHIND_ESCAPE}|(?<=%[0-9A-Fa-f]{2}))${OPEN}?[0-9]{1,6}(?:${BETWEEN}{1,3}[0-9]{2,8}){1,6}(?![A-Za-z0-9_]|[-.,/:]?[0-9])`,
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
    (bits & HOLDS_DOUBLE_ZERO) === 0 ? text : text.replace(DOUBLE_ZERO, (match) => withoutNumber(match, effort));
  if ((bits & HOLDS_GROUPS) === 0 || countries.length === 0) return clean;
  return clean.replace(GROUPED, (match) => {
    const plain = match.replace(ESCAPE, ' ');
    const digits = digitsIn(plain);
    if (digits < DIGITS_MIN || digits > DIGITS_MAX || DATE.test(plain) || AMOUNT.test(plain)) return match;
    if (isIPv4(plain.split('/', 1)[0] ?? '')) return match;
    if (isNumber(plain, countries, effort)) return REDACTED;
    const head = FIRST_GROUP.exec(match)?.[0] ?? '';
    const rest = match.slice(head.length).replace(ESCAPE, ' ');
    return head !== '' && digitsIn(rest) >= DIGITS_MIN && isNumber(rest, countries, effort) ? head + REDACTED : match;
  });
}

function withoutNumber(match: string, effort: Effort): string {
  return readPhone(`+${match.slice(2)}`, null, effort) === null ? match : REDACTED;
}

function isNumber(text: string, countries: readonly string[], effort: Effort): boolean {
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
