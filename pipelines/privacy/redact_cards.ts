import { redactEncoded } from './percent_encoded.ts';
import { plainText } from './plain_text.ts';
import { REDACTED } from './redacted.ts';
import { HOLDS_PERCENT, scanText } from './scan_text.ts';

/** What ISO/IEC 7812 lets a payment card's number have. */
const DIGITS_MIN = 13;
const DIGITS_MAX = 19;
/**
 * Issuers' ranges with the lengths of their numbers (ISO/IEC 7812-1): Visa, Mastercard, Maestro and others, Mir, American
 * Express, Diners Club, JCB. A tenth of all other numbers passes the check digit too, as campaigns' ids of 17 digits do.
 */
const ISSUED = [
  /^4(?:\d{12}|\d{15}|\d{18})$/,
  /^(?:5[1-5]\d\d|222[1-9]|22[3-9]\d|2[3-6]\d\d|27[01]\d|2720)\d{12}$/,
  /^(?:5[06-8]|6\d)\d{11,17}$/,
  /^220[0-4]\d{12,15}$/,
  /^3[47]\d{13}$/,
  /^3(?:0[0-5]|[689]\d)\d{11,16}$/,
  /^35(?:2[89]|[3-8]\d)\d{12,15}$/,
];
/** Digits in groups, as people and forms write them; no part of a decimal number. */
const RUN = /(?<![\d.,])\d(?:[ \t+\u2010-\u2015-]{0,3}\d){12,}(?!\d)/g;
const GROUP = /\d+/g;
const DECIMALS = /^[.,]\d/;
/** Groups of four or so that something else stands between. */
const POINTED = /(?<!\d)\d{4}([._/])\d{4,6}\1\d{4,5}(?:\1\d{1,7})?(?!\d)/g;
/** Digits that no blank stands beside: in a sentence they are no id. */
const ALONE = /(?<![\s\d])\d{13,}(?![\s\d])/g;
const NOT_DIGITS = /\D/g;

/**
 * The text with `redacted` in the place of numbers that have the length, the start and the check digit of a payment card, in
 * groups or not, also where what else is written beside them (a date, a security code) looks like more of the number. As
 * `redactText` it reads what people read: characters that show nothing, foreign digits and percent escapes are no disguise.
 */
export function redactCards(text: string): string {
  const bits = scanText(text);
  const plain = plainText(text, bits);
  const clean = redactPlain(plain);
  const readable = clean === plain ? text : clean;
  return (bits & HOLDS_PERCENT) === 0 ? readable : redactEncoded(readable, redactPlain);
}

/** Whether a card's number stands in the text in groups, or in a sentence: digits alone may as well be an id. */
export function holdsGroupedCard(text: string): boolean {
  const plain = plainText(text, scanText(text)).trim();
  const grouped = plain.replaceAll(ALONE, '');
  return redactCards(grouped) !== grouped;
}

function redactPlain(text: string): string {
  return text
    .replace(RUN, (run, at: number, whole: string) =>
      redactRun(run, DECIMALS.test(whole.slice(at + run.length, at + run.length + 2))),
    )
    .replace(POINTED, (found) => (isCard(found.replace(NOT_DIGITS, '')) ? REDACTED : found));
}

/** Of the groups of a run those that are one card together, from the first on, as many as can be. */
function redactRun(run: string, endsInDecimals: boolean): string {
  const groups = [...run.matchAll(GROUP)].map(({ 0: digits, index }) => ({
    digits,
    start: index,
    end: index + digits.length,
  }));
  const last = groups.length - (endsInDecimals ? 1 : 0);
  let clean = '';
  let kept = 0;
  for (let first = 0; first < last; first += 1) {
    const end = cardEnd(groups.slice(first, Math.min(last, first + DIGITS_MAX)).map(({ digits }) => digits));
    if (end === 0) continue;
    clean += run.slice(kept, groups[first]?.start) + REDACTED;
    first += end - 1;
    kept = groups[first]?.end ?? run.length;
  }
  return clean + run.slice(kept);
}

/** How many of the groups, from the first, are a card; 0: none. */
function cardEnd(groups: readonly string[]): number {
  let digits = '';
  let found = 0;
  for (const [at, group] of groups.entries()) {
    digits += group;
    if (digits.length > DIGITS_MAX) break;
    if (digits.length >= DIGITS_MIN && isCard(digits)) found = at + 1;
  }
  return found;
}

const isCard = (digits: string): boolean => ISSUED.some((range) => range.test(digits)) && passesLuhn(digits);

/** The check of ISO/IEC 7812-1, annex B. */
function passesLuhn(digits: string): boolean {
  let sum = 0;
  for (let at = 0; at < digits.length; at += 1) {
    const digit = digits.charCodeAt(digits.length - 1 - at) - 0x30;
    const twice = digit * 2;
    sum += at % 2 === 0 ? digit : twice - (twice > 9 ? 9 : 0);
  }
  return sum % 10 === 0;
}
