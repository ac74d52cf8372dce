// Text as it is looked through: what that may cost a request, what it may hold, its plain form, and what stands for what was removed.

import type { PhoneNumber } from 'libphonenumber-js/max';
import type { KeyMeaning } from './key_words.ts';

/** Marks in a row, of which no language has so many. Katakana's halfwidth voice marks become some. */
const MARKS = /[\p{M}\uff9e\uff9f]{30}(?=[\p{M}\uff9e\uff9f])/gu;
/** It shows nothing, and marks are not sorted across it. */
const JOINER = '\u034f';

/**
 * As `String.normalize`, which sorts marks that stand in a row and takes the square of their number: cut as Unicode's stream-safe text
 * format cuts them (UAX #15, section 13).
 */
export const normalised = (text: string, form: 'NFC' | 'NFD' | 'NFKC' | 'NFKD'): string =>
  text.replace(MARKS, `$&${JOINER}`).normalize(form);

/** A copy, for what outlives a request: V8 holds a part of a text as a view of the whole, and the whole with it. */
export const detached = (text: string): string => Buffer.from(text).toString();

/** In steps of a microsecond at most: what is left of 50 ms when a request is read and written. */
export const REQUEST_STEPS_MAX = 40_000;
export const EVENT_STEPS_MAX = 12_000;
/** Enough for the readings of an id that is one identifier, or holds some. */
const ID_STEPS_MAX = 250;

/**
 * What cleaning may still cost. Costs are counted and not measured, so that the same text always comes out the same. What
 * there are no steps left for is not judged, and goes as if it were an identifier: such an event is a table of figures, or
 * meant to cost time.
 */
export interface WorkBudget {
  /** Steps of the request. */
  readonly allowed: number;
  /** Those that are left to the event. */
  left: number;
  /** All that were made for the request, those for ids among them. */
  readonly made: { steps: number };
  /** Values that were walked through, which cost about a step each whatever they are; they take nothing from what is left. */
  readonly walked: { values: number };
  /** By country and text: what repeats among the events of a request is read once; null: nothing yet. Gone with the request. */
  phones: Map<string, PhoneNumber | null> | null;
  /** The same of names that are not held in memory. */
  names: Map<string, KeyMeaning> | null;
}

/**
 * That of a new request, or of a text that belongs to none.
 *
 * @param parts By how many times the request may hold more than the API allows.
 */
export function createWorkBudget(parts = 1): WorkBudget {
  const allowed = REQUEST_STEPS_MAX * parts;
  return { allowed, left: allowed, made: { steps: 0 }, walked: { values: 0 }, phones: null, names: null };
}

/**
 * That of one id, which is the same whatever stands around it: one id must not be hashed in one request and kept in
 * another, as events would be counted twice.
 */
export function idWorkBudget({ allowed, made, walked }: WorkBudget = createWorkBudget()): WorkBudget {
  return { allowed, left: ID_STEPS_MAX, made, walked, phones: null, names: null };
}

export function startEvent(budget: WorkBudget): void {
  budget.left = Math.min(EVENT_STEPS_MAX, budget.allowed - budget.made.steps);
}

/** Where a budget stands, so that it can be put back there. */
export interface BudgetMark {
  left: number;
  steps: number;
  phones: number;
  names: number;
}

export const markOf = (budget: WorkBudget): BudgetMark => ({
  left: budget.left,
  steps: budget.made.steps,
  phones: budget.phones?.size ?? 0,
  names: budget.names?.size ?? 0,
});

/** Undoes what was done since, as if it had not been: what was read meanwhile costs as much again. */
export function backTo(budget: WorkBudget, { left, steps, phones, names }: BudgetMark): void {
  budget.left = left;
  budget.made.steps = steps;
  forgetBehind(budget.phones, phones);
  forgetBehind(budget.names, names);
}

function forgetBehind(read: Map<string, unknown> | null, size: number): void {
  if (read === null || read.size === size) return;
  for (const key of [...read.keys()].slice(size)) read.delete(key);
}

/** Takes so many steps; false, and nothing taken, where fewer are left. */
export function spend(budget: WorkBudget, steps: number): boolean {
  if (budget.left < steps) return false;
  budget.left -= steps;
  budget.made.steps += steps;
  return true;
}

