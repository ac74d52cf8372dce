// A text without personal data: each kind of identifier in turn, and codes that are none.

import { isIP } from 'node:net';
import type { Names } from './key_words.ts';
import {
  createWorkBudget,
  HOLDS_AT,
  HOLDS_EQUALS,
  HOLDS_GROUPS,
  HOLDS_LONG_NUMBER,
  HOLDS_NON_ASCII,
  HOLDS_NUMBER,
  HOLDS_PERCENT,
  HOLDS_PLUS,
  HOLDS_QUOTE,
  HOLDS_SECRET,
  HOLDS_WRAPPED,
  plainText,
  REDACTED,
  scanText,
  spend,
  stepsToRead,
  stepsToRedact,
  type WorkBudget,
} from './normalise_text.ts';
import { redactEmails, redactUserinfo } from './redact_emails.ts';
import { redactHeaders, redactMembers, redactParameters, redactPaths, redactTags } from './redact_named.ts';
import {
  redactCountryPhones,
  redactDialledPhones,
  redactJoinedPhones,
  redactNationalPhones,
  redactPhones,
  redactWrappedPhones,
} from './redact_phones.ts';
import { isPixelCookie, isUuidText, redactEncoded, redactSecrets } from './redact_secrets.ts';

const NOWHERE: readonly string[] = [];

/** What a text is by the key that it stands under. */
export type Stands = 'text' | Names;

/**
 * The text without e-mail addresses, phone numbers that are written as such, secrets, and the user and password of URLs, each
 * replaced in place by the word `redacted`; of a URL's parameter only the value goes. Looked for is in what people read:
 * where something is found that was written with hidden or fullwidth characters, character references or needless
 * escapes, the text comes back without these. Otherwise it comes back as it was, lone surrogates as U+FFFD.
 *
 * @param anonymous Remove also what identifies a visitor: parameters such as click ids, and a text that is an IP address.
 * @param countries Those by whose numbering plans numbers without a country code are recognised (ISO 3166-1 alpha-2).
 * @param budget What is left to the event that the text is of; absent, that of one event.
 * @param stands What its key says it is.
 */
export function redactText(
  text: string,
  anonymous = false,
  countries: readonly string[] = NOWHERE,
  budget?: WorkBudget,
  stands: Stands = 'text',
): string {
  if (isUuidText(text) || isPixelCookie(text)) return text;
  const bits = scanText(text);
  if (anonymous && isIP(text) !== 0) return REDACTED;
  if (bits === 0 || (stands === 'article' && isArticleNumber(text))) return text;
  const how: Redaction = { anonymous, countries, budget: budget ?? createWorkBudget(), stands };
  const readable = redactReadable(text, bits, how);
  const clean =
    (bits & HOLDS_PERCENT) === 0
      ? readable
      : redactEncoded(readable, (part) => {
          const found = scanText(part);
          return found === 0 ? part : redactReadable(part, found, how);
        });
  return clean.length > GROWTH_MAX * text.length + REDACTED.length ? REDACTED : clean;
}

/** By how many times a text may become longer: a character of some that people use becomes eighteen, and one that is encoded again nine. */
const GROWTH_MAX = 4;

/** Whether an id or a name holds a raw e-mail address, a phone number that is written as one, or a secret. */
export function holdsPersonalText(text: string, countries: readonly string[] = NOWHERE, budget?: WorkBudget): boolean {
  const clean = redactText(text, false, countries, budget, 'id');
  return clean !== text && clean !== text.toWellFormed();
}

interface Redaction {
  anonymous: boolean;
  countries: readonly string[];
  budget: WorkBudget;
  stands: Stands;
}

function redactReadable(text: string, bits: number, how: Redaction): string {
  if (!spend(how.budget, stepsToRead(text, bits))) return REDACTED;
  const plain = plainText(text, bits);
  const found = plain === text ? bits : scanText(plain);
  if (!spend(how.budget, stepsToRedact(plain, found))) return REDACTED;
  const clean = redactPlain(plain, found, how);
  if (clean !== plain) return clean;
  return (bits & HOLDS_NON_ASCII) === 0 ? text : text.toWellFormed();
}

