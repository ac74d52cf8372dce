// What an event's properties say of its person, gathered while they are cleaned.
import type { Identifiers } from '#schemas/event.ts';
import { countryCode } from './countries.ts';
import {
  asSha256,
  completeIdentifier,
  copyIdentifier,
  type Identifier,
  noIdentifiers,
  otherForm,
  phoneHashes,
  putIdentifier,
  readPhone,
} from './hash_identifiers.ts';
import { isReachableAddress, writtenAddress } from './ip_addresses.ts';
import { type Feed, RANKS } from './key_words.ts';
import { detached, normalised, REDACTED, type WorkBudget } from './normalise_text.ts';
import {
  isCookielessId,
  isMissingId,
  isPlaceholderAddress,
  isPlaceholderContactHash,
  isPlaceholderHash,
  isPlaceholderId,
  numberId,
} from './placeholder_ids.ts';
import { redactText } from './redact_text.ts';

const PLACE_CHARACTERS_MAX = 100;
/** No postcode has more; and some words for one mean a phone in another language. */
const ZIP_DIGITS_MAX = 9;
/** Nor has the name of a place: a postcode beside it, and fewer than a phone number. */
const PLACE_DIGITS_MAX = 6;
const LETTER = /\p{L}/u;
const DIGIT = /\p{Nd}/gu;

/** What the properties said about the event's person and device. */
export interface Found extends CollectedPerson {
  client_ip: string | null;
  client_user_agent: string | null;
  city: string | null;
  state: string | null;
  zip: string | null;
  country: string | null;
}

export function emptyCollection(): Found {
  return {
    identifiers: null,
    further: [],
    ranks: {},
    others: noIdentifiers(),
    phones: [],
    hasPlaceholder: false,
    client_ip: null,
    client_user_agent: null,
    city: null,
    state: null,
    zip: null,
    country: null,
  };
}

export const MEMBERS_MAX = 16;

/** How the texts of a record are searched for phone numbers: as those of all properties. */
interface Search {
  countries: readonly string[];
  budget?: WorkBudget;
}

/**
 * Takes what a person's record holds under a key; whether it was taken. Of a list of addresses or numbers all are taken,
 * of any other its first readable member. What is set already stays, unless that had a lower rank.
 */
export function feed(found: Found, kind: Feed, value: unknown, rank: number, search: Search): boolean {
  if (Array.isArray(value)) {
    const members = value.slice(0, MEMBERS_MAX).filter(isScalar);
    if (kind === 'client_ip') return feedAddress(found, members.join(), rank);
    return feedMembers(found, kind, members, rank, search);
  }
  if (!isScalar(value)) return false;
  const text = typeof value === 'number' ? numberId(value) : value;
  switch (kind) {
    case 'phone':
    case 'maybe_phone':
      return feedPhone(found, text, rank, kind === 'phone');
    case 'email':
    case 'first_name':
    case 'last_name':
    case 'external_id':
      return feedPerson(found, kind, text, rank);
    case 'client_ip':
      return feedAddress(found, text, rank);
    case 'client_user_agent':
    case 'city':
    case 'state':
    case 'zip':
    case 'country':
      if (found[kind] !== null && rank <= (found.ranks[kind] ?? 0)) return true;
      return put(found, kind, read(kind, text, search), rank);
  }
}

function feedMembers(found: Found, kind: Feed, members: (string | number)[], rank: number, search: Search): boolean {
  const first = members.findIndex((member) => feed(found, kind, member, rank, search));
  if (first < 0 || (kind !== 'email' && kind !== 'phone' && kind !== 'maybe_phone')) return first >= 0;
  for (const member of members.slice(first + 1)) feed(found, kind, member, rank, search);
  return true;
}

/** One that can be a visitor's goes before one of somebody's own network, wherever they stand. */
function feedAddress(found: Found, text: string, rank: number): boolean {
  const address = readAddress(text);
  if (address === null) return false;
  const isReachable = isReachableAddress(address);
  const wasReachable = found.client_ip !== null && isReachableAddress(found.client_ip);
  const isHigher = rank > (found.ranks.client_ip ?? 0);
  if (found.client_ip !== null && !(isReachable === wasReachable ? isHigher : isReachable)) return true;
  return put(found, 'client_ip', address, rank);
}

/** An address, or of those that proxies list (`client, proxy, proxy`) the first that can be a visitor's. */
function readAddress(text: string): string | null {
  const addresses = text.split(',', MEMBERS_MAX).flatMap((part) => writtenAddress(part) ?? []);
  return addresses.find(isReachableAddress) ?? addresses[0] ?? null;
}

type Column = Exclude<keyof Found, keyof CollectedPerson>;

function put(found: Found, kind: Column, value: string | null, rank: number): boolean {
  if (value === null) return false;
  found[kind] = value;
  found.ranks[kind] = rank;
  return true;
}

