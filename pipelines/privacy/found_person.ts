import type { Identifiers } from '#schemas/event.ts';
import { countryCode } from './country_code.ts';
import {
  type Countries,
  completeIdentifier,
  copyIdentifier,
  type Identifier,
  noIdentifiers,
  otherForm,
  putIdentifier,
} from './identifiers.ts';
import { type Feed, RANKS } from './key_words.ts';
import { isCookielessId, isPlaceholderHash, isPlaceholderId, isUnstated } from './placeholder_id.ts';

/** Further e-mail addresses and phone numbers of one event that are kept. */
const FURTHER_MAX = 8;

interface Phone {
  text: string;
  rank: number;
  /** Whether the key says that it is a phone number; else only one valid beyond doubt is. */
  isSure: boolean;
}

/**
 * What an event says of who its person is. Of several addresses or numbers the first of the highest rank leads and joins
 * people; the others only help to match.
 */
export interface FoundPerson {
  identifiers: Identifiers | null;
  further: Identifiers[];
  /** How far what is taken goes before what comes later. */
  ranks: Partial<Record<Exclude<Feed, 'maybe_phone'>, number>>;
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
  ranks: {},
  others: noIdentifiers(),
  phones: [],
  hasPlaceholder: false,
});

const NO_COUNTRY: Countries = { own: null, sites: null };

/** Takes an identifier, before what is there if that has a lower rank; whether it could be read. */
export function feedPerson(
  person: FoundPerson,
  kind: Exclude<Identifier, 'phone'>,
  text: string,
  rank: number,
): boolean {
  if (isNobodys(person, kind, text)) return false;
  return take(person, kind, text, rank, NO_COUNTRY);
}

/** Whether the text would make one person of all for whom it is sent. */
function isNobodys(person: FoundPerson, kind: Identifier, text: string): boolean {
  const isPlaceholder = kind === 'external_id' ? isPlaceholderId(text) : isPlaceholderHash(text);
  person.hasPlaceholder ||= isPlaceholder;
  if (kind === 'first_name' || kind === 'last_name') return isPlaceholder || isUnstated(text);
  return isPlaceholder || (kind === 'external_id' && isCookielessId(text));
}

/** The same of a phone number, which waits to be read. Of too many the last of the lowest rank gives way. */
export function feedPhone(person: FoundPerson, text: string, rank: number, isSure: boolean): boolean {
  if (isNobodys(person, 'phone', text)) return false;
  const { phones } = person;
  if (phones.length >= FURTHER_MAX) {
    const lowest = Math.min(...phones.map((phone) => phone.rank));
    if (rank <= lowest) return true;
    phones.splice(
      phones.findLastIndex((phone) => phone.rank === lowest),
      1,
    );
  }
  phones.push({ text, rank, isSure });
  return true;
}

function take(person: FoundPerson, kind: Identifier, text: string, rank: number, countries: Countries): boolean {
  const known = person.identifiers;
  const isTaken = known !== null && known[kind] !== null;
  const leads = !isTaken || rank > (person.ranks[kind] ?? 0);
  const isOneOfMany = kind === 'email' || kind === 'phone';
  if (!leads && (!isOneOfMany || person.further.length >= FURTHER_MAX)) return true;
  const read = noIdentifiers();
  if (!putIdentifier(read, kind, text, countries)) return false;
  if (isTaken && known[kind] === read[kind]) completeIdentifier(read, kind, known);
  else if (isTaken && isOneOfMany) keepFurther(person, kind, leads ? known : read, leads ? read : known);
  if (!leads && known[kind] !== read[kind]) return true;
  person.identifiers = known ?? noIdentifiers();
  if (leads) person.ranks[kind] = rank;
  copyIdentifier(person.identifiers, kind, read);
  Object.assign(person.others, otherForm(kind, text));
  return true;
}

/** The one that does not lead is kept beside, once; the one that leads is there no more. */
function keepFurther(person: FoundPerson, kind: Identifier, beside: Identifiers, leading: Identifiers): void {
  const kept = person.further.filter((one) => one[kind] !== leading[kind]);
  if (kept.length < FURTHER_MAX && !kept.some((one) => one[kind] === beside[kind])) kept.push(only(kind, beside));
  person.further = kept;
}

function only(kind: Identifier, of: Identifiers): Identifiers {
  const one = noIdentifiers();
  copyIdentifier(one, kind, of);
  return one;
}

/** Reads the numbers that waited, by the event's own country before the site's. */
export function settlePerson(person: FoundPerson, country: string | null, siteCountry: string | null): void {
  if (person.phones.length > 0) {
    const countries = { own: countryCode(country), sites: siteCountry };
    for (const { text, rank, isSure } of person.phones) {
      take(person, 'phone', text, rank, { ...countries, validOnly: !isSure });
    }
    person.phones = [];
  }
  setRecipientAside(person);
  if (Object.values(person.others).some((hashed) => hashed !== null)) person.further.push(person.others);
}

/** Of the identifiers those that only say whom the goods go to. */
export function recipientsKinds({ ranks }: Pick<FoundPerson, 'ranks'>) {
  const kinds = ['email', 'phone', 'first_name', 'last_name'] as const;
  return kinds.filter((kind) => ranks[kind] === RANKS.recipient);
}

/**
 * Whom the goods go to may be somebody else. Where the person's own address or number is known, theirs only help to match,
 * and their name says nothing.
 */
function setRecipientAside(person: FoundPerson): void {
  const { identifiers, ranks, others } = person;
  const isOwn = (kind: 'email' | 'phone'): boolean => (ranks[kind] ?? RANKS.recipient) > RANKS.recipient;
  if (identifiers === null || (!isOwn('email') && !isOwn('phone'))) return;
  for (const kind of recipientsKinds(person)) {
    const isName = kind === 'first_name' || kind === 'last_name';
    if (isName) copyIdentifier(others, kind, noIdentifiers());
    else if (person.further.length < FURTHER_MAX) person.further.push(only(kind, identifiers));
    copyIdentifier(identifiers, kind, noIdentifiers());
  }
}
