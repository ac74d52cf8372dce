/** What a text may hold, as bits: each rules a costly look in or out. */
export const HOLDS_AT = 1;
export const HOLDS_PERCENT = 2;
export const HOLDS_PLUS = 4;
export const HOLDS_EQUALS = 8;
/** An ampersand, which HTML's character references begin with. */
export const HOLDS_AMPERSAND = 16;
export const HOLDS_NON_ASCII = 32;
/** A quote beside a colon: a member of an object may be written there. */
export const HOLDS_QUOTE = 64;
export const HOLDS_BACKSLASH = 128;
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
/** What a key or a token begins with, in a text that is long enough for one. */
export const HOLDS_SECRET = 32768;
/** For a text that has not been scanned. */
export const EVERYTHING = 65535;

const NUMBER_DIGITS_MIN = 7;
const LONG_NUMBER_DIGITS_MIN = 12;
const SECRET_CHARACTERS_MIN = 20;
/** The beginnings of what `redact_secrets.ts` looks for. */
const SECRET_MARK =
  /eyJ|[rs]k_[lt]|whsec_|gh[opsur]_|github_pat|gl(?:pat|dt|rt|ptt|cbt|soat|ft|agent|imt|oas|sa|c)[-_]|xox[abeoprs]-|xapp-|AKIA|ASIA|AIza|ya29\.|GOCSPX|EAA|SG\.|shp(?:at|ca|pa|ss|ua|tka)_|npm_|pypi-|dckr_|hf_|sk-|xkeysib|key-|-us[0-9]|sq0|rzp_|do[opr]_v|dapi|lin_api|PMAK|NRAK|ATATT|dp\.|:AA|pk_|pat-|svc_[as][kt]|PRIVATE KEY|[Bb][Ee][Aa][Rr][Ee][Rr]|[Bb][Aa][Ss][Ii][Cc]/;
const PERCENT = 0x25;
const AT = 0x40;
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
  if (digits < NUMBER_DIGITS_MIN) {
    bits &= ~HOLDS_WRAPPED;
    return bits === HOLDS_COLON_OR_SLASH ? 0 : bits;
  }
  if ((bits & HOLDS_NON_ASCII) !== 0) bits |= HOLDS_WRAPPED;
  if (digits >= LONG_NUMBER_DIGITS_MIN) bits |= HOLDS_LONG_NUMBER;
  const number = numberBits(text);
  return number === 0 && bits === HOLDS_COLON_OR_SLASH ? 0 : bits | number;
}

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

/** Characters that it takes a step to look at, in the steps of `Effort`: more where any may stand for another. */
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