function redactPlain(text: string, bits: number, how: Redaction): string {
  const { anonymous, countries, budget } = how;
  let clean = text;
  if ((bits & (HOLDS_SECRET | HOLDS_LONG_NUMBER)) !== 0) clean = redactSecrets(clean, bits, how.stands, budget);
  if ((bits & HOLDS_SECRET) !== 0) clean = redactTags(redactHeaders(redactPaths(clean), budget), anonymous, budget);
  if ((bits & HOLDS_EQUALS) !== 0) clean = redactParameters(clean, anonymous, budget);
  if ((bits & HOLDS_QUOTE) !== 0) clean = redactMembers(clean, anonymous, budget);
  if ((bits & (HOLDS_AT | HOLDS_PERCENT)) !== 0) clean = redactUserinfo(clean);
  if ((bits & HOLDS_AT) !== 0) clean = redactEmails(clean);
  if ((bits & HOLDS_WRAPPED) !== 0) {
    clean = redactWrappedPhones(clean, (number) => redactPlain(number, scanText(number), how));
  }
  if ((bits & (HOLDS_PLUS | HOLDS_PERCENT)) !== 0) clean = redactJoinedPhones(clean, budget);
  if ((bits & HOLDS_NUMBER) === 0) return clean;
  const redactNumbers = (part: string): string =>
    redactCountryPhones(
      redactNationalPhones(redactPhones(redactDialledPhones(part, bits, countries, budget), bits), bits),
      bits,
      countries,
      budget,
    );
  return outsideOfCodes(clean, (part) =>
    (bits & HOLDS_GROUPS) === 0 ? redactNumbers(part) : betweenNumbers(part, redactNumbers),
  );
}

/**
 * Parcel numbers, whose digits look like a phone number's: of UPS, of the US Postal Service (in groups of four, with the ZIP code
 * before it or not), and of DHL.
 */
const PARCEL =
  /(?<![A-Za-z0-9])(?:1Z ?[0-9A-Z]{3} ?[0-9A-Z]{3} ?[0-9]{2} ?[0-9]{4} ?[0-9]{4}|(?:420 ?[0-9]{5} ?|4 ?20[0-9]{2} ?[0-9]{4} ?)?9[1-5][0-9]{2}(?: [0-9]{4}){4}(?: [0-9]{2})?|0034(?: [0-9]{4}){4})(?![A-Za-z0-9])/g;
