import { emptyCollection, type Found, feed, MEMBERS_MAX, resolvePerson } from './collect_identifiers.ts';
import {
  arePairs,
  isAnswerPersonal,
  isBarePhone,
  isPairPersonal,
  isPhoneInParts,
  keyMeaning,
  looksLikePhone,
} from './key_meaning.ts';
import {
  type Feed,
  heldSecret,
  holdsSecret,
  isSecret,
  isSecretOf,
  type KeyMeaning,
  type Names,
  type Opens,
  RANKS,
  type SecretRemoval,
} from './key_words.ts';
import { createWorkBudget, REDACTED, spend, type WorkBudget } from './normalise_text.ts';
import { isCardNumber } from './redact_secrets.ts';
import { redactText, type Stands } from './redact_text.ts';

const DEPTH_MAX = 16;
const VALUES_MAX = 5000;
const KEY_CHARACTERS_MAX = 200;
/** JSON in texts of JSON: as many rounds of backslashes as are looked through where a text is searched as it stands. */
const JSON_TEXTS_MAX = 3;

type PropertiesProblem = 'properties_too_deep' | 'properties_too_many' | 'property_name_too_long';
export type PropertiesOutcome =
  | { ok: true; properties: JsonObject; found: Found }
  | { ok: false; problem: PropertiesProblem };
export type JsonObject = Record<string, unknown>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export interface Cleaning {
  /** Remove also what identifies a visitor, and collect nothing. */
  anonymous: boolean;
  /** Country by which national phone numbers are read where the event's own does not say it. */
  defaultCountry: string | null;
  /** Countries by whose numbering plans phone numbers are found in texts. */
  countries: readonly string[];
  /** What is left to the event; absent, that of one. */
  budget?: WorkBudget;
  /** Top-level keys that went into columns of their own. */
  lifted: ReadonlySet<string>;
}

interface Walk extends Cleaning {
  found: Found;
  budget: WorkBudget;
  /** In how many texts that are JSON the walk is. */
  texts: number;
  valuesLeft: number;
  problem: PropertiesProblem | null;
  /** How many keys had to be told apart again. */
  renamed: number;
}

/**
 * The properties without anything that says raw who the person is, at every depth, and what they said about the
 * event's own person. Identifiers are recognised by key and by value; the input is left as it was, and parts without
 * any are shared with it.
 */
export function cleanProperties(properties: JsonObject, cleaning: Cleaning): PropertiesOutcome {
  const walk: Walk = {
    ...cleaning,
    found: emptyCollection(),
    budget: cleaning.budget ?? createWorkBudget(),
    texts: 0,
    valuesLeft: VALUES_MAX,
    problem: null,
    renamed: 0,
  };
  const cleaned = cleanObject(properties, 'top', 1, walk);
  resolvePerson(walk.found, walk.found.country, walk.defaultCountry);
  return walk.problem === null
    ? { ok: true, properties: cleaned, found: walk.found }
    : { ok: false, problem: walk.problem };
}

/** What an object is of, or of a value that is none, what it stands under. */
type Role = Opens | 'top' | SecretRemoval | Names;

const REMOVED = Symbol('removed');

function cleanObject(object: JsonObject, role: Role, depth: number, walk: Walk): JsonObject {
  let copy: JsonObject | null = null;
  const keys = Object.keys(object);
  for (let at = 0; at < keys.length; at += 1) {
    const key = keys[at] ?? '';
    if (key.length > KEY_CHARACTERS_MAX) walk.problem = 'property_name_too_long';
    if (walk.problem !== null) return object;
    const value = object[key];
    const meaning = keyMeaning(key, walk.budget);
    const isAnswer = meaning.answers && isAnswerPersonal(object, value, walk.budget);
    const kept = isAnswer ? REMOVED : cleanMember(key, meaning, value, role, depth, walk);
    const name = meaning.suspicious ? cleanName(key, walk) : key;
    if (copy === null && (kept !== value || name !== key)) copy = copyFirst(object, keys, at);
    if (copy !== null && kept !== REMOVED) copy[name === key ? key : freeName(copy, name, walk)] = kept;
  }
  return copy ?? object;
}

/** A name that is read as a text costs as much as a value, and counts as one. */
function cleanName(key: string, walk: Walk): string {
  spendValue(walk);
  return clean(key, walk);
}

function spendValue(walk: Walk): void {
  walk.valuesLeft -= 1;
  walk.budget.walked.values += 1;
  if (walk.valuesLeft < 0) walk.problem = 'properties_too_many';
}