function read(kind: Exclude<Column, 'client_ip'>, text: string, { countries, budget }: Search): string | null {
  if (isMissingId(text)) return null;
  if (kind === 'client_user_agent') return cleanUserAgent(text, budget);
  const given = asSha256(text.trim());
  if (given !== null) return given;
  const place = redactText(normalised(text.trim(), 'NFC'), false, kind === 'zip' ? [] : countries, budget);
  if ((place.match(DIGIT)?.length ?? 0) > (kind === 'zip' ? ZIP_DIGITS_MAX : PLACE_DIGITS_MAX)) return REDACTED;
  if (place === '' || place.length > PLACE_CHARACTERS_MAX) return null;
  // `country_code: '49'` is what is dialled.
  if (kind === 'country' && !LETTER.test(place)) return null;
  return kind === 'country' && place.length === 2 ? place.toUpperCase() : place;
}

function isScalar(value: unknown): value is string | number {
  return typeof value === 'string' || (typeof value === 'number' && Number.isFinite(value));
}

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
interface CollectedPerson {
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

/** Takes an identifier, before what is there if that has a lower rank; whether it could be read. */
function feedPerson(person: CollectedPerson, kind: Exclude<Identifier, 'phone'>, text: string, rank: number): boolean {
  if (isNobodys(person, kind, text)) return false;
  return take(person, kind, text, rank);
}

/** Whether the text would make one person of all for whom it is sent. */
function isNobodys(person: CollectedPerson, kind: Identifier, text: string): boolean {
  const isPlaceholder =
    kind === 'external_id' ? isPlaceholderId(text) : isPlaceholderHash(text) || isNobodysContact(kind, text.trim());
  person.hasPlaceholder ||= isPlaceholder;
  if (kind === 'first_name' || kind === 'last_name') return isPlaceholder || isMissingId(text);
  return isPlaceholder || (kind === 'external_id' && isCookielessId(text));
}

function isNobodysContact(kind: Identifier, text: string): boolean {
  if (kind === 'email' && isPlaceholderAddress(text.toLowerCase())) return true;
  return (kind === 'email' || kind === 'phone') && isPlaceholderContactHash(text);
}

/** The same of a phone number, which waits to be read. Of too many the last of the lowest rank gives way. */
function feedPhone(person: CollectedPerson, text: string, rank: number, isSure: boolean): boolean {
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

function take(person: CollectedPerson, kind: Identifier, text: string, rank: number): boolean {
  const known = person.identifiers;
  const isTaken = known !== null && known[kind] !== null;
  const leads = !isTaken || rank > (person.ranks[kind] ?? 0);
  const isOneOfMany = kind === 'email' || kind === 'phone';
  if (!leads && (!isOneOfMany || person.further.length >= FURTHER_MAX)) return true;
  const read = noIdentifiers();
  if (!putIdentifier(read, kind, text)) return false;
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
function keepFurther(person: CollectedPerson, kind: Identifier, beside: Identifiers, leading: Identifiers): void {
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
export function resolvePerson(person: CollectedPerson, country: string | null, siteCountry: string | null): void {
  if (person.phones.length > 0) {
    const own = countryCode(country);
    for (const { text, rank, isSure } of person.phones) {
      const given = asSha256(text.trim());
      const read = given === null ? readPhone(text, own, siteCountry, !isSure) : { number: given, isOfOne: true };
      if (read?.isOfOne === true) take(person, 'phone', read.number, rank);
      else if (read !== null) setNumberAside(person, read.number);
    }
    person.phones = [];
  }
  setRecipientAside(person);
  if (Object.values(person.others).some((hashed) => hashed !== null)) person.further.push(person.others);
}

/** A number that may be many people's, or nobody's, only helps to match. */
function setNumberAside(person: CollectedPerson, number: string): void {
  person.hasPlaceholder = true;
  const beside = { ...noIdentifiers(), ...phoneHashes(number) };
  const isNew = person.further.every(({ phone }) => phone !== beside.phone);
  if (isNew && person.further.length < FURTHER_MAX) person.further.push(beside);
}

/** Of the identifiers those that only say whom the goods go to. */
export function recipientsKinds({ ranks }: Pick<CollectedPerson, 'ranks'>) {
  const kinds = ['email', 'phone', 'first_name', 'last_name'] as const;
  return kinds.filter((kind) => ranks[kind] === RANKS.recipient);
}

/**
 * Whom the goods go to may be somebody else. Where the person's own address or number is known, theirs only help to match,
 * and their name says nothing.
 */
function setRecipientAside(person: CollectedPerson): void {
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

const CHARACTERS_MAX = 1024;
/** So that nothing is cut to what it cannot be told by any more. */
const CHARACTERS_READ_MAX = 2 * CHARACTERS_MAX;
const CONTROL_CHARACTERS = /\p{Cc}/gu;
const CLEAN_MAX = 2048;
/** User agents that need no cleaning: few are seen over and over, and none of these holds personal text. */
const alreadyClean = new Set<string>();

/** A user agent as it may be stored: at most 1024 characters, none of them a control, no personal text; null if empty. */
export function cleanUserAgent(text: string, budget?: WorkBudget): string | null {
  if (alreadyClean.has(text)) return text;
  const plain = text.slice(0, CHARACTERS_READ_MAX).replace(CONTROL_CHARACTERS, '').trim();
  const clean = redactText(plain, false, [], budget).slice(0, CHARACTERS_MAX);
  if (clean === '') return null;
  if (clean === text) {
    if (alreadyClean.size >= CLEAN_MAX) alreadyClean.clear();
    alreadyClean.add(detached(text));
  }
  return clean;
}