/** What a text may hold, as bits: each rules a costly look in or out. */
export const HOLDS_AT = 1;
export const HOLDS_PERCENT = 2;
export const HOLDS_PLUS = 4;
export const HOLDS_EQUALS = 8;
/** An ampersand, which HTML's character references begin with. */
const HOLDS_AMPERSAND = 16;
export const HOLDS_NON_ASCII = 32;
/** A quote beside a colon: a member of an object may be written there. */
export const HOLDS_QUOTE = 64;
const HOLDS_BACKSLASH = 128;
/** A colon or slash, which links to a number have before it. */
export const HOLDS_COLON_OR_SLASH = 256;
/** Seven digits, as many as a phone number has at the least, with nothing between them but what such numbers have. */
export const HOLDS_NUMBER = 512;
/** Such digits with something between them. */
export const HOLDS_GROUPS = 1024;
/** Such digits behind something else. */
export const HOLDS_NUMBER_BEHIND = 2048;
/** Such digits that begin with `00`. */
export const HOLDS_DOUBLE_ZERO = 4096;
/** As many digits anywhere, and what may be a bracket or quote around some. */
export const HOLDS_WRAPPED = 8192;
/** Twelve digits anywhere, as many as an account's number has at the least. */
export const HOLDS_LONG_NUMBER = 16384;
/**
 * What a key or a token begins with, in a text that is long enough for one, the name of a secret before a colon or in a path, or
 * a closing tag.
 */
export const HOLDS_SECRET = 32768;
/** For a text that has not been scanned. */
export const EVERYTHING = 65535;

export const NUMBER_DIGITS_MIN = 7;
const LONG_NUMBER_DIGITS_MIN = 12;
export const SECRET_CHARACTERS_MIN = 20;
/** The beginnings of what `redact_secrets.ts` looks for: literal texts, classes and choices alone. */
export const SECRET_MARK =
  /eyJ|[rs]k_[lt]|whsec_|gh[opsur]_|github_pat|gl(?:pat|dt|rt|ptt|cbt|soat|ft|agent|imt|oas|sa|c)[-_]|xox[abeoprs]-|xapp-|AKIA|ASIA|AIza|ya29\.|GOCSPX|EAA|SG\.|shp(?:at|ca|pa|ss|ua|tka)_|npm_|pypi-|dckr_|hf_|sk-|xkeysib|key-|-us[0-9]|sq0|rzp_|do[opr]_v|dapi|lin_api|PMAK|NRAK|ATATT|dp\.|:AA|pk_|pat-|svc_[as][kt]|PRIVATE KEY|[Bb][Ee][Aa][Rr][Ee][Rr]|[Bb][Aa][Ss][Ii][Cc]/;
const PERCENT = 0x25;
const AT = 0x40;
const SLASH = 0x2f;
const DIGIT_ZERO = 0x30;
const DIGIT_NINE = 0x39;

const BITS = new Uint16Array(128);
for (const [sign, bit] of Object.entries({
  '@': HOLDS_AT,
  '%': HOLDS_PERCENT,
  '+': HOLDS_PLUS,
  '=': HOLDS_EQUALS,
  '&': HOLDS_AMPERSAND,
  '"': HOLDS_QUOTE | HOLDS_WRAPPED,
  '\\': HOLDS_BACKSLASH,
  ':': HOLDS_COLON_OR_SLASH,
  '/': HOLDS_COLON_OR_SLASH,
  '[': HOLDS_WRAPPED,
  '{': HOLDS_WRAPPED,
  '<': HOLDS_WRAPPED,
  "'": HOLDS_QUOTE | HOLDS_WRAPPED,
  '`': HOLDS_WRAPPED,
})) {
  BITS[sign.charCodeAt(0)] = bit;
}
const DIGITS = new Uint8Array(128).fill(1, DIGIT_ZERO, DIGIT_NINE + 1);
const BETWEEN_DIGITS = new Uint8Array(128);
for (const sign of ' \t\r\n().-/+%_~*') BETWEEN_DIGITS[sign.charCodeAt(0)] = 1;
const NO_BREAK_SPACE = 0xa0;
const NARROW_SPACE = 0x202f;
const IDEOGRAPHIC_SPACE = 0x3000;
const MINUS = 0x2212;