function cleanMember(key: string, meaning: KeyMeaning, value: unknown, role: Role, depth: number, walk: Walk): unknown {
  if (key === '__proto__') return REMOVED;
  if (role === 'top' && walk.lifted.has(key)) return REMOVED;
  if (meaning.secret !== null && (isSecretOf(meaning, value) || isObjectOf(meaning, value))) return REMOVED;
  if (isSecretRole(role) && isHeld(role, key) && isSecret(role, value)) return REMOVED;
  if (meaning.removal !== 'never' && isRemoved(meaning, value, role, walk)) return REMOVED;
  if (role === 'phone' && looksLikePhone(value)) return REMOVED;
  const kept = cleanValue(value, valueRole(meaning, role), depth, walk);
  return kept !== value && isEmptyObject(kept) ? REMOVED : kept;
}

/** What is within an object under a secret's name, but for one of passwords, is no secret by its own name alone. */
const SECRET_ROLES: ReadonlySet<Role> = new Set<SecretRemoval>([
  'secret_text',
  'secret_long',
  'secret_field',
  'secret_code',
  'secret_number',
]);

const isSecretRole = (role: Role): role is SecretRemoval => SECRET_ROLES.has(role);

/** Of several secrets each may stand under a name of its own: `apiKeys: { prod: … }`. */
const isHeld = (role: SecretRemoval, key: string): boolean =>
  role === 'secret_field' || holdsSecret(role, key.toLowerCase());

const isObjectOf = ({ secret, isPlural }: KeyMeaning, value: unknown): boolean =>
  secret === 'secret' && !isPlural && typeof value === 'object' && value !== null;

/** `inner` is the role of the value if it is an object, or of its members if it is a list. */
function cleanValue(value: unknown, inner: Role, depth: number, walk: Walk, isOfPairs = false): unknown {
  spendValue(walk);
  if (inner === 'phone' && looksLikePhone(value)) return REDACTED;
  if (typeof value === 'string') return cleanText(value, inner, depth, walk);
  if (typeof value === 'object' && value !== null) return cleanNested(value, inner, depth + 1, walk, isOfPairs);
  if (typeof value === 'number') return inner !== 'article' && inner !== 'id' && isCardNumber(value) ? REDACTED : value;
  return typeof value === 'bigint' || typeof value === 'symbol' ? null : value;
}

/**
 * A text that is itself JSON is cleaned as what it says, then the outermost once as it stands: what stands twice in JSON is
 * read once. Beyond so many of them in each other nothing is read, and nothing kept.
 */
function cleanText(text: string, inner: Role, depth: number, walk: Walk): string {
  const nested = jsonIn(text, walk.budget);
  if (nested === null) return clean(text, walk, inner === 'article' || inner === 'id' ? inner : 'text');
  if (nested === 'unread' || walk.texts >= JSON_TEXTS_MAX) return REDACTED;
  walk.texts += 1;
  const kept = cleanNested(nested, inner, depth + 1, walk);
  walk.texts -= 1;
  const said = kept === nested ? text : JSON.stringify(kept);
  return walk.texts === 0 ? clean(said, walk) : said;
}

function clean(text: string, { anonymous, countries, budget }: Walk, stands: Stands = 'text'): string {
  return redactText(text, anonymous, countries, budget, stands);
}

function cleanNested(value: object, role: Role, depth: number, walk: Walk, isOfPairs = false): unknown {
  if (depth > DEPTH_MAX) walk.problem = 'properties_too_deep';
  if (walk.problem !== null) return value;
  return Array.isArray(value)
    ? cleanArray(value, role, depth, walk, isOfPairs)
    : cleanObject(value as JsonObject, role === 'article' || role === 'id' ? 'plain' : role, depth, walk);
}

function cleanArray(
  values: readonly unknown[],
  role: Role,
  depth: number,
  walk: Walk,
  isOfPairs: boolean,
): readonly unknown[] {
  if (isPairPersonal(values, isOfPairs, walk.budget)) return [cleanValue(values[0], role, depth, walk), REDACTED];
  const holdsPairs = arePairs(values);
  let copy: unknown[] | null = null;
  for (let at = 0; at < values.length && walk.problem === null; at += 1) {
    const kept = cleanValue(values[at], role, depth, walk, holdsPairs);
    if (copy === null && kept !== values[at]) copy = values.slice(0, at);
    if (copy !== null) copy.push(kept);
  }
  return copy ?? values;
}

function isRemoved(meaning: KeyMeaning, value: unknown, role: Role, walk: Walk): boolean {
  if (value === null || typeof value === 'boolean') return false;
  const kind = feedOf(meaning, role, walk.anonymous);
  // What there is no budget left to read goes all the same.
  const isFed =
    kind !== null &&
    (!spend(walk.budget, stepsToFeed(kind, value)) || feed(walk.found, kind, value, rankAt(meaning, role), walk));
  switch (meaning.removal) {
    case 'never':
      return false;
    case 'always':
      return meaning.opens === 'plain' || meaning.opens === 'phone' || typeof value !== 'object';
    case 'if_phone':
      return isPhoneInParts(value) || (Array.isArray(value) ? value.some(looksLikePhone) : looksLikePhone(value));
    case 'if_bare_phone':
      return isPhoneInParts(value) || (Array.isArray(value) ? value.some(isBarePhone) : isBarePhone(value));
    case 'in_person':
      return role === 'person' || role === 'feeding';
    case 'if_anonymous':
      return walk.anonymous;
    case 'if_offline':
      return walk.anonymous && (meaning.opens === 'plain' || typeof value !== 'object');
    case 'id_if_offline':
      return walk.anonymous && (role === 'person' || role === 'feeding');
    case 'as_place':
      return (
        isFed ||
        (walk.anonymous &&
          role !== 'plain' &&
          !isSecretRole(role) &&
          (meaning.feeds === 'city' || meaning.feeds === 'zip'))
      );
  }
}

