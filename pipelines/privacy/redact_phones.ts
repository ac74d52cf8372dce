import { isEscapeLetter } from './literal_escape.ts';
import { REDACTED } from './redacted.ts';
import { HOLDS_COLON_OR_SLASH, HOLDS_PERCENT, HOLDS_PLUS } from './scan_text.ts';

/** A colon, and what stands between the two parts of a link such as `tel://`. */
const COLON = String.raw`(?::|%(?:25)*3A)(?:\/|%(?:25)*2F){0,2}`;
const SCHEME = `(?<![A-Za-z])(?:tel|callto|sms|smsto|mms|mmsto|fax|sips?|skype|viber|signal|whatsapp|imessage|facetime(?:-audio)?)${COLON}`;
const CHAT = String.raw`(?:wa\.me|t\.me|signal\.me|viber\.click)(?:\/|%(?:25)*2F)(?:#p(?:\/|%(?:25)*2F))?`;
const PLUS = String.raw`(?:\+|%(?:25)*2B)`;
const OPEN = String.raw`(?:[\s(]|%(?:25)*(?:20|28)){0,3}`;
const BETWEEN = String.raw`(?:[\s().\-/+_~*\u2010-\u2015]|%(?:25)*(?:20|28|29|2A|2D|2F)){0,4}`;
const SPACE = String.raw`(?:\s|%(?:25)*20){1,3}`;
/** Behind it begins another number. */
const SPACED_SLASH = String.raw`${SPACE}(?:\/|%(?:25)*2F)${SPACE}(?:0|${PLUS})`;
/**
 * A plus sign, or what begins a link to a number, then a number of 7 to 15 digits with the usual separators, which form
 * encoding writes as `+` or as percent escapes.
 */
const NUMBER = new RegExp(
  `(?<mark>${PLUS}|(?:${SCHEME}|${CHAT})${PLUS}?0*)(?<digits>${OPEN}(?!0)[0-9](?:(?!${SPACED_SLASH})${BETWEEN}[0-9]){6,14})`,
  'gi',
);
const LINK = new RegExp(`${SCHEME}|${CHAT}`, 'i');
const DIGIT = /[0-9]/g;
const WORD_END = /[A-Za-z0-9]$/;
const ESCAPE_END = /%[0-9a-f]{2}$/i;
const ONLY_DIGITS = /^[0-9]+$/;
/** After a letter or digit a plus sign is rather a sum or a form-encoded space: then only a long number is a phone's. */
const DIGITS_AFTER_WORD_MIN = 10;

/**
 * Replaces every number written internationally (E.164 with its plus) or as a link (`tel:`, `wa.me/`) by the redaction
 * word. A run of more than 15 digits is no phone number.
 *
 * @param bits What `scanText` said of the text.
 */
export function redactPhones(text: string, bits: number): string {
  if ((bits & (HOLDS_PLUS | HOLDS_PERCENT)) === 0 && !((bits & HOLDS_COLON_OR_SLASH) !== 0 && LINK.test(text)))
    return text;
  return text.replace(NUMBER, (match: string, _mark: string, digits: string, offset: number) => {
    if (ONLY_DIGITS.test(digits) && isDigit(text, offset + match.length)) return match;
    const before = text.slice(Math.max(0, offset - 3), offset);
    const count = digits.match(DIGIT)?.length ?? 0;
    const followsWord = WORD_END.test(before) && !ESCAPE_END.test(before) && !isEscapeLetter(text, offset - 1);
    return followsWord && count < DIGITS_AFTER_WORD_MIN ? match : REDACTED;
  });
}

function isDigit(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code >= 0x30 && code <= 0x39;
}
