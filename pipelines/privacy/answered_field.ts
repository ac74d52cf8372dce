import type { Effort } from './effort.ts';
import { keyMeaning, UNJUDGED } from './key_meaning.ts';
import { FIELD_WORDS } from './key_words.ts';
import { isBarePhone, isPhoneInParts, looksLikePhone } from './phone_like.ts';
import { isSecret } from './secret_words.ts';

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
export function isAnswerPersonal(record: Readonly<Record<string, unknown>>, answer: unknown): boolean {
  if (typeof answer === 'number') return looksLikePhone(answer) && isFormRecord(record);
  if (typeof answer !== 'string' && !Array.isArray(answer)) return false;
  for (const key of FIELDS) if (Object.hasOwn(record, key) && isPersonal(record[key], answer)) return true;
  return false;
}

/** Whether a record names a field that can only be a phone number's, and no money. */
function isFormRecord(record: Readonly<Record<string, unknown>>): boolean {
  const known = formRecords.get(record);
  if (known !== undefined) return known;
  const isForm = namesPhoneField(record);
  formRecords.set(record, isForm);
  return isForm;
}

/** Asked of each number of a record that may be an answer, and the same for all of them. */
const formRecords = new WeakMap<object, boolean>();

function namesPhoneField(record: Readonly<Record<string, unknown>>): boolean {
  const keys = Object.keys(record);
  if (keys.some((key) => MONEY.test(key))) return false;
  return keys.some((key) => FIELDS.has(key) && !KIND.test(key) && isSurelyPhone(record[key]));
}

function isSurelyPhone(field: unknown): boolean {
  if (typeof field !== 'string' || field.length > FIELD_CHARACTERS_MAX) return false;
  const { removal, opens } = keyMeaning(field);
  return removal === 'always' && opens === 'phone';
}

/** Words alone, as two methods of signing in are listed: `['password', 'google']`. */
const WORDS = /^(?:\p{Lu}+|\p{L}\p{Ll}*)(?:[ _-](?:\p{Lu}+|\p{L}\p{Ll}*))*$/u;

/** Whether a pair says so of its second member: `['phone', '4155550100']`. What is only words is a secret only in a list of pairs. */
export function isPairPersonal(values: readonly unknown[], isOfPairs: boolean, effort: Effort): boolean {
  if (!isPair(values)) return false;
  const [field, answer] = values;
  if (field.length > FIELD_CHARACTERS_MAX) return false;
  const meaning = keyMeaning(field, effort);
  if (meaning === UNJUDGED) return true;
  const { secret } = meaning;
  if (secret !== null)
    return isSecret(secret, answer) && (isOfPairs || typeof answer !== 'string' || !WORDS.test(answer));
  return looksLikePhone(answer) && (typeof answer === 'number' ? isSurelyPhone(field) : isPersonal(field, answer));
}

/** Whether a list holds pairs of names and values alone, as the entries of a form are listed. */
export function arePairs(values: readonly unknown[]): boolean {
  return values.every((value) => Array.isArray(value) && isPair(value));
}

function isPair(values: readonly unknown[]): values is [string, unknown] {
  return values.length === 2 && typeof values[0] === 'string';
}

function isPersonal(field: unknown, answer: unknown): boolean {
  if (typeof field !== 'string' || field.length > FIELD_CHARACTERS_MAX) return false;
  const { removal, feeds, opens, secret } = keyMeaning(field);
  if (secret !== null) return isSecret(secret, answer);
  if (feeds === 'first_name' || feeds === 'last_name') return removal === 'always' && typeof answer === 'string';
  if (removal === 'if_bare_phone') return isBarePhone(answer);
  if (opens !== 'phone') return false;
  return isPhoneInParts(answer) || (Array.isArray(answer) ? answer.some(looksLikePhone) : looksLikePhone(answer));
}
