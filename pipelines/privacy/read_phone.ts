import { isSupportedCountry, type PhoneNumber, parsePhoneNumberFromString } from 'libphonenumber-js/max';
import { type Effort, spend } from './effort.ts';

const STEPS = 20;

/**
 * The valid number that a text is in a country, or with its plus in whatever country; null where it is none.
 * `unread`: there is no effort left.
 */
export function readPhone(text: string, country: string | null, effort: Effort): PhoneNumber | null | 'unread' {
  const key = `${country ?? ''} ${text}`;
  const known = effort.phones.get(key);
  if (known !== undefined) return known;
  if (!spend(effort, STEPS)) return 'unread';
  const number = parse(text, country);
  const valid = number?.isValid() === true ? number : null;
  effort.phones.set(key, valid);
  return valid;
}

function parse(text: string, country: string | null): PhoneNumber | undefined {
  if (country === null) return parsePhoneNumberFromString(text);
  return isSupportedCountry(country)
    ? parsePhoneNumberFromString(text, { defaultCountry: country, extract: false })
    : undefined;
}
