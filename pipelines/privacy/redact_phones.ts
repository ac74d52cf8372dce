// Phone numbers in texts by how they are written: with a plus or as a link, in national groups, behind a word such as `call`.

import { isIPv4 } from 'node:net';
import {
  type CountryCode,
  isSupportedCountry,
  Metadata,
  type PhoneNumber,
  parsePhoneNumberFromString,
} from 'libphonenumber-js/max';
import {
  HOLDS_COLON_OR_SLASH,
  HOLDS_DOUBLE_ZERO,
  HOLDS_GROUPS,
  HOLDS_NUMBER_BEHIND,
  HOLDS_PERCENT,
  HOLDS_PLUS,
  normalised,
  REDACTED,
  spend,
  type WorkBudget,
} from './normalise_text.ts';

/** A colon, and what stands between the two parts of a link such as `tel://`. */
const COLON = String.raw`(?::|%(?:25)*3A)(?:\/|%(?:25)*2F){0,2}`;
const SCHEME = `(?<![A-Za-z])(?:tel|callto|sms|smsto|mms|mmsto|fax|sips?|skype|viber|signal|whatsapp|imessage|facetime(?:-audio)?)${COLON}`;
const CHAT = String.raw`(?:wa\.me|t\.me|signal\.me|viber\.click)(?:\/|%(?:25)*2F)(?:#p(?:\/|%(?:25)*2F))?`;
const PLUS = String.raw`(?:\+|%(?:25)*2B)`;
const OPENING = String.raw`(?:[\s(]|%(?:25)*(?:20|28)){0,3}`;
const SEPARATORS = String.raw`(?:[\s().\-/+_~*\u2010-\u2015]|%(?:25)*(?:20|28|29|2A|2D|2F)){0,4}`;
const SPACE = String.raw`(?:\s|%(?:25)*20){1,3}`;
/** Behind it begins another number. */
const SPACED_SLASH = String.raw`${SPACE}(?:\/|%(?:25)*2F)${SPACE}(?:0|${PLUS})`;
/**
 * A plus sign, or what begins a link to a number, then a number of 7 to 15 digits with the usual separators, which form
 * encoding writes as `+` or as percent escapes.
 */
const INTERNATIONAL = new RegExp(
  `(?<mark>${PLUS}|(?:${SCHEME}|${CHAT})${PLUS}?0*)(?<digits>${OPENING}(?!0)[0-9](?:(?!${SPACED_SLASH})${SEPARATORS}[0-9]){6,14})`,
  'gi',
);
const LINK = new RegExp(`${SCHEME}|${CHAT}`, 'i');
const DIGIT = /[0-9]/g;
const WORD_END = /[A-Za-z0-9]$/;
const ESCAPE_END = /%[0-9a-f]{2}$/i;
const ONLY_DIGITS = /^[0-9]+$/;
/** After a letter or digit a plus sign is rather a sum or a form-encoded space: then only a long number is a phone's. */
const DIGITS_AFTER_WORD_MIN = 10;

/**
 * Replaces every number written internationally (E.164 with its plus) or as a link (`tel:`, `wa.me/`) by the redaction
 * word. A run of more than 15 digits is no phone number.
 *
 * @param bits What `scanText` said of the text.
 */
export function redactPhones(text: string, bits: number): string {
  if ((bits & (HOLDS_PLUS | HOLDS_PERCENT)) === 0 && !((bits & HOLDS_COLON_OR_SLASH) !== 0 && LINK.test(text)))
    return text;
  return text.replace(INTERNATIONAL, (match: string, _mark: string, digits: string, offset: number) => {
    if (ONLY_DIGITS.test(digits) && isDigit(text, offset + match.length)) return match;
    const before = text.slice(Math.max(0, offset - 3), offset);
    const count = digits.match(DIGIT)?.length ?? 0;
    const followsWord = WORD_END.test(before) && !ESCAPE_END.test(before) && !isEscapeLetter(text, offset - 1);
    return followsWord && count < DIGITS_AFTER_WORD_MIN ? match : REDACTED;
  });
}

function isDigit(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code >= 0x30 && code <= 0x39;
}

