import { isUtf8 } from 'node:buffer';
import { keyMeaning } from './key_meaning.ts';
import type { Names } from './key_words.ts';
import {
  HOLDS_LONG_NUMBER,
  HOLDS_PERCENT,
  HOLDS_SECRET,
  plainText,
  REDACTED,
  scanText,
  type WorkBudget,
} from './normalise_text.ts';

/** A JSON Web Token, signed or encrypted or not: its header and what follows it (RFC 7515, 7516). */
const JWT = String.raw`eyJ[\w-]{8,}(?:\.[\w-]*){1,4}`;
/** How services let their keys begin, so that they are found where they should not be. */
const KEYS = [
  // Stripe, GitHub, GitLab, Slack, Amazon, Google, Meta, SendGrid, Shopify.
  '[sr]k_(?:live|test)_[A-Za-z0-9]{10,}',
  'whsec_[A-Za-z0-9+/]{16,}',
  String.raw`gh[opsur]_[A-Za-z0-9]{20,}|github_pat_\w{20,}`,
  String.raw`gl(?:pat|dt|rt|ptt|cbt|soat|ft|agent|imt|oas|sa|c)[-_][\w-]{20,}`,
  String.raw`xox[abeoprs]-[\w-]{10,}|xapp-[0-9]-[\w-]{10,}`,
  'A(?:KIA|SIA)[A-Z0-9]{16}(?![A-Za-z0-9])',
  String.raw`AIza[\w-]{35}|ya29\.[\w-]{20,}|GOCSPX-[\w-]{20,}`,
  String.raw`EAA[A-Za-z0-9]{60,}|SG\.[\w-]{16,}\.[\w-]{16,}`,
  'shp(?:at|ca|pa|ss|ua|tka)_[0-9A-Fa-f]{32}',
  // Registries of packages, models, and other clouds.
  String.raw`npm_[A-Za-z0-9]{30,}|pypi-[\w-]{40,}|dckr_[op]at_[\w-]{20,}|hf_[A-Za-z0-9]{30,}`,
  String.raw`sk-(?:(?:proj|svcacct|admin)-[\w-]{30,}|[a-z]{2,4}-[a-z0-9]+-[\w-]{30,}|[A-Za-z0-9]{32,})`,
  String.raw`xkeysib-[0-9a-f]{64}[\w-]*|key-[0-9a-f]{32}(?![\w-])|[0-9a-f]{32}-us[0-9]{1,2}(?![\w-])`,
  String.raw`sq0[a-z]{3}-[\w-]{22,}|rzp_(?:live|test)_[A-Za-z0-9]{14,}|do[opr]_v1_[0-9a-f]{64}|dapi[0-9a-f]{32}`,
  String.raw`lin_api_\w{30,}|PMAK-[0-9a-f]{24}-[0-9a-f]{34}|NRAK-[A-Z0-9]{27}|ATATT3[\w-]{20,}|dp\.[a-z]{2,5}\.\w{40,}`,
  String.raw`[0-9]{8,10}:AA[\w-]{33}|pk_[0-9a-f]{34}(?!\w)|pat-[a-z]{2}[0-9]-[0-9a-f-]{36}`,
  // Ours.
  'svc_(?:sk|st|at|sh)_[A-Za-z0-9]{32}',
].join('|');
const PRIVATE_KEY = String.raw`-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]{0,30}PRIVATE KEY-----|$)`;
const FORM = new RegExp(String.raw`(?<![\w-])(?:${JWT}|${KEYS}|${PRIVATE_KEY})`, 'g');
/** What a header of HTTP says who asks by. */
const SCHEME = /(?<![\w-])(bearer|basic)((?:\s|%20|\+){1,3})(?=\S{0,200}?[0-9=])[\w.~+/=-]{16,}/gi;

/**
 * Replaces what is a secret by its form, whatever it stands under: tokens and keys, numbers of payment cards, and IBANs. Of cards
 * only those that are written as people write them, or stand alone: other digits are an id as likely.
 *
 * @param stands What the text's key says it is: digits of an id are no card's.
 */
export function redactSecrets(text: string, bits: number, stands: 'text' | Names, budget: WorkBudget): string {
  let clean = text;
  if ((bits & HOLDS_SECRET) !== 0) clean = clean.replace(FORM, REDACTED).replace(SCHEME, `$1$2${REDACTED}`);
  if ((bits & HOLDS_LONG_NUMBER) === 0) return clean;
  if (MAY_BE_IBAN.test(clean)) clean = redactIbans(clean);
  if (clean.includes('^')) clean = clean.replace(TRACK, REDACTED);
  if (!CARD_START.test(clean)) return clean;
  const cards = findCards(clean).filter((card) => isCard(clean, card, stands, budget));
  return redactSpans(clean, cards);
}