const AT_TOP = RANKS.contract - RANKS.alias + 1;

/** Whatever stands at the top goes before what stands in a container, but for what may be somebody else's. */
const rankAt = ({ rank }: KeyMeaning, role: Role): number =>
  role === 'top' && rank >= RANKS.alias ? rank + AT_TOP : rank;

/** A phone number is read by several plans; what else a person's record gives is hashed. */
const PHONE_STEPS = 60;
const FEED_STEPS = 10;

function stepsToFeed(kind: Feed, value: unknown): number {
  const each = kind === 'phone' || kind === 'maybe_phone' ? PHONE_STEPS : FEED_STEPS;
  return each * (Array.isArray(value) ? Math.min(value.length, MEMBERS_MAX) : 1);
}

/** In offline mode only what the anonymous id and coarse analysis need is collected, and nothing of it is an identifier. */
const ANONYMOUS_FEEDS: ReadonlySet<Feed> = new Set(['client_ip', 'client_user_agent', 'state', 'country']);
const DEVICE_FEEDS: ReadonlySet<Feed> = new Set(['client_ip', 'client_user_agent']);

function feedOf(meaning: KeyMeaning, role: Role, anonymous: boolean): Feed | null {
  const { feeds } = meaning;
  if (feeds === null || role === 'plain' || isSecretRole(role) || role === 'person' || role === 'phone') return null;
  if (meaning.feedsInPersonOnly && role !== 'feeding') return null;
  if (role === 'context' && !DEVICE_FEEDS.has(feeds)) return null;
  return anonymous && !ANONYMOUS_FEEDS.has(feeds) ? null : feeds;
}

function valueRole(meaning: KeyMeaning, role: Role): Role {
  const child = childRole(meaning, role);
  if (child !== 'plain') return child;
  const { secret, isPlural, names } = meaning;
  if (secret === null) return names ?? child;
  return isPlural && (secret === 'secret' || secret === 'secret_long') ? 'secret_field' : heldSecret(secret);
}

function childRole(meaning: KeyMeaning, role: Role): Role {
  switch (meaning.opens) {
    case 'plain':
      return role === 'phone' ? 'phone' : 'plain';
    case 'phone':
      return 'phone';
    case 'context':
      return role === 'top' ? 'context' : 'plain';
    case 'feeding':
      return role === 'plain' || isSecretRole(role) || role === 'person' || role === 'phone' ? 'person' : 'feeding';
    case 'person':
      return meaning.removal === 'always' && role === 'feeding' ? 'feeding' : 'person';
  }
}

/** A container that held nothing but identifiers leaves nothing to tell. */
function isEmptyObject(value: unknown): boolean {
  return isObject(value) && Object.keys(value).length === 0;
}

function copyFirst(object: JsonObject, keys: readonly string[], count: number): JsonObject {
  const copy: JsonObject = {};
  for (let at = 0; at < count; at += 1) {
    const key = keys[at] ?? '';
    copy[key] = object[key];
  }
  return copy;
}

/** A name not yet taken, for keys that became equal when what told them apart was redacted. */
function freeName(object: JsonObject, name: string, walk: Walk): string {
  let free = name;
  while (Object.hasOwn(object, free)) {
    walk.renamed += 1;
    free = `${name}_${walk.renamed}`;
  }
  return free;
}

const JSON_START = /^\s*[[{]/;

/** What the parser's exception costs, and the characters that it reads meanwhile. */
const JSON_STEPS = 12;
const CHARACTERS_PER_STEP = 64;

/**
 * What a text says that is itself JSON, as tag managers send whole objects; null where it is none. `unread`: there is no
 * budget left.
 */
export function jsonIn(text: string, budget: WorkBudget): object | null | 'unread' {
  if (!mayBeJson(text)) return null;
  return spend(budget, JSON_STEPS + Math.ceil(text.length / CHARACTERS_PER_STEP)) ? parseJson(text) : 'unread';
}

function mayBeJson(text: string): boolean {
  const first = text.charCodeAt(0);
  if (first > 0x20 && first !== 0x7b && first !== 0x5b) return false;
  if (!JSON_START.test(text)) return false;
  const last = text.trimEnd().at(-1);
  return last === '}' || last === ']';
}

function parseJson(text: string): object | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' ? value : null;
  } catch {
    return null;
  }
}
