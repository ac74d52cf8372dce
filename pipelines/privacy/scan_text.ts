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

/** Beside what it holds, a character's mark says whether it is a digit, a colon, and part of how a number is written. */
const HOLDS = 0xff;
const DIGIT_SHIFT = 8;
const COLON = 1 << 9;
const NUMBER_SHIFT = 10;
const LETTER_L = 0x6c;
const LOWER_CASE_BIT = 0x20;
const NUMBER_DIGITS_MIN = 9;

const MARKS = new Uint16Array(128);
for (const code of Buffer.from(' \t().-/+%')) MARKS[code] = 1 << NUMBER_SHIFT;
for (const code of Buffer.from('0123456789')) MARKS[code] = (1 << NUMBER_SHIFT) | (1 << DIGIT_SHIFT);
mark('@', HOLDS_AT);
mark('%', HOLDS_PERCENT);
mark('+', HOLDS_PLUS);
mark('=', HOLDS_EQUALS);
mark('"', HOLDS_QUOTE);
mark(':', COLON);

function mark(character: string, bits: number): void {
  const code = character.charCodeAt(0);
  MARKS[code] = (MARKS[code] ?? 0) | bits;
}

/** One pass over the text; most texts come out as 0 and need no second look. */
export function scanText(text: string): number {
  let bits = 0;
  let digits = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    const marks = code < 128 ? (MARKS[code] as number) : HOLDS_NON_ASCII;
    bits |= marks;
    digits = (digits + ((marks >> DIGIT_SHIFT) & 1)) & -(marks >> NUMBER_SHIFT);
    if (digits === NUMBER_DIGITS_MIN) bits |= HOLDS_LONG_NUMBER;
    if ((marks & COLON) !== 0 && (text.charCodeAt(at - 1) | LOWER_CASE_BIT) === LETTER_L) bits |= HOLDS_L_COLON;
  }
  return bits & HOLDS;
}
