/** A number of so many digits may not fit 64 bits; a surrogate without its other half is escaped as `\ud...`. */
const DOUBTFUL = /\d{19}|\\ud/;
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
  return DOUBTFUL.test(text) ? text.replace(TOKENS, readable) : text;
}

function readable(token: string): string {
  if (token.startsWith('"')) {
    return token.replace(ESCAPES, (one) => (one.startsWith('\\ud') ? '\ufffd' : one));
  }
  const value = Number(token);
  return value >= INTEGER_MAX || value <= INTEGER_MIN ? value.toExponential() : token;
}
