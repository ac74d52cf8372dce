import { plainText } from './plain_text.ts';
import { HOLDS_NON_ASCII } from './scan_text.ts';

const EMAIL_CHARACTERS_MAX = 254;
const EMAIL = /^[^\s@"(),:;<>[\]\\]+@[^\s@.]+(?:\.[^\s@.]+)+$/;
const NOT_ASCII = /[^\p{ASCII}]/u;

/**
 * Trims and lower-cases as Meta's customer information parameters page asks, without characters that show nothing and with
 * fullwidth ones as what they stand for; null when it is no e-mail address.
 */
export function normaliseEmail(text: string): string | null {
  const plain = NOT_ASCII.test(text) ? plainText(text, HOLDS_NON_ASCII) : text;
  const trimmed = plain.trim().replace(/^mailto:/i, '');
  if (trimmed.length > EMAIL_CHARACTERS_MAX || !EMAIL.test(trimmed)) return null;
  return trimmed.toLowerCase();
}
