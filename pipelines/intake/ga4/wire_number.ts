/**
 * Without a leading plus or zeros: that is rather a phone number or a code in the wrong field, and as a number would no
 * longer be known for one.
 */
const DECIMAL = /^-?(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:e[+-]?\d{1,3})?$/i;
const PARTS = /^-?(\d*)\.?(\d*)(?:e([+-]?\d+))?$/i;
const NUMBER_CHARACTERS_MAX = 40;

/** A number where the text is one that loses nothing as such; else the text: `epn.x=true` exists (FACTS section 4). */
export function numberOr(text: string): number | string {
  if (text.length > NUMBER_CHARACTERS_MAX || !DECIMAL.test(text)) return text;
  const number = Number(text);
  const isExact = Number.isFinite(number) && (!Number.isInteger(number) || Number.isSafeInteger(number));
  return isExact && digitsOf(text) === digitsOf(String(number)) ? number : text;
}

/** The digits of a decimal that count, and the place of the last: equal for `1.50`, `1.5` and `15e-1`. */
function digitsOf(text: string): string {
  const [, whole = '', fraction = '', exponent = '0'] = PARTS.exec(text) ?? [];
  const digits = (whole + fraction).replace(/^0+/, '');
  const significant = digits.replace(/0+$/, '');
  const place = Number(exponent) - fraction.length + digits.length - significant.length;
  return significant === '' ? '0' : `${significant}e${place}`;
}