/** What people write between the digits of a number; form encoding writes a space as `+` or as a percent escape. */
const NATIONAL_SEPARATOR = String.raw`(?:[\s().\-/+\u2010-\u2015]|%(?:25)*(?:20|28|29|2[DdEeFf]))`;
const OPEN_BRACKET = String.raw`(?:\(|%(?:25)*28)`;
const CLOSE_BRACKET = String.raw`(?:\)|%(?:25)*29)`;

/** In a regular expression: right behind a line break or tab that is written out, as `\n` and `\t`, a number may begin. */
const BEHIND_ESCAPE = String.raw`(?<=\\[fnrtv])`;

// Not inside a word, an identifier, a date or a decimal; right after a percent escape or `Tel.` a number may begin.
const NATIONAL_START = `(?:(?<![A-Za-z0-9_]|[0-9][-.,/])|${BEHIND_ESCAPE}|(?<=%[0-9A-Fa-f]{2})|(?<=(?<![A-Za-z])(?:[Tt][Ee][Ll]|[Mm][Oo][Bb]|[Ff][Aa][Xx]|[Pp][Hh])[._:]?))`;
// Behind it may follow an extension, a short number that is another word's (`24h`), or another phone number.
const NATIONAL_END = `(?:(?=[xX][0-9])|(?= [0-9]{1,2}[A-Za-z/:])|(?= (?:0[1-9][ .-]?[0-9]|[2-9][0-9]{2}[ .-][2-9][0-9]{2}[ .-][0-9]{4}))|(?![A-Za-z0-9_]|${NATIONAL_SEPARATOR}?[0-9]))`;
const DATE = String.raw`[0-9]{2}[-./ \u2010-\u2015][0-9]{2}[-./ \u2010-\u2015][0-9]{4}(?![0-9])`;
// `(650) 555-0142`: an area code, and no year, in brackets.
const BRACKETED = `${OPEN_BRACKET}(?!(?:19|20)[0-9]{2}${CLOSE_BRACKET})[0-9]{2,5}${CLOSE_BRACKET}(?:${NATIONAL_SEPARATOR}{0,3}[0-9]){5,9}`;
// `650-555-0142` and `650 - 555 - 0142`: three, three and four digits, as in North America.
const JOINT = String.raw`(?:\s[-\u2010-\u2015]\s|${NATIONAL_SEPARATOR}{1,2})`;
const NORTH_AMERICAN = `(?:1${JOINT})?[2-9][0-9]{2}${JOINT}[2-9][0-9]{2}${JOINT}[0-9]{4}`;
// `0151 12345678`, `06 12 34 56 78`, `0032 470 12 34 56`: a trunk prefix or 00, and groups.
const TRUNK = `(?!${DATE})00?[1-9][0-9]{0,3}(?:${NATIONAL_SEPARATOR}{0,2}${OPEN_BRACKET}0${CLOSE_BRACKET}${NATIONAL_SEPARATOR}{0,2}[0-9]{2,4})?(?:${NATIONAL_SEPARATOR}{1,3}[0-9]{2,8}){1,6}`;
const NATIONAL = new RegExp(
  `(?=[(%0-9])${NATIONAL_START}(?:${BRACKETED}|${NORTH_AMERICAN}|${TRUNK})${NATIONAL_END}`,
  'g',
);

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
  const clean = isGrouped ? text.replace(NATIONAL, (match) => (isLongEnough(match) ? REDACTED : match)) : text;
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

