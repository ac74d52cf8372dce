import { isIP } from 'node:net';
import { isArticleNumber } from './article_numbers.ts';
import { outsideOfCodes } from './codes.ts';
import { allowEffort, type Effort, spend } from './effort.ts';
import type { Names } from './key_words.ts';
import { betweenNumbers } from './number_joints.ts';
import { redactEncoded } from './percent_encoded.ts';
import { plainText } from './plain_text.ts';
import { redactCountryPhones } from './redact_country_phones.ts';
import { redactDialledPhones, redactJoinedPhones } from './redact_dialled_phones.ts';
import { redactEmails } from './redact_emails.ts';
import { redactMembers } from './redact_members.ts';
import { redactNationalPhones } from './redact_national_phones.ts';
import { redactParameters } from './redact_parameters.ts';
import { redactPhones } from './redact_phones.ts';
import { redactSecrets } from './redact_secrets.ts';
import { redactUserinfo } from './redact_userinfo.ts';
import { redactWrappedPhones } from './redact_wrapped_phones.ts';
import { REDACTED } from './redacted.ts';
import {
  HOLDS_AT,
  HOLDS_EQUALS,
  HOLDS_GROUPS,
  HOLDS_LONG_NUMBER,
  HOLDS_NON_ASCII,
  HOLDS_NUMBER,
  HOLDS_PERCENT,
  HOLDS_PLUS,
  HOLDS_QUOTE,
  HOLDS_SECRET,
  HOLDS_WRAPPED,
  scanText,
  stepsToRead,
  stepsToRedact,
} from './scan_text.ts';
import { isUuidText } from './uuid_text.ts';

const NOWHERE: readonly string[] = [];

/** What a text is by the key that it stands under. */
export type Stands = 'text' | Names;

/**
 * The text without e-mail addresses, phone numbers that are written as such, secrets, and the user and password of URLs, each
 * replaced in place by the word `redacted`; of a URL's parameter only the value goes. Looked for is in what people read:
 * where something is found that was written with hidden or fullwidth characters, character references or needless
 * escapes, the text comes back without these. Otherwise it comes back as it was, lone surrogates as U+FFFD.
 *
 * @param anonymous Remove also what identifies a visitor: parameters such as click ids, and a text that is an IP address.
 * @param countries Those by whose numbering plans numbers without a country code are recognised (ISO 3166-1 alpha-2).
 * @param effort What is left to the event that the text is of; absent, that of one event.
 * @param stands What its key says it is.
 */
export function redactText(
  text: string,
  anonymous = false,
  countries: readonly string[] = NOWHERE,
  effort?: Effort,
  stands: Stands = 'text',
): string {
  const bits = scanText(text);
  if (anonymous && isIP(text) !== 0) return REDACTED;
  if (bits === 0 || isUuidText(text) || (stands === 'article' && isArticleNumber(text))) return text;
  const how: Redaction = { anonymous, countries, effort: effort ?? allowEffort(), stands };
  const readable = redactReadable(text, bits, how);
  if ((bits & HOLDS_PERCENT) === 0) return readable;
  return redactEncoded(readable, (part) => {
    const found = scanText(part);
    return found === 0 ? part : redactReadable(part, found, how);
  });
}

/** Whether an id or a name holds a raw e-mail address, a phone number that is written as one, or a secret. */
export function holdsPersonalText(text: string, countries: readonly string[] = NOWHERE, effort?: Effort): boolean {
  return redactText(text, false, countries, effort, 'id') !== text.toWellFormed();
}

interface Redaction {
  anonymous: boolean;
  countries: readonly string[];
  effort: Effort;
  stands: Stands;
}

function redactReadable(text: string, bits: number, how: Redaction): string {
  if (!spend(how.effort, stepsToRead(text, bits))) return REDACTED;
  const plain = plainText(text, bits);
  const found = plain === text ? bits : scanText(plain);
  if (!spend(how.effort, stepsToRedact(plain, found))) return REDACTED;
  const clean = redactPlain(plain, found, how);
  if (clean !== plain) return clean;
  return (bits & HOLDS_NON_ASCII) === 0 ? text : text.toWellFormed();
}

function redactPlain(text: string, bits: number, how: Redaction): string {
  const { anonymous, countries, effort } = how;
  let clean = text;
  if ((bits & (HOLDS_SECRET | HOLDS_LONG_NUMBER)) !== 0) clean = redactSecrets(clean, bits, how.stands, effort);
  if ((bits & HOLDS_EQUALS) !== 0) clean = redactParameters(clean, anonymous, effort);
  if ((bits & HOLDS_QUOTE) !== 0) clean = redactMembers(clean, anonymous, effort);
  if ((bits & (HOLDS_AT | HOLDS_PERCENT)) !== 0) clean = redactUserinfo(clean);
  if ((bits & HOLDS_AT) !== 0) clean = redactEmails(clean);
  if ((bits & HOLDS_WRAPPED) !== 0) {
    clean = redactWrappedPhones(clean, (number) => redactPlain(number, scanText(number), how));
  }
  if ((bits & (HOLDS_PLUS | HOLDS_PERCENT)) !== 0) clean = redactJoinedPhones(clean, effort);
  if ((bits & HOLDS_NUMBER) === 0) return clean;
  const redactNumbers = (part: string): string =>
    redactCountryPhones(
      redactNationalPhones(redactPhones(redactDialledPhones(part, bits, countries, effort), bits), bits),
      bits,
      countries,
      effort,
    );
  return outsideOfCodes(clean, (part) =>
    (bits & HOLDS_GROUPS) === 0 ? redactNumbers(part) : betweenNumbers(part, redactNumbers),
  );
}
