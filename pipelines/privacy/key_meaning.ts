// What a property's name says of its value, and whether the value is personal.

import { asSha256 } from './hash_identifiers.ts';
import * as words from './key_words.ts';
import {
  comparableForm,
  type Feed,
  FIELD_WORDS,
  heldSecret,
  holdsSecret,
  isSecretOf,
  type KeyMeaning,
  type Names,
  type Opens,
  type RedactionRule,
  SECRET_ENDINGS,
  SECRET_WORDS,
  type SecretRemoval,
  WORDS,
} from './key_words.ts';
import {
  detached,
  HOLDS_NUMBER,
  HOLDS_SECRET,
  HOLDS_WRAPPED,
  percentDecoded,
  plainText,
  scanText,
  spend,
  type WorkBudget,
} from './normalise_text.ts';

/** What it costs to judge a name, with its characters. */
const STEPS = 4;
const CHARACTERS_PER_STEP = 8;
const KEYS_CACHED_MAX = 4096;
const KEY_CHARACTERS_CACHED_MAX = 64;
const SEGMENT_ENDS = /[.[\]]+/;
const INDEX = /^\d*$/;
const SUSPICIOUS = /[@%+="&\\:]|wa\.me/i;
const DIGIT = /\p{Nd}/gu;
const DIGITS_CACHED_MAX = 4;

/** A word of a key: up to a separator, a digit or a capital. */
const WORD = /\p{Lu}?[\p{Ll}\p{M}]+|[\p{Lu}\p{M}]+(?!\p{Ll})|[\p{Lo}\p{M}]+/gu;
const PHONE_PARTS: ReadonlySet<string> = new Set(
  [words.PHONE_WORDS, words.FOREIGN_PHONE_WORDS, words.PHONE_STEMS, words.MAYBE_PHONE_WORDS].flatMap((list) =>
    list.split(' ').map(comparableForm),
  ),
);
const OTHER_PARTS: ReadonlySet<string> = new Set(words.NO_PHONE_PARTS.split(' '));

const PLAIN: KeyMeaning = meaning('never', null);
/** Of a name that there was no budget left for. */
const UNJUDGED: KeyMeaning = { ...meaning('always', null), suspicious: true };
const KNOWN = knownWords();
const SECRETS: ReadonlyMap<string, SecretRemoval> = new Map(
  SECRET_WORDS.flatMap(([removal, list]) =>
    list.split(' ').map((word): [string, SecretRemoval] => [comparableForm(word), removal]),
  ),
);
const cache = new Map<string, KeyMeaning>();

/**
 * What a property's or a query parameter's name says about its value, whatever its case and separators. Of one that there is no
 * budget left for, that value and name are to go.
 */
export function keyMeaning(key: string, budget?: WorkBudget): KeyMeaning {
  const known = cache.get(key) ?? budget?.names?.get(key);
  if (known !== undefined) return known;
  if (budget !== undefined && !spend(budget, STEPS + Math.ceil(key.length / CHARACTERS_PER_STEP))) return UNJUDGED;
  const found = classify(key);
  if (mayKeep(key, found)) {
    if (cache.size >= KEYS_CACHED_MAX) cache.clear();
    cache.set(detached(key), found);
  } else if (budget !== undefined) {
    budget.names ??= new Map();
    budget.names.set(key, found);
  }
  return found;
}

/** What a name says where that is known already, of one that is held in memory; else undefined. */
export const knownMeaning = (key: string): KeyMeaning | undefined => cache.get(key);

/** A key that may be an e-mail address or a phone number itself is not held in memory. */
function mayKeep(key: string, found: KeyMeaning): boolean {
  if (key.length > KEY_CHARACTERS_CACHED_MAX || found.suspicious) return false;
  return (key.match(DIGIT)?.length ?? 0) <= DIGITS_CACHED_MAX;
}

function classify(key: string): KeyMeaning {
  const bits = scanText(key);
  const plain = plainText(key, bits);
  const segments = (plain.includes('%') ? percentDecoded(plain) : plain)
    .split(SEGMENT_ENDS)
    .filter((segment) => !INDEX.test(segment));
  const named = namedWithin(segmentsMeaning(segments), segments.at(-1) ?? '');
  const isCookie = named.removal === 'never' && segments.some((segment) => words.COOKIE_KEY.test(segment));
  const found = isCookie ? meaning('if_anonymous', null) : named;
  const feeds = segments.slice(0, -1).every(leadsToPerson) ? found.feeds : null;
  const { secret, isPlural } = secretBy(segments);
  const names = secret === null ? namedBy(segments.at(-1) ?? '', found) : null;
  const isLookedAt = (scanText(plain) & (HOLDS_NUMBER | HOLDS_WRAPPED | HOLDS_SECRET)) !== 0;
  const suspicious = isLookedAt || SUSPICIOUS.test(plain) || !key.isWellFormed();
  const rank = feeds === null ? found.rank : rankOf(key, comparableForm(segments.at(-1) ?? ''));
  const isAsFound = feeds === found.feeds && rank === found.rank && names === null && secret === null && !suspicious;
  return isAsFound ? found : { ...found, feeds, rank, suspicious, names, secret, isPlural };
}

function rankOf(key: string, word: string): number {
  if (words.CONTRACT_KEYS.has(key)) return words.RANKS.contract;
  if (words.RECIPIENTS_KEY.test(word)) return words.RANKS.recipient;
  return words.CONTACTS_KEY.test(word) ? words.RANKS.contact : words.RANKS.alias;
}

type NamedSecret = Pick<KeyMeaning, 'secret' | 'isPlural'>;

const NO_SECRET: NamedSecret = { secret: null, isPlural: false };

/** By the last word; of `password.value` and `form[api][key]` by the last two. */
function secretBy(segments: readonly string[]): NamedSecret {
  const last = comparableForm(segments.at(-1) ?? '');
  const named = secretNamed(last);
  if (named.secret !== null || segments.length < 2) return named;
  const before = comparableForm(segments.at(-2) ?? '');
  const outer = secretNamed(before);
  if (outer.secret !== null && holdsSecret(outer.secret, last)) return { ...outer, secret: heldSecret(outer.secret) };
  return secretNamed(before + last);
}

/** By the name, by what it is without the words for a value or a form's field, or as the plural of one. */
function secretNamed(word: string): NamedSecret {
  const bare = word.replace(words.FORM_PREFIX, '').replace(words.FORM_SUFFIX, '');
  const secret = SECRETS.get(word) ?? secretWord(bare);
  if (secret !== null) return { secret, isPlural: false };
  if (words.SECRET_VALUE.test(bare)) return secretInField(bare.replace(words.SECRET_VALUE, ''), 'secret');
  if (words.SECRET_FIELD.test(bare)) return secretInField(bare.replace(words.SECRET_FIELD, ''), 'secret_field');
  if (!bare.endsWith('s')) return NO_SECRET;
  const one = bare.replace(words.PLURAL, '');
  const many = one.length >= PLURAL_CHARACTERS_MIN ? secretWord(one) : secretEnding(one);
  return many === null ? NO_SECRET : { secret: heldSecret(many), isPlural: true };
}

/** `pins`, `tans` and `sins` are rather something else. */
const PLURAL_CHARACTERS_MIN = 4;

const secretWord = (word: string): SecretRemoval | null => SECRETS.get(word) ?? secretEnding(word);

const secretEnding = (word: string): SecretRemoval | null =>
  SECRET_ENDINGS.find(([, ending]) => ending.test(word))?.[0] ?? null;

/** The value of a card may be what it is worth. */
function secretInField(word: string, ofPassword: SecretRemoval): NamedSecret {
  const secret = secretWord(word);
  if (secret === null || secret === 'secret_number') return NO_SECRET;
  return { secret: secret === 'secret' ? ofPassword : heldSecret(secret), isPlural: false };
}

/** An id that says who somebody is stays one: only what else is known of the key rules it out. */
function namedBy(segment: string, { removal, opens }: KeyMeaning): Names | null {
  if (opens !== 'plain' || removal === 'always') return null;
  const word = comparableForm(segment);
  if (words.ARTICLE_KEY.test(word)) return 'article';
  return words.ID_KEY.test(word) ? 'id' : null;
}

/** By the last word; of `phone.value` and `fields[tel][number]` by the last two. */
function segmentsMeaning(segments: readonly string[]): KeyMeaning {
  const last = comparableForm(segments.at(-1) ?? '');
  const found = wordMeaning(last);
  if (segments.length < 2 || found.removal !== 'never') return found;
  return phoneMeaning(comparableForm(segments.at(-2) ?? '') + last) ?? found;
}

/** By one of the words that a key is made of, where the whole says nothing: `cust_mobile`, `Phone (optional)`. */
function namedWithin(found: KeyMeaning, segment: string): KeyMeaning {
  if (found.removal !== 'never' || found.opens !== 'plain' || found.answers) return found;
  const parts = (segment.match(WORD) ?? []).map(comparableForm);
  if (!parts.some((part) => PHONE_PARTS.has(part)) || parts.some((part) => OTHER_PARTS.has(part))) return found;
  return meaning('if_bare_phone', null);
}

function wordMeaning(comparable: string): KeyMeaning {
  const bare = comparable.replace(words.FORM_PREFIX, '').replace(words.FORM_SUFFIX, '');
  for (const word of [comparable, bare, bare.replace(words.PLURAL, '')]) {
    const known = KNOWN.get(word);
    if (known !== undefined) return known;
  }
  const counted = KNOWN.get(bare.replace(words.COUNTED, ''));
  const isCounted = counted !== undefined && (counted.opens === 'phone' || counted.feeds === 'email');
  return isCounted ? counted : (phoneMeaning(bare) ?? endingMeaning(bare));
}

function phoneMeaning(word: string): KeyMeaning | null {
  const isSure = words.ONE_OF_PHONES.test(word) || words.PHONE_AND_NUMBER.test(word);
  if (isSure) return meaning('always', null, 'phone');
  return words.ONE_OF_MAYBE_PHONES.test(word) ? meaning('if_phone', null, 'phone') : null;
}

function endingMeaning(word: string): KeyMeaning {
  if (words.EMAIL_ENDING.test(word) || words.NAME_ENDING.test(word)) return meaning('always', null);
  if (words.STREET_ENDING.test(word)) return meaning('always', null, 'person');
  if (words.PHONE_ENDING.test(word)) return meaning('if_phone', null, 'phone');
  const isVisitors = words.VISITOR_ENDING.test(word) || words.CUSTOMER_ENDING.test(word);
  return isVisitors ? meaning('if_anonymous', null) : PLAIN;
}

function leadsToPerson(segment: string): boolean {
  const word = comparableForm(segment);
  const opens = KNOWN.get(word)?.opens;
  return opens === 'feeding' || opens === 'context' || word === 'address' || word === 'ep';
}

function meaning(
  removal: RedactionRule,
  feeds: Feed | null,
  opens: Opens = 'plain',
  feedsInPersonOnly = false,
): KeyMeaning {
  const others = {
    rank: words.RANKS.alias,
    suspicious: false,
    names: null,
    secret: null,
    isPlural: false,
    answers: false,
  };
  return { removal, feeds, feedsInPersonOnly, opens, ...others };
}

function knownWords(): Map<string, KeyMeaning> {
  const known = new Map<string, KeyMeaning>();
  const add = (list: string, found: KeyMeaning) => {
    for (const word of list.split(' ')) known.set(comparableForm(word), found);
  };
  add(words.EMAIL_WORDS, meaning('always', 'email'));
  add(words.PHONE_WORDS, meaning('always', 'phone', 'phone'));
  add(words.FOREIGN_PHONE_WORDS, meaning('always', 'phone', 'phone'));
  add(words.MAYBE_PHONE_WORDS, meaning('if_phone', 'maybe_phone', 'phone'));
  add(words.PHONE_STEMS, meaning('if_phone', 'maybe_phone', 'phone'));
  add(words.CALLER_WORDS, meaning('if_phone', null, 'phone'));
  add(words.CALL_WORDS, meaning('if_bare_phone', null));
  add(words.FIRST_NAME_WORDS, meaning('always', 'first_name'));
  add(words.LAST_NAME_WORDS, meaning('always', 'last_name'));
  add(words.OTHER_NAME_WORDS, meaning('always', null));
  add(words.PERSON_NAME_WORDS, meaning('in_person', null));
  add(words.STREET_WORDS, meaning('always', null, 'person'));
  add(words.EXTERNAL_ID_WORDS, meaning('if_anonymous', 'external_id'));
  add(words.IP_WORDS, meaning('always', 'client_ip'));
  add(words.USER_AGENT_WORDS, meaning('always', 'client_user_agent'));
  add(words.VISITOR_WORDS, meaning('if_anonymous', null));
  add(words.CITY_WORDS, meaning('as_place', 'city'));
  add(words.STATE_WORDS, meaning('as_place', 'state'));
  add(words.ZIP_WORDS, meaning('as_place', 'zip'));
  add(words.COUNTRY_WORDS, meaning('as_place', 'country'));
  add(words.PERSON_CITY_WORDS, meaning('as_place', 'city', 'plain', true));
  add(words.PERSON_STATE_WORDS, meaning('as_place', 'state', 'plain', true));
  add(words.PERSON_ZIP_WORDS, meaning('as_place', 'zip', 'plain', true));
  add(words.PERSON_COUNTRY_WORDS, meaning('as_place', 'country', 'plain', true));
  add(words.TRACEABLE_WORDS, meaning('if_offline', null));
  add(words.PERSON_ID_WORDS, meaning('id_if_offline', null));
  add(words.FEEDING_CONTAINER_WORDS, meaning('if_offline', null, 'feeding'));
  add(words.PERSON_CONTAINER_WORDS, meaning('if_offline', null, 'person'));
  add(words.CONTEXT_CONTAINER_WORDS, meaning('never', null, 'context'));
  add(words.ANSWER_WORDS, { ...meaning('never', null), answers: true });
  return known;
}

const FIELDS: ReadonlySet<string> = new Set(FIELD_WORDS.split(' '));
const FIELD_CHARACTERS_MAX = 64;
const MONEY = /currency|price|amount|revenue|total|quantity|cost|discount|tax|sku|item|product/i;
/** What says of products as often what they are: `{ type: 'phone', value: 12990000 }`. */
const KIND = /type|kind|label|title/i;

/**
 * Whether a form's answer is a phone number or a person's name by what another member of the record says the field is:
 * `{ name: 'phone', value: '4155550100' }`. What people write comes as text: a
 * JSON number is rather a revenue or a price, unless the field's name leaves no doubt.
 */
export function isAnswerPersonal(
  record: Readonly<Record<string, unknown>>,
  answer: unknown,
  budget: WorkBudget,
): boolean {
  if (typeof answer === 'number') return looksLikePhone(answer) && isFormRecord(record, budget);
  if (typeof answer !== 'string' && !Array.isArray(answer)) return false;
  for (const key of FIELDS) if (Object.hasOwn(record, key) && isPersonal(record[key], answer, budget)) return true;
  return false;
}

/** Whether a record names a field that can only be a phone number's, and no money. */
function isFormRecord(record: Readonly<Record<string, unknown>>, budget: WorkBudget): boolean {
  const known = formRecords.get(record);
  if (known !== undefined) return known;
  const isForm = namesPhoneField(record, budget);
  formRecords.set(record, isForm);
  return isForm;
}

/** Asked of each number of a record that may be an answer, and the same for all of them. */
const formRecords = new WeakMap<object, boolean>();

function namesPhoneField(record: Readonly<Record<string, unknown>>, budget: WorkBudget): boolean {
  const keys = Object.keys(record);
  if (keys.some((key) => MONEY.test(key))) return false;
  return keys.some((key) => FIELDS.has(key) && !KIND.test(key) && isSurelyPhone(record[key], budget));
}

function isSurelyPhone(field: unknown, budget: WorkBudget): boolean {
  if (typeof field !== 'string' || field.length > FIELD_CHARACTERS_MAX) return false;
  const meaning = keyMeaning(field, budget);
  if (meaning === UNJUDGED) return true;
  const { removal, opens } = meaning;
  return removal === 'always' && opens === 'phone';
}

/**
 * Whether a pair says so of its second member: `['phone', '4155550100']`. What is only words is a secret only in a list of
 * pairs.
 */
export function isPairPersonal(values: readonly unknown[], isOfPairs: boolean, budget: WorkBudget): boolean {
  if (!isPair(values)) return false;
  const [field, answer] = values;
  if (field.length > FIELD_CHARACTERS_MAX) return false;
  const meaning = keyMeaning(field, budget);
  if (meaning === UNJUDGED) return true;
  if (meaning.secret !== null)
    return isSecretOf(meaning, answer) && (isOfPairs || typeof answer !== 'string' || !WORDS.test(answer));
  return (
    looksLikePhone(answer) &&
    (typeof answer === 'number' ? isSurelyPhone(field, budget) : isPersonal(field, answer, budget))
  );
}

/** Whether a list holds pairs of names and values alone, as the entries of a form are listed. */
export function arePairs(values: readonly unknown[]): boolean {
  return values.every((value) => Array.isArray(value) && isPair(value));
}

function isPair(values: readonly unknown[]): values is [string, unknown] {
  return values.length === 2 && typeof values[0] === 'string';
}

function isPersonal(field: unknown, answer: unknown, budget: WorkBudget): boolean {
  if (typeof field !== 'string' || field.length > FIELD_CHARACTERS_MAX) return false;
  const meaning = keyMeaning(field, budget);
  if (meaning === UNJUDGED) return true;
  const { removal, feeds, opens } = meaning;
  if (meaning.secret !== null) return isSecretOf(meaning, answer);
  if (feeds === 'first_name' || feeds === 'last_name') return removal === 'always' && typeof answer === 'string';
  if (removal === 'if_bare_phone') return isBarePhone(answer);
  if (opens !== 'phone') return false;
  return isPhoneInParts(answer) || (Array.isArray(answer) ? answer.some(looksLikePhone) : looksLikePhone(answer));
}

/** Whether the value that a text gives under a name is an identifier or a secret, for an anonymous site also of a visitor. */
export function isRedacted(meaning: KeyMeaning, value: string, anonymous: boolean): boolean {
  if (value === '') return false;
  if (isSecretOf(meaning, value)) return true;
  const { removal } = meaning;
  if (removal === 'if_bare_phone') return isBarePhone(value);
  if (removal === 'if_phone') return looksLikePhone(value);
  return removal === 'always' || (anonymous && (removal === 'if_anonymous' || removal === 'if_offline'));
}

const DIGITS_MIN = 7;

const BARE = /^[\p{Nd}\s()+.\-/\u2010-\u2015]{7,30}$/u;
const BARE_DIGITS_MAX = 15;
const BARE_NUMBER_MIN = 10 ** 8;
const DATE = /^(?:19|20)\d{2}[-./]?(?:0[1-9]|1[0-2])[-./]?(?:0[1-9]|[12]\d|3[01])$/;

/** Whether a value is nothing but what may be a phone number: no address, no date, no small count. */
export function isBarePhone(value: unknown): boolean {
  if (typeof value === 'number') return Number.isInteger(value) && value >= BARE_NUMBER_MIN && looksLikePhone(value);
  if (typeof value !== 'string' || !looksLikePhone(value)) return false;
  if (asSha256(value) !== null) return true;
  return BARE.test(value) && !DATE.test(value.trim()) && (value.match(DIGIT)?.length ?? 0) <= BARE_DIGITS_MAX;
}

/** Whether a value under a key that may mean a phone is one: seven digits or more, or a hash. */
export function looksLikePhone(value: unknown): boolean {
  if (typeof value === 'number') return Math.abs(value) >= 10 ** (DIGITS_MIN - 1);
  if (typeof value !== 'string' || value.length < DIGITS_MIN) return false;
  return asSha256(value) !== null || (value.match(DIGIT)?.length ?? 0) >= DIGITS_MIN;
}

const PARTS_MIN = 2;
const PARTS_MAX = 6;
const PART = /^\+?[0-9]{1,8}$/;

const PART_NAME = /area|prefix|exchange|line|number|part|code|suffix/i;

/** Whether a list, or a record of texts, is one phone number in parts: `['415', '555', '0142']`. */
export function isPhoneInParts(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (!Array.isArray(value) && !Object.keys(value).some((key) => PART_NAME.test(key))) return false;
  const parts: unknown[] = Object.values(value);
  if (parts.length < PARTS_MIN || parts.length > PARTS_MAX) return false;
  const isPart = (part: unknown): boolean =>
    typeof part === 'string'
      ? PART.test(part)
      : Array.isArray(value) && Number.isInteger(part) && (part as number) >= 0;
  return parts.every(isPart) && looksLikePhone(parts.join('')) && parts.join('').length <= BARE_DIGITS_MAX;
}
