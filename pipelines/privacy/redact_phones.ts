import { REDACTED } from './redacted.ts';

/**
 * A plus sign (percent-encoded or fullwidth too) or `tel:`, then a number of 7 to 15 digits with the usual separators,
 * which form encoding writes as `+` or as percent escapes.
 */
const NUMBER =
  /(?<mark>\+|%(?:25)*2B|\uff0b|(?<!\p{L})tel:(?:\/\/)?(?:\+|%2B)?0*)(?<digits>(?:[\s(]|%20|%28){0,2}(?!0)\p{Nd}(?:(?:[\s().\-+\u2010-\u2015]|%(?:25)*(?:20|28|29|2D)){0,3}\p{Nd}){6,14})/giu;
const DIGIT = /\p{Nd}/gu;
const ONLY_DIGITS = /^\p{Nd}+$/u;
const WORD_END = /[\p{L}\p{Nd}]$/u;
const ESCAPE_END = /%[0-9a-f]{2}$/i;
/** After a letter or digit a plus sign is rather a sum or a form-encoded space: then only a long number is a phone's. */
const DIGITS_AFTER_WORD_MIN = 10;

/**
 * Replaces every number written internationally (E.164 with its plus) or as a `tel:` link by the redaction word. A run
 * of more than 15 digits is no phone number.
 */
export function redactPhones(text: string): string {
  return text.replace(NUMBER, (match: string, _mark: string, digits: string, offset: number) => {
    if (ONLY_DIGITS.test(digits) && isDigit(text, offset + match.length)) return match;
    const before = text.slice(Math.max(0, offset - 3), offset);
    const count = digits.match(DIGIT)?.length ?? 0;
    const followsWord = WORD_END.test(before) && !ESCAPE_END.test(before);
    return followsWord && count < DIGITS_AFTER_WORD_MIN ? match : REDACTED;
  });
}

function isDigit(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code >= 0x30 && code <= 0x39;
}