/**
 * One pass over the text; most texts come out as 0 and need no second look. The first pass only counts the digits, as
 * following numbers in it would make every text cost twice as much.
 */
export function scanText(text: string): number {
  let bits = text.length >= SECRET_CHARACTERS_MIN && SECRET_MARK.test(text) ? HOLDS_SECRET : 0;
  let digits = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code < 128) {
      bits |= BITS[code] as number;
      digits += DIGITS[code] as number;
    } else bits |= HOLDS_NON_ASCII;
  }
  if ((bits & HOLDS_COLON_OR_SLASH) === 0) bits &= ~HOLDS_QUOTE;
  else if (((bits & HOLDS_WRAPPED) !== 0 && text.includes('</')) || holdsHeader(text) || holdsSecretPath(text)) {
    bits |= HOLDS_SECRET;
  }
  if (digits < NUMBER_DIGITS_MIN) {
    bits &= ~HOLDS_WRAPPED;
    return bits === HOLDS_COLON_OR_SLASH ? 0 : bits;
  }
  if ((bits & HOLDS_NON_ASCII) !== 0) bits |= HOLDS_WRAPPED;
  if (digits >= LONG_NUMBER_DIGITS_MIN) bits |= HOLDS_LONG_NUMBER;
  const number = numberBits(text);
  return number === 0 && bits === HOLDS_COLON_OR_SLASH ? 0 : bits | number;
}

/** What a name ends with that stands on a line before a colon and a secret. */
const HEADER_MARK = /(?:authorization|passw(?:or)?[dt]|kennwort|pwd|token|secret|key|signature|credentials)\s?:/i;

/** The colon of an address, which most texts with one are, has a slash behind it. */
function holdsHeader(text: string): boolean {
  let colon = text.indexOf(':');
  while (colon >= 0 && text.charCodeAt(colon + 1) === SLASH) colon = text.indexOf(':', colon + 2);
  return colon >= 0 && HEADER_MARK.test(text);
}

/** What a part of a path holds by which the next one, or the one behind that, may be a secret: literal texts alone. */
export const SECRET_PATH_WORD =
  /token|passw|passcode|secret|jwt|key|magic|otp|reset|recover|invit|unsubscribe|verif|activat|confirm|validat|link/;
export const SECRET_PATH_GAP_MAX = 24;
const PATH_MARK = new RegExp(`(?:${SECRET_PATH_WORD.source})[^/]{0,${SECRET_PATH_GAP_MAX}}/[^/]`, 'i');

const holdsSecretPath = (text: string): boolean => text.length >= SECRET_CHARACTERS_MIN && PATH_MARK.test(text);

function numberBits(text: string): number {
  let bits = 0;
  let at = 0;
  while (at < text.length) {
    if (!isDigit(text.charCodeAt(at))) {
      at += 1;
      continue;
    }
    const start = at;
    let digits = 0;
    let end = at;
    for (; at < text.length; at += 1) {
      const code = text.charCodeAt(at);
      if (isDigit(code)) {
        digits += 1;
        end = at + 1;
      } else if (!isBetweenDigits(code)) break;
    }
    if (digits >= NUMBER_DIGITS_MIN && !isDate(text, start, end)) bits |= bitsOf(text, start, end, digits);
  }
  return bits;
}

function bitsOf(text: string, start: number, end: number, digits: number): number {
  const groups = end - start > digits ? HOLDS_GROUPS : 0;
  const behind = start > 0 ? HOLDS_NUMBER_BEHIND : 0;
  const zeros = groups !== 0 || (text.charCodeAt(start) === DIGIT_ZERO && text.charCodeAt(start + 1) === DIGIT_ZERO);
  return HOLDS_NUMBER | groups | behind | (zeros ? HOLDS_DOUBLE_ZERO : 0);
}

/** Also the spaces, hyphens and dashes (U+2010 to U+2015) that people and word processors write. */
function isBetweenDigits(code: number): boolean {
  if (code < 128) return BETWEEN_DIGITS[code] === 1;
  if (code >= 0x2000 && code <= 0x2015) return true;
  return code === NO_BREAK_SPACE || code === NARROW_SPACE || code === IDEOGRAPHIC_SPACE || code === MINUS;
}

/** `2026-11-20`, which most times begin with. */
function isDate(text: string, start: number, end: number): boolean {
  return end - start === 10 && text.charAt(start + 4) === '-' && text.charAt(start + 7) === '-';
}