/** The parameters and members that name articles, with one number or a list of them. */
const ARTICLES =
  /(?<![A-Za-z0-9])(?:(?:gtin|ean|upc|isbn)(?:-?[0-9]{1,2})?|mpn|(?:[a-z]{1,20}_)?sku|(?:item|product|content|variant|article)_?ids?)(?:=|\\{0,8}": {0,2}(?:\[ {0,2})?)((?:\\{0,8}"?[0-9][0-9-]{5,16}\\{0,8}"?(?:, {0,2})?)+)/gi;
const CODE_DIGITS = /[0-9][0-9-]+/g;
const MAY_BE_CODE =
  /1Z|(?:9[1-5][0-9]{2}|0034) [0-9]{4} [0-9]{4}|(?:gtin|ean|upc|isbn|mpn|sku|ids?)[-0-9]{0,3}(?:=|\\{0,8}":)/i;

/** What `redact` makes of the text around such codes, which stay as they are. */
function outsideOfCodes(text: string, redact: (part: string) => string): string {
  if (!MAY_BE_CODE.test(text)) return redact(text);
  let clean = '';
  let from = 0;
  for (const { index, code } of codesIn(text)) {
    if (index < from) continue;
    clean += redact(text.slice(from, index)) + code;
    from = index + code.length;
  }
  return clean + redact(text.slice(from));
}

interface Code {
  index: number;
  code: string;
}

function codesIn(text: string): Code[] {
  const parcels = Array.from(text.matchAll(PARCEL), ({ 0: code, index }): Code => ({ index, code }));
  const articles = Array.from(text.matchAll(ARTICLES)).flatMap(({ 0: whole, 1: list = '', index }) =>
    Array.from(list.matchAll(CODE_DIGITS), ({ 0: code, index: at }): Code => {
      return { index: index + whole.length - list.length + at, code };
    }).filter(({ code }) => isArticleNumber(code)),
  );
  return [...parcels, ...articles].sort((one, other) => one.index - other.index);
}

const DIGITS = /^[0-9]+$/;
/** GTIN-8, GTIN-12 (UPC-A), GTIN-13 (EAN) and GTIN-14, as the GS1 General Specifications name them. */
const GTIN_LENGTHS: ReadonlySet<number> = new Set([8, 12, 13, 14]);
/** As shops number what they sell, and as people abroad write a phone number: `05286-21623`. */
const PAIR = /^[0-9]{4,6}-[0-9]{3,6}$/;

/** Whether digits are a GTIN: from the right, every second digit counts thrice, and the check digit makes tens of the sum. */
function isGtin(text: string): boolean {
  if (!GTIN_LENGTHS.has(text.length) || !DIGITS.test(text)) return false;
  let sum = 0;
  for (let at = 0; at < text.length; at += 1) {
    sum += (text.charCodeAt(at) - 0x30) * ((text.length - at) % 2 === 0 ? 3 : 1);
  }
  return sum % 10 === 0;
}

/** Whether a text that stands where articles are named is the number of one, though it could be a phone's too. */
const isArticleNumber = (text: string): boolean => isGtin(text) || PAIR.test(text);

/** Digits with what people write between them, of however many numbers; none that are part of a percent escape. */
const RUN = /(?:\+(?=[0-9])|(?<![0-9+]|%[0-9A-Fa-f]?))[0-9]+(?:[\s().\-/+\u2010-\u2015]{1,5}[0-9]+)+/g;
const PART = /([^0-9]*)([0-9]+)/g;
const NUMBER_DIGITS_MIN = 8;
const TRUNK_NUMBER_DIGITS_MIN = 9;
const TRUNK = /^00?[1-9]/;
/** What stands rather between two numbers than in one: a slash, a dash with spaces, another plus or bracket. */
const BETWEEN_NUMBERS = /\/|\s[-\u2010-\u2015]+\s|\s\+|[^(]\(|^\($/;
const PLUS_END = /\+$/;
const PAIRS_OF_A_NUMBER = 5;
const SHAPE_GROUPS_MIN = 3;

interface Group {
  at: number;
  before: string;
  digits: string;
}

/**
 * What `redact` makes of a text, cut where one number ends and another begins: together they have more digits than a
 * number has, and each would hide the other.
 */
function betweenNumbers(text: string, redact: (part: string) => string): string {
  let clean = '';
  let from = 0;
  for (const { 0: run, index } of text.matchAll(RUN)) {
    for (const joint of jointsOf(groupsOf(run))) {
      clean += redact(text.slice(from, index + joint));
      from = index + joint;
    }
  }
  return from === 0 ? redact(text) : clean + redact(text.slice(from));
}

function groupsOf(run: string): readonly Group[] {
  return Array.from(run.matchAll(PART), ({ index, 1: before = '', 2: digits = '' }) => ({ at: index, before, digits }));
}

function jointsOf(groups: readonly Group[]): readonly number[] {
  let left = count(groups);
  if (left < 2 * NUMBER_DIGITS_MIN) return [];
  const shape = shapeOf(groups);
  const joints: number[] = [];
  let first = 0;
  let digits = 0;
  let sincePlus = 0;
  groups.forEach((group, at) => {
    const isEnough = sincePlus >= NUMBER_DIGITS_MIN && left >= NUMBER_DIGITS_MIN;
    const isSplit = sincePlus >= NUMBER_DIGITS_MIN && BETWEEN_NUMBERS.test(group.before);
    const isNext = shape === null ? beginsTrunk(group, groups[first], digits) : at % shape === 0;
    if (isEnough && (isSplit || isNext)) {
      joints.push(group.at);
      first = at;
      digits = 0;
    }
    digits += group.digits.length;
    sincePlus =
      group.before === '' || isSplit || PLUS_END.test(group.before)
        ? group.digits.length
        : sincePlus + group.digits.length;
    left -= group.digits.length;
  });
  return joints;
}

function beginsTrunk(group: Group, first: Group | undefined, digits: number): boolean {
  const begins = TRUNK.test(first?.digits ?? '') || PLUS_END.test(first?.before ?? '');
  return digits >= TRUNK_NUMBER_DIGITS_MIN && TRUNK.test(group.digits) && begins;
}

/**
 * After how many groups another number begins where all are alike: `612 34 56 78 612 34 56 79`. Pairs are French
 * numbers where each fifth has the trunk prefix, else a draw's: 0, as no number begins there. Null: nothing says so.
 */
function shapeOf(groups: readonly Group[]): number | null {
  const lengths = groups.map(({ digits }) => digits.length);
  if (lengths.every((length) => length === 2)) {
    const isNumbers =
      groups.length % PAIRS_OF_A_NUMBER === 0 &&
      groups.every(({ digits }, at) => at % PAIRS_OF_A_NUMBER !== 0 || TRUNK.test(digits));
    return isNumbers ? PAIRS_OF_A_NUMBER : 0;
  }
  if (lengths.every((length) => length === lengths[0])) return null;
  for (let size = SHAPE_GROUPS_MIN; size <= PAIRS_OF_A_NUMBER && size * 2 <= groups.length; size += 1) {
    const isAlike = groups.length % size === 0 && lengths.every((length, at) => length === lengths[at % size]);
    if (isAlike && count(groups.slice(0, size)) >= NUMBER_DIGITS_MIN) return size;
  }
  return null;
}

function count(groups: readonly Group[]): number {
  return groups.reduce((sum, { digits }) => sum + digits.length, 0);
}
