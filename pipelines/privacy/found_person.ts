import type { Identifiers } from '#schemas/event.ts';
import { countryCode } from './country_code.ts';
import {
  type Countries,
  copyIdentifier,
  type Identifier,
  noIdentifiers,
  otherForm,
  putIdentifier,
} from './identifiers.ts';
import { isCookielessId, isPlaceholderHash, isPlaceholderId } from './placeholder_id.ts';

/** Further e-mail addresses and phone numbers of one event that are kept. */
const FURTHER_MAX = 8;

interface Phone {
  text: string;
  leads: boolean;
  /** Whether the key says that it is a phone number; else only one valid beyond doubt is. */
  isSure: boolean;
}

/**
 * What an event says of who its person is. Of several addresses or numbers the first, or that at the top, leads and joins
 * people; the others only help to match.
 */
export interface FoundPerson {
  identifiers: Identifiers | null;
  further: Identifiers[];
  /** Forms beside those of `identifiers`. */
  others: Identifiers;
  /** Numbers that wait until the whole event is known, since its country says how they are read. */
  phones: Phone[];
  /** Whether an identifier was a placeholder, and so is not among these. */
  hasPlaceholder: boolean;
}

export const foundNobody = (): FoundPerson => ({
  identifiers: null,
  further: [],
  others: noIdentifiers(),
  phones: [],
  hasPlaceholder: false,
});

const NO_COUNTRY: Countries = { own: null, sites: null };

/** Takes an identifier; whether it could be read, as far as that is known yet. `leads`: it goes before what is there. */
export function feedPerson(
  person: FoundPerson,
  kind: Exclude<Identifier, 'phone'>,
  text: string,
  leads: boolean,
): boolean {
  if (isNobodys(person, kind, text)) return false;
  return take(person, kind, text, leads, NO_COUNTRY);
}

/** Whether the text would make one person of all for whom it is sent. */
function isNobodys(person: FoundPerson, kind: Identifier, text: string): boolean {
  const isPlaceholder = kind === 'external_id' ? isPlaceholderId(text) : isPlaceholderHash(text);
  person.hasPlaceholder ||= isPlaceholder;
  return isPlaceholder || (kind === 'external_id' && isCookielessId(text));
}

/** The same of a phone number, which waits to be read. */
export function feedPhone(person: FoundPerson, text: string, leads: boolean, isSure: boolean): boolean {
  if (isNobodys(person, 'phone', text)) return false;
  if (person.phones.length < FURTHER_MAX) person.phones.push({ text, leads, isSure });
  return true;
}

function take(person: FoundPerson, kind: Identifier, text: string, leads: boolean, countries: Countries): boolean {
  const known = person.identifiers;
  const isTaken = known !== null && known[kind] !== null;
  const isOneOfMany = kind === 'email' || kind === 'phone';
  if (isTaken && !leads && (!isOneOfMany || person.further.length >= FURTHER_MAX)) return true;
  const read = noIdentifiers();
  if (!putIdentifier(read, kind, text, countries)) return false;
  if (isTaken && isOneOfMany) keepFurther(person, kind, known, read, leads);
  if (isTaken && !leads && known[kind] !== read[kind]) return true;
  person.identifiers = known ?? noIdentifiers();
  copyIdentifier(person.identifiers, kind, read);
  Object.assign(person.others, otherForm(kind, text));
  return true;
}

/** The one that does not lead is kept beside, once. */
function keepFurther(
  person: FoundPerson,
  kind: Identifier,
  known: Identifiers,
  read: Identifiers,
  leads: boolean,
): void {
  if (known[kind] === read[kind] || person.further.length >= FURTHER_MAX) return;
  person.further = person.further.filter((one) => !leads || one[kind] !== read[kind]);
  const other = noIdentifiers();
  copyIdentifier(other, kind, leads ? known : read);
  if (!person.further.some((one) => one[kind] === other[kind])) person.further.push(other);
}

/** Reads the numbers that waited, by the event's own country before the site's. */
export function settlePerson(person: FoundPerson, country: string | null, siteCountry: string | null): void {
  if (person.phones.length > 0) {
    const countries = { own: countryCode(country), sites: siteCountry };
    for (const { text, leads, isSure } of person.phones) {
      take(person, 'phone', text, leads, { ...countries, validOnly: !isSure });
    }
    person.phones = [];
  }
  if (Object.values(person.others).some((hashed) => hashed !== null)) person.further.push(person.others);
}