function isDigit(code: number): boolean {
  return code >= DIGIT_ZERO && code <= DIGIT_NINE;
}

/** Characters that it takes a step to look at, in the steps of `WorkBudget`: more where any may stand for another. */
const CHARACTERS_PER_STEP = 32;
const WRITTEN_OTHERWISE_PER_STEP = 5;
const WRITTEN_OTHERWISE = HOLDS_AMPERSAND | HOLDS_NON_ASCII | HOLDS_BACKSLASH;
/** What an escape, an at sign, and a group of digits among others cost at the most. */
const STEPS_PER_PERCENT = 2;
const STEPS_PER_AT = 3;
const STEPS_PER_GROUP = 4;
const LONG_NUMBER_CHARACTERS_PER_STEP = 16;

/** The most that it costs to see what a text says. */
export function stepsToRead(text: string, bits: number): number {
  const perStep = (bits & WRITTEN_OTHERWISE) === 0 ? CHARACTERS_PER_STEP : WRITTEN_OTHERWISE_PER_STEP;
  return Math.ceil(text.length / perStep);
}

/** The most that it then costs to redact it, beside reading names and phone numbers. */
export function stepsToRedact(text: string, bits: number): number {
  let steps = (bits & HOLDS_LONG_NUMBER) === 0 ? 0 : Math.floor(text.length / LONG_NUMBER_CHARACTERS_PER_STEP);
  if ((bits & (HOLDS_AT | HOLDS_PERCENT | HOLDS_NUMBER)) === 0) return steps;
  const perGroup = (bits & HOLDS_NUMBER) === 0 ? 0 : STEPS_PER_GROUP;
  let wasDigit = false;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    const digit = isDigit(code);
    if (digit && !wasDigit) steps += perGroup;
    else if (code === PERCENT) steps += STEPS_PER_PERCENT;
    else if (code === AT) steps += STEPS_PER_AT;
    wasDigit = digit;
  }
  return steps;
}

/** Characters that show nothing: Unicode's format characters, selectors of variants, fillers and enclosing marks. */
const HIDDEN =
  /\p{Cf}|\p{Me}|\u034f|\u115f|\u1160|\u17b4|\u17b5|[\u180b-\u180f]|\u3164|[\ufe00-\ufe0f]|\uffa0|[\u{e0100}-\u{e01ef}]/gu;
/** Accents on a digit or between two, also as what compatibility normalisation makes of a free-standing one. */
const MARK_BETWEEN_DIGITS = /(?<=[0-9])\s?\p{M}+(?=\s?[0-9])/gu;
const FOREIGN_DIGIT = /(?![0-9])\p{Nd}/gu;
const DIGIT = /^\p{Nd}$/u;
/** Signs that compatibility normalisation leaves, and what people read them as. */
const READ_AS: Readonly<Record<string, string>> = {
  '\u3002': '.',
  '\u2795': '+',
  '\u2212': '-',
  '\u30fc': '-',
  '\u02d7': '-',
  '\u2043': '-',
  '\u2022': '.',
  '\u00b7': '.',
  '\u30fb': '.',
  '\u2236': ':',
  '\u2044': '/',
  '\u2215': '/',
};
const READ_AS_OTHER = /[\u3002\u2795\u2212\u02d7\u2043\u2022\u00b7\u30fb\u2236\u2044\u2215]|(?<=[0-9])\u30fc(?=[0-9])/g;

