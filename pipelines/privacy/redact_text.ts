import { isIP } from 'node:net';
import { redactEmails } from './redact_emails.ts';
import { redactMembers } from './redact_members.ts';
import { redactNationalPhones } from './redact_national_phones.ts';
import { redactParameters } from './redact_parameters.ts';
import { redactPhones } from './redact_phones.ts';
import { REDACTED } from './redacted.ts';
import {
  HOLDS_AT,
  HOLDS_EQUALS,
  HOLDS_L_COLON,
  HOLDS_LONG_NUMBER,
  HOLDS_NON_ASCII,
  HOLDS_PERCENT,
  HOLDS_PLUS,
  HOLDS_QUOTE,
  scanText,
} from './scan_text.ts';

const TEL = /tel:/i;
const QUOTE = /"|%(?:25)*22/;

/**
 * The text without e-mail addresses and phone numbers that are written as such, each replaced in place by the word `redacted`; of a URL
 * only the parameter's value goes. Lone surrogates become U+FFFD. With `anonymous` the parameters that identify a
 * visitor (click ids, user ids) are emptied likewise, and a text that is nothing but an IP address.
 */
export function redactText(text: string, anonymous = false): string {
  const bits = scanText(text);
  if (anonymous && isIP(text) !== 0) return REDACTED;
  if (bits === 0) return text;
  let clean = (bits & HOLDS_NON_ASCII) === 0 || text.isWellFormed() ? text : text.toWellFormed();
  if ((bits & (HOLDS_EQUALS | HOLDS_PERCENT)) !== 0) clean = redactParameters(clean, anonymous);
  if ((bits & (HOLDS_QUOTE | HOLDS_PERCENT)) !== 0 && QUOTE.test(clean)) clean = redactMembers(clean, anonymous);
  if ((bits & (HOLDS_AT | HOLDS_PERCENT | HOLDS_NON_ASCII)) !== 0) clean = redactEmails(clean);
  if (
    (bits & (HOLDS_PLUS | HOLDS_PERCENT | HOLDS_NON_ASCII)) !== 0 ||
    ((bits & HOLDS_L_COLON) !== 0 && TEL.test(clean))
  ) {
    clean = redactPhones(clean);
  }
  if ((bits & (HOLDS_LONG_NUMBER | HOLDS_PERCENT | HOLDS_NON_ASCII)) !== 0) clean = redactNationalPhones(clean);
  return clean;
}

/** Whether the text holds a raw e-mail address or an phone number that is written as one. */
export function holdsPersonalText(text: string): boolean {
  return redactText(text) !== text.toWellFormed();
}
