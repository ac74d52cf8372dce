import { HOLDS_AMPERSAND, HOLDS_BACKSLASH, HOLDS_NON_ASCII, HOLDS_PERCENT } from './scan_text.ts';

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
  /&(?:amp;){0,3}(?:#(?:x(?<hex>[0-9a-f]{1,6})|(?<decimal>[0-9]{1,7}));?|(?<name>commat|period|plus|lpar|rpar|hyphen|dash|lowbar|nbsp|shy|zwj|zwnj|lrm|rlm|colon|sol|num|Tab|NewLine);)/gi;
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
  return text
    .toWellFormed()
    .normalize('NFKC')
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
