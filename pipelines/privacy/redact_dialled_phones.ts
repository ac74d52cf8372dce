import { type CountryCode, isSupportedCountry, Metadata } from 'libphonenumber-js/max';
import type { Effort } from './effort.ts';
import { BEHIND_ESCAPE } from './literal_escape.ts';
import { readPhone } from './read_phone.ts';
import { REDACTED } from './redacted.ts';
import { HOLDS_GROUPS } from './scan_text.ts';

const BETWEEN = String.raw`[\s().\-/+\u2010-\u2015]`;
const START = `(?:(?<![A-Za-z0-9_]|[0-9][-.,/:])|${BEHIND_ESCAPE})`;
/** `00 49 151 12345678` and `plus 49 151 12345678`: the calling code stands alone. */
const CALLING_CODE_ALONE = String.raw`(?<number>\(?[1-9][0-9]{0,2}(?:${BETWEEN}{1,3}[0-9]{1,12}){1,6})(?![A-Za-z0-9_])`;
const SPELLED = new RegExp(String.raw`${START}(?:\(?00\)?${BETWEEN}{1,2}|plus\s{1,3})${CALLING_CODE_ALONE}`, 'gi');
/** What is dialled in a country for other countries, where that is not `00` alone: `011`, `8~10`, `00 21`. */
const prefixed = new Map<string, RegExp | null>();
/** `+49,151,12345678` and `+49'151'12345678`; one comma rather stands between two numbers. */
const JOINED = /(?:\+|%(?:25)*2B)(?<number>[1-9][0-9]{0,2}(?:[,'’`][0-9]{2,12}){2,6})(?![0-9])/gi;
const THOUSANDS = /^[0-9]{1,3}(?:[,'’`][0-9]{3})+$/;
const LAST_GROUP = /[^0-9]+[0-9]+$/;
const GROUPS = /[0-9]+/g;
const GROUPS_MIN = 2;

/**
 * Replaces valid numbers that have `00` and a space, or the word plus, in place of the sign, whatever the country, and those that
 * have what is dialled instead in one of the countries.
 *
 * @param bits What `scanText` said of the text.
 */
export function redactDialledPhones(text: string, bits: number, countries: readonly string[], effort: Effort): string {
  let clean = text.replace(SPELLED, (match, number: string) => withoutNumber(match, number, effort));
  if ((bits & HOLDS_GROUPS) === 0) return clean;
  for (const country of countries) {
    const pattern = prefixPattern(country);
    if (pattern !== null)
      clean = clean.replace(pattern, (match, number: string) => withoutNumber(match, number, effort));
  }
  return clean;
}

function prefixPattern(country: string): RegExp | null {
  const known = prefixed.get(country);
  if (known !== undefined) return known;
  const prefix = isSupportedCountry(country) ? prefixOf(country) : '00';
  const pattern = prefix === '00' ? null : new RegExp(`${START}(?:${prefix})${BETWEEN}{1,2}${CALLING_CODE_ALONE}`, 'g');
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
    THOUSANDS.test(number) ? match : withoutNumber(match, number, effort),
  );
}

/** What follows the number may have been taken for a part of it: then it is valid without its last groups. */
function withoutNumber(match: string, number: string, effort: Effort): string {
  for (let candidate = number; ; candidate = candidate.replace(LAST_GROUP, '')) {
    const groups = candidate.match(GROUPS) ?? [];
    if (groups.length < GROUPS_MIN) return match;
    if (isNumber(groups, effort)) return REDACTED + number.slice(candidate.length);
  }
}

function isNumber(groups: readonly string[], effort: Effort): boolean {
  const number = readPhone(`+${groups.join(' ')}`, null, effort);
  return number === 'unread' || (number !== null && number.countryCallingCode === groups[0]);
}
