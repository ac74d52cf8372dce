/** A number of so many digits may not fit 64 bits. */
const DIGITS_DOUBTFUL = 19;
/** How `JSON.stringify` escapes a surrogate without its other half. */
const HALF_PAIR = '\\ud';
const TOKENS = /"(?:[^"\\]|\\.)*"|-?\d{19,}(?=[,\]}])/g;
const ESCAPES = /\\(?:ud[89a-f][0-9a-f]{2}|.)/g;

const INTEGER_MAX = 2 ** 64;
const INTEGER_MIN = -(2 ** 63);

/**
 * Properties as the JSON that is kept. ClickHouse reads a whole document as nothing where one number is an integer that does
 * not fit 64 bits, or a text has half a surrogate pair: such a number is written with an exponent, which is the same number,
 * and such a half as U+FFFD.
 */
export function propertiesText(properties: object): string {
  const text = JSON.stringify(properties);
  return hasDigitsInARow(text, DIGITS_DOUBTFUL) || text.includes(HALF_PAIR) ? text.replace(TOKENS, readable) : text;
}

/** Looks at every `count`th character only, as digits in a row cannot lie between: a regular expression looks at each. */
function hasDigitsInARow(text: string, count: number): boolean {
  for (let at = count - 1; at < text.length; at += count) {
    if (!isDigit(text, at)) continue;
    let from = at;
    while (isDigit(text, from - 1)) from -= 1;
    while (isDigit(text, at + 1)) at += 1;
    if (at + 1 - from >= count) return true;
  }
  return false;
}

/** False before the text's beginning and behind its end. */
function isDigit(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code >= 0x30 && code <= 0x39;
}

function readable(token: string): string {
  if (token.startsWith('"')) {
    return token.replace(ESCAPES, (one) => (one.startsWith('\\ud') ? '\ufffd' : one));
  }
  const value = Number(token);
  return value >= INTEGER_MAX || value <= INTEGER_MIN ? value.toExponential() : token;
}
