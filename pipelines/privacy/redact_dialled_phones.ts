import type { Effort } from './effort.ts';
import { BEHIND_ESCAPE } from './literal_escape.ts';
import { readPhone } from './read_phone.ts';
import { REDACTED } from './redacted.ts';

const BETWEEN = String.raw`[\s().\-/+\u2010-\u2015]`;
const START = `(?:(?<![A-Za-z0-9_]|[0-9][-.,/:])|${BEHIND_ESCAPE})`;
/** `00 49 151 12345678` and `plus 49 151 12345678`: the calling code stands alone. */
const SPELLED = new RegExp(
  String.raw`${START}(?:\(?00\)?${BETWEEN}{1,2}|plus\s{1,3})(?<number>\(?[1-9][0-9]{0,2}(?:${BETWEEN}{1,3}[0-9]{1,12}){1,6})(?![A-Za-z0-9_])`,
  'gi',
);
/** `+49,151,12345678` and `+49'151'12345678`; one comma rather stands between two numbers. */
const JOINED = /(?:\+|%(?:25)*2B)(?<number>[1-9][0-9]{0,2}(?:[,'’`][0-9]{2,12}){2,6})(?![0-9])/gi;
const THOUSANDS = /^[0-9]{1,3}(?:[,'’`][0-9]{3})+$/;
const LAST_GROUP = /[^0-9]+[0-9]+$/;
const GROUPS = /[0-9]+/g;
const GROUPS_MIN = 2;

/** Replaces valid numbers that have `00` and a space, or the word plus, in place of the sign; whatever the country. */
export function redactSpelledPhones(text: string, effort: Effort): string {
  return text.replace(SPELLED, (match, number: string) => withoutNumber(match, number, effort));
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
