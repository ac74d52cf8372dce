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
const BITS = new Uint8Array(128);
BITS[0x40] = HOLDS_AT;
BITS[0x25] = HOLDS_PERCENT;
BITS[0x2b] = HOLDS_PLUS;
BITS[0x3d] = HOLDS_EQUALS;
BITS[0x22] = HOLDS_QUOTE;
/** Of a character of a number: 1 for a digit; and whether the number goes on with it, as a mask of the count so far. */
const DIGITS = new Uint8Array(128);
const GOES_ON = new Uint8Array(128);
for (const code of Buffer.from(' \t().-/+%')) GOES_ON[code] = 0xff;
for (const code of Buffer.from('0123456789')) {
  DIGITS[code] = 1;
  GOES_ON[code] = 0xff;
}

/** One pass over the text; most texts come out as 0 and need no second look. */
export function scanText(text: string): number {
  let bits = 0;
  let before = 0;
  let digits = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code < 128) {
      bits |= BITS[code] as number;
      digits = (digits + (DIGITS[code] as number)) & (GOES_ON[code] as number);
      if (digits === NUMBER_DIGITS_MIN) bits |= HOLDS_LONG_NUMBER;
    } else {
      bits |= HOLDS_NON_ASCII;
      digits = 0;
    }
    if (code === COLON && (before | LOWER_CASE_BIT) === LETTER_L) bits |= HOLDS_L_COLON;
    before = code;
  }
  return bits;
}
