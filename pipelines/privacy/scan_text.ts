/** What a text may hold, as bits: each rules a costly look in or out. */
export const HOLDS_AT = 1;
export const HOLDS_PERCENT = 2;
export const HOLDS_PLUS = 4;
export const HOLDS_EQUALS = 8;
/** The end of `tel:`, in either case. */
export const HOLDS_L_COLON = 16;
export const HOLDS_NON_ASCII = 32;
export const HOLDS_QUOTE = 64;
/** Nine digits with nothing between them but what is written between the digits of phone numbers. */
export const HOLDS_LONG_NUMBER = 128;

const COLON = 0x3a;
const LETTER_L = 0x6c;
const LOWER_CASE_BIT = 0x20;
const NUMBER_DIGITS_MIN = 9;
const DIGIT_ZERO = 0x30;
const DIGIT_NINE = 0x39;

const BITS = new Uint8Array(128);
BITS[0x40] = HOLDS_AT;
BITS[0x25] = HOLDS_PERCENT;
BITS[0x2b] = HOLDS_PLUS;
BITS[0x3d] = HOLDS_EQUALS;
BITS[0x22] = HOLDS_QUOTE;
const DIGITS = new Uint8Array(128).fill(1, DIGIT_ZERO, DIGIT_NINE + 1);
const BETWEEN_DIGITS = new Set(Buffer.from(' \t().-/+%'));

/**
 * One pass over the text; most texts come out as 0 and need no second look. The first pass only counts the digits, as
 * following numbers in it would make every text cost twice as much.
 */
export function scanText(text: string): number {
  let bits = 0;
  let digits = 0;
  let before = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code < 128) {
      bits |= BITS[code] as number;
      digits += DIGITS[code] as number;
      if (code === COLON && (before | LOWER_CASE_BIT) === LETTER_L) bits |= HOLDS_L_COLON;
    } else bits |= HOLDS_NON_ASCII;
    before = code;
  }
  return digits >= NUMBER_DIGITS_MIN && holdsLongNumber(text) ? bits | HOLDS_LONG_NUMBER : bits;
}

function holdsLongNumber(text: string): boolean {
  let digits = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code >= DIGIT_ZERO && code <= DIGIT_NINE) digits += 1;
    else if (!BETWEEN_DIGITS.has(code)) digits = 0;
    if (digits === NUMBER_DIGITS_MIN) return true;
  }
  return false;
}
