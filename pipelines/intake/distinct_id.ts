import { type Effort, idEffort } from '#pipelines/privacy/effort.ts';
import { normalisePhone } from '#pipelines/privacy/hash_phone.ts';
import { normaliseEmail } from '#pipelines/privacy/normalise_email.ts';
import { plainText } from '#pipelines/privacy/plain_text.ts';
import { holdsPersonalText, redactText } from '#pipelines/privacy/redact_text.ts';
import { REDACTED } from '#pipelines/privacy/redacted.ts';
import { EVERYTHING } from '#pipelines/privacy/scan_text.ts';
import type { Site } from '#schemas/setting.ts';
import { idCountries } from './event_countries.ts';
import { hashedSecretly } from './hashed_secretly.ts';

const PHONE_MARK = /^(?:tel:|\+|\(\+)/i;

export interface CleanDistinctId {
  distinctId: string;
  /** What the sent id was, where it was an identifier itself. */
  identifier: { kind: 'email' | 'phone'; raw: string } | null;
}

/**
 * The distinct_id as it may be stored. One that is an e-mail address or a phone number written as one becomes `h_` and
 * the keyed hash of its normalised form, so that every spelling of it stays one visitor; one that merely holds such is
 * hashed as it stands. The site's country alone reads numbers without a country code.
 */
export function cleanDistinctId(
  sent: string,
  secret: Buffer,
  site: Pick<Site, 'default_country'>,
  effort?: Effort,
): CleanDistinctId {
  const countries = idCountries(site);
  if (!holdsPersonalText(sent, countries, idEffort(effort))) return { distinctId: sent, identifier: null };
  const plain = plainText(decoded(sent), EVERYTHING);
  const email = normaliseEmail(plain);
  if (email !== null) return { distinctId: hashedSecretly(email, secret), identifier: { kind: 'email', raw: email } };
  const isPhone = PHONE_MARK.test(plain) || redactText(plain, false, countries, idEffort(effort)) === REDACTED;
  const phone = isPhone ? normalisePhone(plain, site.default_country) : null;
  if (phone !== null) return { distinctId: hashedSecretly(phone, secret), identifier: { kind: 'phone', raw: phone } };
  return { distinctId: hashedSecretly(sent, secret), identifier: null };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