/** One group of a number in brackets or quotes of its own. */
const WRAPPED = String.raw`[[({<"'${'`'}\u2018-\u201f\u00ab\u2039]\s?(?:\+\s?)?[0-9]{1,8}\s?[\])}>"'${'`'}\u2018-\u201f\u00bb\u203a]`;
const WRAPPED_GROUPS = new RegExp(
  String.raw`(?<![A-Za-z0-9_])${WRAPPED}(?:(?:[\s.\-/\u2010-\u2015]|%(?:25)*20){0,3}${WRAPPED}){1,5}(?![A-Za-z0-9_])`,
  'g',
);
const ENCODED_SPACE = /%(?:25)*20/g;
const NOT_OF_NUMBER = /[^0-9+]+/g;
/** Notes of a text are cited as `[12][13]`: a number has a longer group. */
const LONG_GROUP = /[0-9]{3}/;

/**
 * Replaces phone numbers whose groups each stand in brackets or quotes: `[415][700][1234]`, `'0151' '2917' '0917'`.
 *
 * @param redact What redaction makes of the number as it is without them.
 */
export function redactWrappedPhones(text: string, redact: (number: string) => string): string {
  return text.replace(WRAPPED_GROUPS, (match) => {
    const plain = match.replace(ENCODED_SPACE, ' ').replace(NOT_OF_NUMBER, ' ').trim();
    return LONG_GROUP.test(plain) && redact(plain) === REDACTED ? REDACTED : match;
  });
}

const MARK = /\p{M}/gu;
const NOT_ASCII = /[^\0-\x7f]/;
const LETTER = /^\p{L}|\p{M}$/u;

/** Words behind which digits are a phone number, in the languages of most shops. */
const SPACED_WORDS = wordsOf(
  // English, and what several languages share.
  'tel telephone phone phones fon mobile mob mobil cell cellphone cellular gsm call dial sms text whatsapp viber fax hotline',
  // German, Dutch, the Nordic languages.
  'telefon telefonnummer tlf tlfn handy handynummer mobilnummer rufnummer anrufen telefoon telefoonnummer mobiel bellen puhelin puh matkapuhelin puhelinnumero sími',
  // Romance languages.
  'teléfono telf telefone telemóvel celular móvil cellulare cellulaire portable téléphone appelez appeler chiamare chiamami llamar llámame ligue ligar',
  // Slavic and Baltic languages, Hungarian, Greek, Turkish.
  'komórka telefonu zadzwoń volat mobilní telefonszám mobilszám telefonas telefons telefoni cep',
  'телефон тел моб мобильный мобільний звоните позвоните τηλ τηλέφωνο κινητό',
  // South and east Asia, the Middle East.
  'फोन मोबाइल هاتف الهاتف جوال الجوال موبايل الموبايل محمول المحمول خلوي الخلوي تلفون تليفون واتساب اتصل טלפון נייד',
  'تلفن همراه تماس موبایل گوشی فون موبائل ফোন মোবাইল தொலைபேசி கைபேசி மொபைல் ఫోన్ మొబైల్ ಫೋನ್ ಮೊಬೈಲ್ ഫോൺ മൊബൈൽ ફોન મોબાઇલ ਫ਼ੋਨ ਮੋਬਾਈਲ දුරකථන ජංගම',
  'telp hubungi sđt sdt thoại simu selfoon telepono bimbit утас телефони տելեֆոն հեռախոս հեռ ტელეფონი ტელ მობილური ስልክ',
);
/** Of scripts that put no space between words. */
const UNSPACED_WORDS = [
  ...wordsOf(
    '電話 電話番号 携帯 ケータイ 电话 手机 手机号 手機 전화 전화번호 휴대폰 휴대전화 핸드폰 연락처 โทร โทรศัพท์ เบอร์ มือถือ ໂທ ໂທລະສັບ ເບີ ទូរស័ព្ទ ទូរសព្ទ ဖုန်း 行動電話',
  ),
];
/** What such languages add to the word before the number. */
const PARTICLE = /[は是은는]$/;
/** What may stand between such a word and the number. */
const FILLERS = wordsOf(
  'رقم شماره نمبر नंबर नम्बर নম্বর no nr num number numero número nummer номер me us at on is ist es est to unter under au al är er var',
);
const FILLERS_MAX = 3;
const GAP_CHARACTERS_MAX = 5;
/** Those of them that also name campaigns, files and networks: `mobile_20261120`, `/cell/20261120/`. */
const AMBIGUOUS = wordsOf('mobile mob mobil cell cellular gsm call dial text sms portable movil celular');
const SAID = /[\s:.]/;
/** A mobile in Turkey, where numbers have ten digits, and in Brazil a postcode. */
const MOBILE_OR_POSTCODE = 'cep';
const MOBILE_DIGITS_MIN = 10;
const WORD_CHARACTERS_MAX = 24;

/** Whether what stands before a number of so many digits says that it is one to call. */
function isCalled(text: string, at: number, digits: number): boolean {
  let end = at;
  for (let fillers = 0; fillers <= FILLERS_MAX; fillers += 1) {
    end = gapStart(text, end);
    const start = wordStart(text, end);
    if (start === end) return false;
    const word = plain(text.slice(start, end));
    if (SPACED_WORDS.has(word)) return isMeant(word, text.slice(end, at), digits);
    if (endsUnspaced(word)) return true;
    if (!FILLERS.has(word)) return false;
    end = start;
  }
  return false;
}

function isMeant(word: string, gap: string, digits: number): boolean {
  if (word === MOBILE_OR_POSTCODE) return digits >= MOBILE_DIGITS_MIN;
  return !AMBIGUOUS.has(word) || SAID.test(gap);
}

function endsUnspaced(word: string): boolean {
  if (!NOT_ASCII.test(word)) return false;
  const bare = word.replace(PARTICLE, '');
  return UNSPACED_WORDS.some((known) => bare.endsWith(known));
}

function gapStart(text: string, end: number): number {
  let start = end;
  while (start > 0 && end - start < GAP_CHARACTERS_MAX && !isWordCharacter(text, start - 1)) start -= 1;
  return start;
}

function wordStart(text: string, end: number): number {
  let start = end;
  while (start > 0 && end - start < WORD_CHARACTERS_MAX && isLetter(text, start - 1)) start -= 1;
  return start;
}

function isWordCharacter(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return (code >= 0x30 && code <= 0x39) || (isLetter(text, at) && !isEscapeLetter(text, at));
}

function isLetter(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  if (code < 128) return (code | 0x20) >= 0x61 && (code | 0x20) <= 0x7a;
  return LETTER.test(text.charAt(at));
}

function wordsOf(...lists: readonly string[]): ReadonlySet<string> {
  return new Set(lists.flatMap((list) => list.split(' ').map(plain)));
}

/** Lower case, without accents. */
function plain(word: string): string {
  const lower = word.toLowerCase();
  return NOT_ASCII.test(lower) ? normalised(lower, 'NFD').replace(MARK, '').normalize('NFC') : lower;
}

const BACKSLASH = 0x5c;
const LETTERS: ReadonlySet<string> = new Set('fnrtv');

/** Whether the character at a place is the letter of such an escape, and of no word. */
function isEscapeLetter(text: string, at: number): boolean {
  return text.charCodeAt(at - 1) === BACKSLASH && LETTERS.has(text.charAt(at));
}

// Phone numbers in texts that are valid in a numbering plan: of the countries given, or dialled as from abroad.

const SEPARATOR = String.raw`(?:[\s().\-/\u2010-\u2015]|%(?:25)*(?:20|28|29|2[DdEeFf]))`;
/** Groups of digits with something between them, not inside a word, an identifier, a date or a decimal. */
const GROUPED = new RegExp(
  `(?=[(%0-9])(?:(?<![A-Za-z0-9_]|[0-9][-.,/:])|${BEHIND_ESCAPE}|(?<=%[0-9A-Fa-f]{2}))${OPEN_BRACKET}?[0-9]{1,6}(?:${SEPARATOR}{1,3}[0-9]{2,8}){1,6}(?![A-Za-z0-9_]|[-.,/:]?[0-9])`,
  'g',
);
/** `00` in place of a plus, without anything between the digits. */
const DOUBLE_ZERO = new RegExp(
  `(?:(?<![0-9A-Za-z_]|[0-9][-.,/:])|${BEHIND_ESCAPE})00[1-9][0-9]{7,12}(?![0-9A-Za-z_])`,
  'g',
);
const ESCAPE = /%(?:25)*[0-9a-f]{2}/gi;
const DIALLED_DATE =
  /^(?:(?:19|20)[0-9]{2}[-. /\u2010-\u2015][0-9]{2}[-. /\u2010-\u2015][0-9]{2}|[0-9]{2}[-. /\u2010-\u2015][0-9]{2}[-. /\u2010-\u2015](?:19|20)[0-9]{2})(?![0-9])/;
/** A decimal, and thousands: `55.676098`, `612.345.678`, `12 345 678 910`. */
const AMOUNT = /^[0-9]+\.[0-9]+$|^[0-9]{1,3}(?:\.[0-9]{3})+$|^[0-9]{2}(?:\s[0-9]{3}){3}$/;
const GROUPS = /[0-9]+/g;
const SPACED = /^[0-9]{2,}(?:[\s%][0-9]{2,})+$/;
/** A short number before another, such as a quantity. */
const FIRST_GROUP = /^[0-9]{1,2}(?:\s|%(?:25)*20)+/;
const VALID_DIGITS_MIN = 8;
const VALID_DIGITS_MAX = 13;

/**
 * Replaces numbers that are valid in the numbering plan of one of the countries and written as people there write them:
 * grouped as usual, or in any groups where the country writes no trunk prefix. Also `00` and a valid number, whatever
 * the country. Digits without anything between them are left: they are an order number as likely.
 *
 * @param bits What `scanText` said of the text.
 * @param budget What is left to the event that the text is of.
 */
export function redactCountryPhones(
  text: string,
  bits: number,
  countries: readonly string[],
  budget: WorkBudget,
): string {
  if ((bits & (HOLDS_DOUBLE_ZERO | HOLDS_GROUPS)) === 0) return text;
  const withoutZeros = (match: string): string =>
    readPhone(`+${match.slice(2)}`, null, budget) === null ? match : REDACTED;
  const clean = (bits & HOLDS_DOUBLE_ZERO) === 0 ? text : text.replace(DOUBLE_ZERO, withoutZeros);
  if ((bits & HOLDS_GROUPS) === 0 || countries.length === 0) return clean;
  return clean.replace(GROUPED, (match) => {
    const plain = match.replace(ESCAPE, ' ');
    const digits = digitsIn(plain);
    if (digits < VALID_DIGITS_MIN || digits > VALID_DIGITS_MAX || DIALLED_DATE.test(plain) || AMOUNT.test(plain))
      return match;
    if (isIPv4(plain.split('/', 1)[0] ?? '')) return match;
    if (isCountryNumber(plain, countries, budget)) return REDACTED;
    const head = FIRST_GROUP.exec(match)?.[0] ?? '';
    const rest = match.slice(head.length).replace(ESCAPE, ' ');
    return head !== '' && digitsIn(rest) >= VALID_DIGITS_MIN && isCountryNumber(rest, countries, budget)
      ? head + REDACTED
      : match;
  });
}

function isCountryNumber(text: string, countries: readonly string[], budget: WorkBudget): boolean {
  return countries.some((country) => {
    const number = readPhone(text, country, budget);
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
export function redactDialledPhones(
  text: string,
  bits: number,
  countries: readonly string[],
  budget: WorkBudget,
): string {
  let clean = text.replace(SPELLED, (match, number: string) => withoutDialled(match, number, budget));
  if ((bits & HOLDS_GROUPS) === 0) return clean;
  for (const country of countries) {
    const pattern = prefixPattern(country);
    if (pattern !== null)
      clean = clean.replace(pattern, (match, number: string) => withoutDialled(match, number, budget));
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
export function redactJoinedPhones(text: string, budget: WorkBudget): string {
  return text.replace(JOINED, (match, number: string) =>
    THOUSANDS.test(number) ? match : withoutDialled(match, number, budget),
  );
}

/** What follows the number may have been taken for a part of it: then it is valid without its last groups. */
function withoutDialled(match: string, number: string, budget: WorkBudget): string {
  for (let candidate = number; ; candidate = candidate.replace(LAST_GROUP, '')) {
    const groups = candidate.match(GROUPS) ?? [];
    if (groups.length < GROUPS_MIN) return match;
    if (isDialled(groups, budget)) return REDACTED + number.slice(candidate.length);
  }
}

function isDialled(groups: readonly string[], budget: WorkBudget): boolean {
  const number = readPhone(`+${groups.join(' ')}`, null, budget);
  return number === 'unread' || (number !== null && number.countryCallingCode === groups[0]);
}

const STEPS = 20;

/**
 * The valid number that a text is in a country, or with its plus in whatever country; null where it is none.
 * `unread`: there is no budget left.
 */
function readPhone(text: string, country: string | null, budget: WorkBudget): PhoneNumber | null | 'unread' {
  const key = `${country ?? ''} ${text}`;
  budget.phones ??= new Map();
  const known = budget.phones.get(key);
  if (known !== undefined) return known;
  if (!spend(budget, STEPS)) return 'unread';
  const number = parse(text, country);
  const valid = number?.isValid() === true ? number : null;
  budget.phones.set(key, valid);
  return valid;
}

function parse(text: string, country: string | null): PhoneNumber | undefined {
  if (country === null) return parsePhoneNumberFromString(text);
  return isSupportedCountry(country)
    ? parsePhoneNumberFromString(text, { defaultCountry: country, extract: false })
    : undefined;
}
