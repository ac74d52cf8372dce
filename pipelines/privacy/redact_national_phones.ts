import { REDACTED } from './redacted.ts';

/** What people write between the digits of a number; form encoding writes a space as `+` or as a percent escape. */
const BETWEEN = String.raw`(?:[\s().\-/+\u2010-\u2015]|%(?:25)*(?:20|28|29|2[DdEeFf]))`;
const OPEN = String.raw`(?:\(|%(?:25)*28)`;
const CLOSE = String.raw`(?:\)|%(?:25)*29)`;

/** Without Unicode's classes an expression takes half the time, and most texts are ASCII. */
const GROUPED_ASCII = grouped('[0-9]', 'A-Za-z', 'g');
const GROUPED = grouped(String.raw`\p{Nd}`, String.raw`\p{L}`, 'gu');

function grouped(digit: string, letters: string, flags: string): RegExp {
  // Not inside a word, an identifier, a date or a decimal; right after a percent escape a number may begin.
  const start = `(?:(?<![${letters}0-9_]|${digit}[-.,/])|(?<=%[0-9A-Fa-f]{2}))`;
  const end = `(?![${letters}_]|${BETWEEN}?${digit})`;
  const date = `${digit}{2}[-./ ]${digit}{2}[-./ ]${digit}{4}(?!${digit})`;
  // `(650) 555-0142`: an area code, and no year, in brackets.
  const bracketed = `${OPEN}(?!(?:19|20)${digit}{2}${CLOSE})${digit}{2,5}${CLOSE}(?:${BETWEEN}{0,3}${digit}){5,9}`;
  // `650-555-0142`: three, three and four digits, as in North America.
  const northAmerican = `(?:1${BETWEEN}{1,2})?[2-9]${digit}{2}${BETWEEN}{1,2}[2-9]${digit}{2}${BETWEEN}{1,2}${digit}{4}`;
  // `0151 12345678`, `06 12 34 56 78`, `0032 470 12 34 56`: a trunk prefix or 00, and groups.
  const trunk = `(?!${date})00?[1-9]${digit}{0,3}(?:${BETWEEN}{1,3}${digit}{2,8}){1,6}`;
  return new RegExp(`(?=[(%0-9])${start}(?:${bracketed}|${northAmerican}|${trunk})${end}`, flags);
}

const BARE = /(?:(?<![0-9%]|%[0-9])|(?<=%(?:25)*20))[0-9]{9,15}(?![0-9])/g;
/** What stands, in lower case, before a number that is written without any separator, to tell it from an order number. */
const CALLED =
  /(?<![a-z\u00df-\u00ff])(?:t[eé]l(?:[eé]phone|[eé]fono|efoon|efon)?|tlf|phone|fon|handy|mobile?|cell(?:phone)?|gsm|call|sms|text|whatsapp|fax)(?:%(?:25)*20|[^a-z0-9%]){1,4}(?:(?:no|nr|number|me|us|at|on)(?:%(?:25)*20|[^a-z0-9%]){1,4})?$/;
const CALLED_CHARACTERS_MAX = 40;

const NOT_ASCII = /[^\0-\x7f]/;
const DIGIT = /\p{Nd}/gu;
const DIGITS_MIN = 9;
const DIGITS_MAX = 16;

/**
 * Replaces numbers written nationally by the redaction word: in brackets, in North American groups, or with a trunk
 * prefix, 9 to 16 digits in all; digits without any separator only behind a word such as `call`, as they are an order
 * number otherwise. No country is asked: a text may name a number of any.
 */
export function redactNationalPhones(text: string): string {
  const isAscii = !NOT_ASCII.test(text);
  const clean = text.replace(isAscii ? GROUPED_ASCII : GROUPED, (match) => (isLongEnough(match) ? REDACTED : match));
  return clean.replace(BARE, (match, offset: number) =>
    CALLED.test(clean.slice(Math.max(0, offset - CALLED_CHARACTERS_MAX), offset).toLowerCase()) ? REDACTED : match,
  );
}

function isLongEnough(match: string): boolean {
  const count = match.replace(/%(?:25)*[0-9a-f]{2}/gi, ' ').match(DIGIT)?.length ?? 0;
  return count >= DIGITS_MIN && count <= DIGITS_MAX;
}
