/** Without a leading plus: that is rather a phone number in the wrong field. */
const DECIMAL = /^-?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d{1,3})?$/i;
const NUMBER_CHARACTERS_MAX = 40;

/** A number where the text is one that loses nothing as such; else the text: `epn.x=true` exists (FACTS section 4). */
export function numberOr(text: string): number | string {
  if (text.length > NUMBER_CHARACTERS_MAX || !DECIMAL.test(text)) return text;
  const number = Number(text);
  const isExact = Number.isFinite(number) && (!Number.isInteger(number) || Number.isSafeInteger(number));
  return isExact ? number : text;
}
