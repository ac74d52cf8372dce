import { isCalled } from './calling_words.ts';
import { BEHIND_ESCAPE } from './literal_escape.ts';
import { REDACTED } from './redacted.ts';
import { HOLDS_GROUPS, HOLDS_NUMBER_BEHIND } from './scan_text.ts';

/** What people write between the digits of a number; form encoding writes a space as `+` or as a percent escape. */
const BETWEEN = String.raw`(?:[\s().\-/+\u2010-\u2015]|%(?:25)*(?:20|28|29|2[DdEeFf]))`;
const OPEN = String.raw`(?:\(|%(?:25)*28)`;
const CLOSE = String.raw`(?:\)|%(?:25)*29)`;

// Not inside a word, an identifier, a date or a decimal; right after a percent escape or `Tel.` a number may begin.
const START = `(?:(?<![A-Za-z0-9_]|[0-9][-.,/])|${BEHIND_ESCAPE}|(?<=%[0-9A-Fa-f]{2})|(?<=(?<![A-Za-z])(?:[Tt][Ee][Ll]|[Mm][Oo][Bb]|[Ff][Aa][Xx]|[Pp][Hh])[._:]?))`;
// Behind it may follow an extension, a short number that is another word's (`24h`), or another phone number.
const END = `(?:(?=[xX][0-9])|(?= [0-9]{1,2}[A-Za-z/:])|(?= (?:0[1-9][ .-]?[0-9]|[2-9][0-9]{2}[ .-][2-9][0-9]{2}[ .-][0-9]{4}))|(?![A-Za-z0-9_]|${BETWEEN}?[0-9]))`;
const DATE = String.raw`[0-9]{2}[-./ \u2010-\u2015][0-9]{2}[-./ \u2010-\u2015][0-9]{4}(?![0-9])`;
// `(650) 555-0142`: an area code, and no year, in brackets.
const BRACKETED = `${OPEN}(?!(?:19|20)[0-9]{2}${CLOSE})[0-9]{2,5}${CLOSE}(?:${BETWEEN}{0,3}[0-9]){5,9}`;
// `650-555-0142` and `650 - 555 - 0142`: three, three and four digits, as in North America.
const JOINT = String.raw`(?:\s[-\u2010-\u2015]\s|${BETWEEN}{1,2})`;
const NORTH_AMERICAN = `(?:1${JOINT})?[2-9][0-9]{2}${JOINT}[2-9][0-9]{2}${JOINT}[0-9]{4}`;
// `0151 12345678`, `06 12 34 56 78`, `0032 470 12 34 56`: a trunk prefix or 00, and groups.
const TRUNK = `(?!${DATE})00?[1-9][0-9]{0,3}(?:${BETWEEN}{0,2}${OPEN}0${CLOSE}${BETWEEN}{0,2}[0-9]{2,4})?(?:${BETWEEN}{1,3}[0-9]{2,8}){1,6}`;
const GROUPED = new RegExp(`(?=[(%0-9])${START}(?:${BRACKETED}|${NORTH_AMERICAN}|${TRUNK})${END}`, 'g');

/** Digits in any groups, which are a number only where something says so. */
const ANY = /(?<![0-9%]|%[0-9])\(?[0-9](?:[\s().\-\u2010-\u2015]{0,3}[0-9]){6,14}(?![0-9])/g;
const DATES =
  /^(?:(?:19|20)[0-9]{2}[-. ][0-9]{1,2}[-. ][0-9]{1,2}|[0-9]{1,2}[-. ][0-9]{1,2}[-. ](?:19|20)[0-9]{2})(?![0-9])|^20[0-9]{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])$/;
/** Widths and heights of screens, and bands of mobile networks. */
const SIZES: ReadonlySet<string> = new Set(
  '320 360 375 390 393 412 414 428 430 480 540 600 640 720 750 768 800 810 820 828 834 844 850 852 896 900 932 1024 1080 1125 1170 1179 1200 1242 1280 1284 1290 1334 1366 1440 1536 1600 1668 1680 1700 1792 1800 1900 1920 2048 2100 2160 2208 2340 2400 2436 2532 2556 2560 2600 2688 2732 2778 2796 3840'.split(
    ' ',
  ),
);

const DIGIT = /[0-9]/g;
/** Only pairs: a French number has five, and with more it is rather a draw's. */
const PAIRS = /^[0-9]{2}(?:[^0-9][0-9]{2}){5,}$/;
const DIGITS_MIN = 9;
const DIGITS_MAX = 16;

/**
 * Replaces numbers written nationally by the redaction word: in brackets, in North American groups, or with a trunk
 * prefix, 9 to 16 digits in all; other digits only behind a word such as `call`, as they are an order number otherwise.
 * No country is asked: a text may name a number of any.
 *
 * @param bits What `scanText` said of the text.
 */
export function redactNationalPhones(text: string, bits: number): string {
  const isGrouped = (bits & HOLDS_GROUPS) !== 0;
  const clean = isGrouped ? text.replace(GROUPED, (match) => (isLongEnough(match) ? REDACTED : match)) : text;
  if ((bits & HOLDS_NUMBER_BEHIND) === 0) return clean;
  return clean.replace(ANY, (match, offset: number) =>
    offset > 0 && isCalled(clean, offset, match.match(DIGIT)?.length ?? 0) && !DATES.test(match) && !isSizes(match)
      ? REDACTED
      : match,
  );
}

function isSizes(match: string): boolean {
  return (match.match(/[0-9]+/g) ?? []).every((group) => SIZES.has(group));
}

function isLongEnough(match: string): boolean {
  const plain = match.replace(/%(?:25)*[0-9a-f]{2}/gi, ' ');
  const count = plain.match(DIGIT)?.length ?? 0;
  return !PAIRS.test(plain) && count >= DIGITS_MIN && count <= DIGITS_MAX;
}