/** Whether a number that stands alone is a payment card's. */
export function isCardNumber(value: number): boolean {
  if (value < CARD_MIN || !Number.isSafeInteger(value)) return false;
  const text = String(value);
  return findCards(text).some((card) => isCard(text, card, 'text', null));
}

interface Span {
  start: number;
  end: number;
}

function redactSpans(text: string, spans: readonly Span[]): string {
  let clean = '';
  let kept = 0;
  for (const { start, end } of spans) {
    clean += text.slice(kept, start) + REDACTED;
    kept = end;
  }
  return kept === 0 ? text : clean + text.slice(kept);
}

const CARD_MIN = 10 ** 14;
/** What a card's number begins with, together or in groups. */
const CARD_START = /(?<![0-9])(?:[3-6][0-9]{3}|2[2-7][0-9]{2})(?:[0-9]{10}|[^0-9A-Za-z]{1,12}[0-9]{4})/;
/** Today's cards; those of fourteen digits only in groups, as article numbers have as many. */
const WHOLE_LENGTHS: ReadonlySet<number> = new Set([15, 16, 19]);
const SHAPES: ReadonlySet<string> = new Set(['4 4 4 4', '4 6 5', '4 6 4', '4 4 4 4 3', '8 8']);
const GLUED_BEFORE = /[\p{L}\p{N}_./-]$/u;
/** What is written before a card's number to say that it is one, or as the sign of a list. */
const CARD_BEFORE =
  /(?:(?<![\p{L}\p{N}])(?:(?:\p{L}{0,12}card(?:no|number)?|cc|ccnum|pan|visa|amex|maestro)[-_]?|x[-_])|(?<![^\s"'([{:;,=|])[-_])$/iu;
/** A date or a security code behind it. */
const CARD_BEHIND = /^(?:_[0-9]{2,4}|-(?:0[1-9]|1[0-2])(?:[-/]?[0-9]{2,4})?)(?![\p{L}\p{N}_-])/u;
const BEHIND_CHARACTERS = 10;
/** The first track of a card's magnetic stripe (ISO/IEC 7813), as readers at tills type it: number, name, date and more. */
const TRACK = /(?<![A-Za-z0-9])%?B[0-9]{12,19}\^[^^\r\n]{2,26}\^[0-9]{4}[^\s?^]{0,60}\??/gi;
const GLUED_BEHIND = /^(?:[\p{L}\p{N}_]|[.-][\p{L}\p{N}])/u;
/** Parcels have more groups of four. */
const GROUP_BEFORE = /(?<![0-9])[0-9]{4}[\s-]{1,2}$/;
const NAME_CHARACTERS_MAX = 96;
const NAME_BEFORE = /(?<name>[\p{L}\p{N}_$.\-[\]]{1,80})(?:=|\\{0,8}"\s?:\s?(?:\\{0,8}")?)$/u;

function isCard(
  text: string,
  { start, end, isWhole }: CardSpan,
  stands: 'text' | Names,
  budget: WorkBudget | null,
): boolean {
  const before = text.slice(Math.max(0, start - NAME_CHARACTERS_MAX), start);
  if (!isWhole) {
    const shape = (text.slice(start, end).match(/[0-9]+/g) ?? []).map((group) => group.length).join(' ');
    return SHAPES.has(shape) && !GROUP_BEFORE.test(before);
  }
  if (stands !== 'text' || !WHOLE_LENGTHS.has(end - start)) return false;
  if (GLUED_BEFORE.test(before) && !CARD_BEFORE.test(before)) return false;
  const behind = text.slice(end, end + BEHIND_CHARACTERS);
  if (GLUED_BEHIND.test(behind) && !CARD_BEHIND.test(behind)) return false;
  const name = NAME_BEFORE.exec(before)?.groups?.['name'];
  return name === undefined || budget === null || keyMeaning(name, budget).names === null;
}

/** Lengths by country (ISO 13616, the registry of SWIFT). */
const IBAN_LENGTHS = new Map(
  '15NO 16BE 18DK FO FI GL NL SD 19MK SI 20AT BA EE KZ LT LU MN XK 21CH HR LI LV 22BG BH CR DE GB GE IE ME RS VA 23AE GI IL IQ OM SO TL 24AD CZ ES MD PK RO SA SE SK TN VG 25LY PT ST 26IS TR 27BI DJ FR GR IT MC MR SM 28AL AZ BY CY DO GT HU LB NI PL SV 29BR EG PS QA UA 30JO KW MU YE 31MT SC 32LC 33RU'
    .split(/(?=[0-9]{2})/)
    .flatMap((part) =>
      part
        .slice(2)
        .trim()
        .split(' ')
        .map((country): [string, number] => [country, Number(part.slice(0, 2))]),
    ),
);
const MAY_BE_IBAN = /[A-Za-z]{2}[0-9]{2}[\t +._-]{0,2}[A-Za-z0-9]{2}/;
const IBAN_START = /(?:(?<![A-Za-z0-9])|(?<=(?<![A-Za-z0-9])IBAN))([A-Z]{2})[0-9]{2}(?=[\t +._-]{0,2}[A-Z0-9]{2})/gi;
const IBAN_JOINT = /[\t +-]/;
/** Only between the groups of four that an IBAN is printed in: other codes are joined so as well. */
const IBAN_GROUP_JOINT = /[._]/;
const IBAN_GROUP = 4;
const LETTER_A = 0x41;
const LETTER_VALUE_MIN = 10;
const CHECK_MODULUS = 97;

/** Together or in groups, as banks print them. */
function redactIbans(text: string): string {
  const spans: Span[] = [];
  for (const { index: start, 1: country = '' } of text.matchAll(IBAN_START)) {
    const end = ibanEnd(text, start, IBAN_LENGTHS.get(country.toUpperCase()) ?? 0);
    if (end !== null && start >= (spans.at(-1)?.end ?? 0)) spans.push({ start, end });
  }
  return redactSpans(text, spans);
}

function ibanEnd(text: string, start: number, length: number): number | null {
  let iban = '';
  let at = start;
  for (; iban.length < length; at += 1) {
    const sign = text.charAt(at);
    if (/^[A-Za-z0-9]$/.test(sign)) iban += sign.toUpperCase();
    else if (!isIbanJoint(text, at, iban.length)) return null;
  }
  return length > 0 && !/^[A-Za-z0-9]/.test(text.charAt(at)) && passesCheck(iban) ? at : null;
}

/** One sign, or two blanks. */
function isIbanJoint(text: string, at: number, before: number): boolean {
  const [sign, last, other] = [text.charAt(at), text.charAt(at - 1), text.charAt(at - 2)];
  if (IBAN_GROUP_JOINT.test(sign))
    return before % IBAN_GROUP === 0 && !IBAN_JOINT.test(last) && !IBAN_GROUP_JOINT.test(last);
  if (!IBAN_JOINT.test(sign) || IBAN_GROUP_JOINT.test(last)) return false;
  return !IBAN_JOINT.test(last) || (sign === ' ' && last === ' ' && other !== ' ');
}

/** ISO 13616: the country and check digits moved to the end, letters as numbers, the remainder by 97 is 1. */
function passesCheck(iban: string): boolean {
  let remainder = 0;
  for (const sign of iban.slice(4) + iban.slice(0, 4)) {
    const code = sign.charCodeAt(0);
    const value = code >= LETTER_A ? code - LETTER_A + LETTER_VALUE_MIN : Number(sign);
    remainder = (remainder * (value >= LETTER_VALUE_MIN ? 100 : 10) + value) % CHECK_MODULUS;
  }
  return remainder === 1;
}

// Payment card numbers in texts, also in percent-encoded ones.

/**
 * The text with `redacted` in the place of numbers that have the length, the start and the check digit of a payment card, in
 * groups or not, also where what else is written beside them (a date, a security code) looks like more of the number. As
 * `redactText` it reads what people read: characters that show nothing, foreign digits and percent escapes are no disguise.
 */
export function redactCards(text: string): string {
  return redactSome(text, () => true);
}

/** Whether a card's number stands in the text in groups, or in a sentence: digits alone may as well be an id. */
export function holdsGroupedCard(text: string): boolean {
  const trimmed = text.trim();
  return redactSome(trimmed, isNoId) !== trimmed;
}

/** Digits that no blank stands beside are one: in a sentence they are none. */
function isNoId({ start, end, isWhole }: CardSpan, text: string): boolean {
  return !isWhole || /\s/.test(text.charAt(start - 1) + text.charAt(end));
}

type Choice = (card: CardSpan, text: string) => boolean;

function redactSome(text: string, isMeant: Choice): string {
  if (isUuidText(text)) return text;
  const bits = scanText(text);
  const readable = redactReadable(text, bits, isMeant);
  if ((bits & HOLDS_PERCENT) === 0) return readable;
  return redactEncoded(readable, (part) => redactReadable(part, scanText(part), isMeant));
}

function redactReadable(text: string, bits: number, isMeant: Choice): string {
  const plain = plainText(text, bits);
  const cards = findCards(plain).filter((card) => isMeant(card, plain));
  return cards.length === 0 ? text : redactSpans(plain, cards);
}

/** What ISO/IEC 7812 lets a payment card's number have. */
const DIGITS_MIN = 13;
const DIGITS_MAX = 19;
const PREFIX_DIGITS = 4;
/**
 * Issuers' ranges by their first four digits, with the lengths of their numbers (ISO/IEC 7812-1): Visa, Mastercard, Maestro
 * and others, Mir, American Express, Diners Club, JCB. A tenth of all other numbers passes the check digit too, as
 * campaigns' ids of 17 digits do.
 */
const ISSUED: readonly (readonly [from: number, to: number, ...lengths: number[]])[] = [
  [4000, 4999, 13, 16, 19],
  [2221, 2720, 16],
  [5100, 5599, 16],
  [5000, 5099, 13, 14, 15, 16, 17, 18, 19],
  [5600, 6999, 13, 14, 15, 16, 17, 18, 19],
  [2200, 2204, 16, 17, 18, 19],
  [3400, 3499, 15],
  [3700, 3799, 15],
  [3000, 3059, 14, 15, 16, 17, 18, 19],
  [3600, 3699, 14, 15, 16, 17, 18, 19],
  [3800, 3999, 14, 15, 16, 17, 18, 19],
  [3528, 3589, 16, 17, 18, 19],
];
/** By the first four digits: a bit for each length that such a number may have. */
const LENGTHS = new Uint32Array(10 ** PREFIX_DIGITS);
for (const [from, to, ...lengths] of ISSUED) {
  LENGTHS.fill(
    lengths.reduce((bits, length) => bits | (1 << length), 0),
    from,
    to + 1,
  );
}

/** How groups of digits hang together: not at all, as any groups of a number do, or as only a card's own groups do. */
const APART = 0;
const PLAIN = 1;
const ODD = 2;

const JOINT_CHARACTERS_MAX = 40;
/** Of what people write between any digits of one number. */
const PLAIN_CHARACTERS_MAX = 3;
const ODD_CHARACTERS_MAX = 12;
/** A tag, or a line break that is written out, shows nothing or a space. */
const SHOWS_SPACE = /<\/?[a-z][^<>]{0,30}>|\\[nrtfv]/gi;
/** Whatever is no word; a percent sign begins an escape rather. */
const ODD_JOINT = /^[^\p{L}\p{N}%]{0,12}$/u;
/** What a character of ASCII says of the joint that it is in; `UNSURE`: it may begin a tag or an escape. */
const UNSURE = 3;
const JOINTS = new Uint8Array(128).fill(ODD);
for (const code of Buffer.from(' \t+-')) JOINTS[code] = PLAIN;
for (const code of Buffer.from('%ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz')) JOINTS[code] = APART;
for (const code of Buffer.from('<\\')) JOINTS[code] = UNSURE;

interface CardSpan extends Span {
  /** One group of digits. */
  isWhole: boolean;
}

/** All digits of a text in a row, and the groups that they stand in. */
interface Digits {
  groups: readonly Group[];
  values: Uint8Array;
  /** Which group's last digit is before a place, counted from 1; 0: none's. */
  endingAt: Uint32Array;
  /** Sums of the digits before a place, every other one doubled as the check wants it: the odd places, and the even ones. */
  oddDoubled: Uint32Array;
  evenDoubled: Uint32Array;
}

interface Group {
  /** In the text. */
  start: number;
  end: number;
  /** In the row of digits. */
  first: number;
  joint: number;
}

/**
 * Where numbers stand in a text that have the length, the start and the check digit of a payment card, in groups or not. With
 * blanks and hyphens between them the groups may be any; with anything else, they must be those of a card. Overlapping ones
 * are one. Looks at every place for seven lengths at the most, whatever the text.
 */
function findCards(text: string): CardSpan[] {
  const count = countDigits(text);
  if (count < DIGITS_MIN) return [];
  const digits = digitsOf(text, count);
  const found: CardSpan[] = [];
  for (let at = 0; at < digits.groups.length; at += 1) {
    const span = cardFrom(text, digits, at);
    if (span === null) continue;
    const before = found.at(-1);
    if (before !== undefined && span.start < before.end) before.end = Math.max(before.end, span.end);
    else found.push(span);
  }
  return found;
}

function countDigits(text: string): number {
  let count = 0;
  for (let at = 0; at < text.length; at += 1) if (isDigit(text.charCodeAt(at))) count += 1;
  return count;
}

function digitsOf(text: string, count: number): Digits {
  const groups: Group[] = [];
  const values = new Uint8Array(count);
  const endingAt = new Uint32Array(count + 1);
  const oddDoubled = new Uint32Array(count + 1);
  const evenDoubled = new Uint32Array(count + 1);
  let place = 0;
  let last = 0;
  for (let at = 0; at < text.length; at += 1) {
    if (!isDigit(text.charCodeAt(at))) continue;
    const start = at;
    const first = place;
    for (; at < text.length && isDigit(text.charCodeAt(at)); at += 1) {
      const value = text.charCodeAt(at) - 0x30;
      const doubled = value * 2 - (value > 4 ? 9 : 0);
      const isOdd = place % 2 === 1;
      oddDoubled[place + 1] = (oddDoubled[place] as number) + (isOdd ? doubled : value);
      evenDoubled[place + 1] = (evenDoubled[place] as number) + (isOdd ? value : doubled);
      values[place] = value;
      place += 1;
    }
    groups.push({ start, end: at, first, joint: first === 0 ? APART : jointBetween(text, last, start) });
    endingAt[place] = groups.length;
    last = at;
  }
  return { groups, values, endingAt, oddDoubled, evenDoubled };
}

function jointBetween(text: string, from: number, to: number): number {
  if (to - from > JOINT_CHARACTERS_MAX) return APART;
  let joint = to - from > PLAIN_CHARACTERS_MAX ? ODD : PLAIN;
  for (let at = from; at < to; at += 1) {
    const code = text.charCodeAt(at);
    const said = code < 128 ? (JOINTS[code] as number) : isDash(code) ? PLAIN : UNSURE;
    if (said === UNSURE) return ODD_JOINT.test(text.slice(from, to).replace(SHOWS_SPACE, ' ')) ? ODD : APART;
    if (said === APART) return APART;
    if (said === ODD) joint = ODD;
  }
  return to - from > ODD_CHARACTERS_MAX ? APART : joint;
}

const isDash = (code: number): boolean => code >= 0x2010 && code <= 0x2015;

/** The longest card that begins with a group; zeros before it, as ledgers have, are no part of its number. */
function cardFrom(text: string, digits: Digits, at: number): CardSpan | null {
  const { groups, values, endingAt } = digits;
  const { start, end, first } = groups[at] as Group;
  let from = first;
  while (from < first + end - start && values[from] === 0) from += 1;
  const lengths = lengthsOf(values, from);
  if (lengths === 0) return null;
  for (let length = Math.min(DIGITS_MAX, values.length - from); length >= DIGITS_MIN; length -= 1) {
    if (((lengths >> length) & 1) === 0) continue;
    const last = (endingAt[from + length] as number) - 1;
    if (last < at || !passesLuhn(digits, from, from + length)) continue;
    if (last === at ? !isDecimal(text, groups[at] as Group) : isOneNumber(groups.slice(at, last + 1), from))
      return { start, end: (groups[last] as Group).end, isWhole: last === at };
  }
  return null;
}

/** Whether groups hang together. Where zeros were left out before the number, which begins `from`, they are those of a card. */
function isOneNumber(groups: readonly Group[], from: number): boolean {
  const joints = groups.slice(1).map(({ joint }) => joint);
  if (joints.includes(APART)) return false;
  if (from === groups[0]?.first && !joints.includes(ODD)) return true;
  return areOfCard(groups.map(({ start, end, first }) => end - start - Math.max(0, from - first)));
}

function lengthsOf(values: Uint8Array, from: number): number {
  if (from + DIGITS_MIN > values.length) return 0;
  let prefix = 0;
  for (let at = from; at < from + PREFIX_DIGITS; at += 1) prefix = prefix * 10 + (values[at] as number);
  return LENGTHS[prefix] as number;
}

/** The check of ISO/IEC 7812-1, annex B: from the right, every second digit is doubled. */
function passesLuhn({ oddDoubled, evenDoubled }: Digits, from: number, to: number): boolean {
  const sums = to % 2 === 1 ? oddDoubled : evenDoubled;
  return ((sums[to] as number) - (sums[from] as number)) % 10 === 0;
}

/** Four by four, as on most cards, four, six and the rest, or two halves of eight. */
function areOfCard(sizes: readonly number[]): boolean {
  const last = sizes.at(-1) ?? 0;
  if (sizes.length === 2) return sizes[0] === 8 && last === 8;
  const isBetween = sizes.slice(1, -1).every((size) => size >= 4 && size <= 6);
  return sizes.length <= 5 && sizes[0] === 4 && isBetween && last <= 7;
}

/** Part of a decimal number. */
function isDecimal(text: string, { start, end }: Group): boolean {
  return (
    (text.charAt(start - 1) === '.' && isDigit(text.charCodeAt(start - 2))) ||
    (text.charAt(end) === '.' && isDigit(text.charCodeAt(end + 1)))
  );
}

const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39;

/** What ends a part of a URL, or a word: none of it is in a value. */
const ENDS = new Uint8Array(128);
for (const code of Buffer.from('&?#;/= \t\r\n"\'<>')) ENDS[code] = 1;
const ESCAPES = /(?:%(?:25)*[0-9A-F]{2})+/gi;
const ASCII_ESCAPE = /%([2-7][0-9A-F])/gi;
const ENCODED_AGAIN = /%(?:25)+(?=[0-9A-F]{2})/gi;
const FIRST_ESCAPE = /%((?:25)*)[0-9A-F]{2}/i;
const ROUNDS_MAX = 3;

/**
 * The text with each percent-encoded part replaced by what `redact` makes of it decoded, encoded as often again; parts
 * that `redact` leaves are left too.
 */
export function redactEncoded(text: string, redact: (decoded: string) => string): string {
  let clean = '';
  let kept = 0;
  let percent = text.indexOf('%');
  while (percent >= 0) {
    let start = percent;
    while (start > kept && !isEnd(text, start - 1)) start -= 1;
    let end = percent + 1;
    while (end < text.length && !isEnd(text, end)) end += 1;
    clean += text.slice(kept, start) + redactPart(text.slice(start, end), redact);
    kept = end;
    percent = text.indexOf('%', end);
  }
  return clean + text.slice(kept);
}

function redactPart(part: string, redact: (decoded: string) => string): string {
  const decoded = part.replace(ESCAPES, decode);
  if (decoded === part) return part;
  const clean = redact(decoded);
  return clean === decoded ? part : encode(clean, FIRST_ESCAPE.exec(part)?.[1]?.length ?? 0);
}

/**
 * Decodes a run of escapes, however often it was encoded; of one that is no UTF-8 what is ASCII. Without the exceptions of
 * `decodeURIComponent`: each costs as much as a page of text, and a text may hold nothing else.
 */
function decode(run: string): string {
  const once = run.replace(ENCODED_AGAIN, '%');
  const bytes = Buffer.from(once.replaceAll('%', ''), 'hex');
  if (isUtf8(bytes)) return bytes.toString();
  return once.replace(ASCII_ESCAPE, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}

function encode(text: string, characters: number): string {
  let encoded = encodeURIComponent(text.toWellFormed());
  for (let round = 0; round < Math.min(characters / 2, ROUNDS_MAX); round += 1) encoded = encodeURIComponent(encoded);
  return encoded;
}

function isEnd(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code < 128 && ENDS[code] === 1;
}

const UUID_CHARACTERS = 36;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i;

/**
 * Whether a text is a UUID with a version and a variant (RFC 9562, 4) and nothing else. Its digits stand for nothing, though one in
 * 1,400 random ones has a payment card's digits in it, and one in 14,000 those of a phone number.
 */
export const isUuidText = (text: string): boolean => text.length === UUID_CHARACTERS && UUID.test(text);

const PIXEL_COOKIE = /^fb\.[0-2]\.1[0-9]{12}\.[1-9][0-9]{0,9}$/;

/** Whether a text is a `_fbp` as Meta's pixel makes it: a version, the time in milliseconds, and a random number. */
export const isPixelCookie = (text: string): boolean => text.startsWith('fb.') && PIXEL_COOKIE.test(text);