/** HTML's references by number, and by the names of what stands in addresses and numbers; `&` may be escaped too. */
const REFERENCE =
  /&(?:amp;){0,3}(?:#(?:x0*(?<hex>[0-9a-f]{1,6})|0*(?<decimal>[0-9]{1,7}));?|(?<name>commat|period|plus|lpar|rpar|hyphen|dash|lowbar|nbsp|shy|zwj|zwnj|lrm|rlm|colon|sol|num|Tab|NewLine);)/gi;
const NAMED: Readonly<Record<string, string>> = {
  commat: '@',
  period: '.',
  plus: '+',
  lpar: '(',
  rpar: ')',
  hyphen: '-',
  dash: '-',
  lowbar: '_',
  nbsp: ' ',
  colon: ':',
  sol: '/',
  num: '#',
  tab: ' ',
  newline: ' ',
};
/** Escapes of JSON and JavaScript, also where the backslashes were escaped again. */
const BACKSLASH_ESCAPE = /\\{1,8}(?:u(?<four>[0-9a-f]{4})|u\{(?<braced>[0-9a-f]{1,6})\}|x(?<two>[0-9a-f]{2}))/gi;
/** What JavaScript's `escape` makes of a character, also where it was percent-encoded again. */
const PERCENT_U = /%(?:25){0,4}u(?<four>[0-9a-f]{4})/gi;
const CODE_POINT_MAX = 0x10ffff;

/**
 * The text as people and programs read it: character references and escapes are resolved, compatibility forms
 * (fullwidth, ideographic) and foreign digits become plain ones, and what shows nothing goes. The same text where
 * nothing of that is in it. Percent escapes of bytes stay, as without them an address would be another.
 *
 * @param bits What `scanText` said of the text.
 */
export function plainText(text: string, bits: number): string {
  let plain = text;
  if ((bits & HOLDS_AMPERSAND) !== 0 && mayHoldReference(text)) plain = plain.replace(REFERENCE, referenced);
  if ((bits & HOLDS_BACKSLASH) !== 0) plain = plain.replace(BACKSLASH_ESCAPE, escaped);
  if ((bits & HOLDS_PERCENT) !== 0) plain = plain.replace(PERCENT_U, escaped);
  return (bits & HOLDS_NON_ASCII) === 0 && plain === text ? text : plainCharacters(plain);
}

/** Addresses are full of ampersands, and few have either. */
function mayHoldReference(text: string): boolean {
  return text.includes(';') || text.includes('&#');
}

function referenced(whole: string, ...groups: unknown[]): string {
  const { hex, decimal, name } = groups.at(-1) as Record<string, string | undefined>;
  if (name !== undefined) return NAMED[name.toLowerCase()] ?? '';
  return character(hex === undefined ? Number(decimal) : Number.parseInt(hex, 16), whole);
}

function escaped(whole: string, ...groups: unknown[]): string {
  const { four, braced, two } = groups.at(-1) as Record<string, string | undefined>;
  return character(Number.parseInt(four ?? braced ?? two ?? '', 16), whole);
}

/** A control character stays as it was written: it would end the text's line, or a JSON text's string. */
function character(code: number, whole: string): string {
  const isQuote = code === 0x22 || code === 0x5c;
  return code < 0x20 || isQuote || code > CODE_POINT_MAX ? whole : String.fromCodePoint(code);
}

function plainCharacters(text: string): string {
  return normalised(text.toWellFormed(), 'NFKC')
    .replace(HIDDEN, '')
    .replace(FOREIGN_DIGIT, (digit) => String(digitValue(digit)))
    .replace(MARK_BETWEEN_DIGITS, ' ')
    .replace(READ_AS_OTHER, (sign) => READ_AS[sign] ?? sign);
}

/** Every script has its ten digits in a row. */
function digitValue(digit: string): number {
  const code = digit.codePointAt(0) ?? 0;
  let value = 0;
  while (value < 9 && DIGIT.test(String.fromCodePoint(code - value - 1))) value += 1;
  return value;
}

/** A text with its percent escapes undone; as it was where these say no text. */
export function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const EMAIL_CHARACTERS_MAX = 254;
const EMAIL = /^[^\s@"(),:;<>[\]\\]+@[^\s@.]+(?:\.[^\s@.]+)+$/;
const NOT_ASCII = /[^\p{ASCII}]/u;

/**
 * Trims and lower-cases as Meta's customer information parameters page asks, without characters that show nothing and with
 * fullwidth ones as what they stand for; null when it is no e-mail address.
 */
export function normaliseEmail(text: string): string | null {
  const plain = NOT_ASCII.test(text) ? plainText(text, HOLDS_NON_ASCII) : text;
  const trimmed = plain.trim().replace(/^mailto:/i, '');
  if (trimmed.length > EMAIL_CHARACTERS_MAX || !EMAIL.test(trimmed)) return null;
  return trimmed.toLowerCase();
}

/** What stands where an identifier stood: a plain word, so that URLs and JSON texts stay readable to their parsers. */
export const REDACTED = 'redacted';
