import { comparableForm } from '#pipelines/privacy/comparable_form.ts';
import * as words from '#pipelines/privacy/key_words.ts';

/** Columns whose values stand for one person, for one event, or for few people. */
const PERSONAL: ReadonlySet<unknown> = new Set([
  'event_id',
  'distinct_id',
  'person_id',
  'email_sha256',
  'phone_sha256',
  'external_id_sha256',
  'zip',
  'client_ip',
  'client_user_agent',
  'order_id',
]);

/** The same of properties, under all the names that senders give them. */
const PERSONAL_WORDS: ReadonlySet<string> = new Set(
  [
    ...[words.EMAIL_WORDS, words.PHONE_WORDS, words.FIRST_NAME_WORDS, words.LAST_NAME_WORDS, words.EXTERNAL_ID_WORDS],
    ...[words.ZIP_WORDS, words.IP_WORDS, words.USER_AGENT_WORDS, words.VISITOR_ID_WORDS, words.ORDER_ID_WORDS],
    ...[words.OTHER_NAME_WORDS, words.BIRTH_WORDS, words.STREET_WORDS],
    'eventid',
  ].flatMap((list) => list.split(' ')),
);
/** Objects that describe a person. Named whole, such a one is the text of all that it holds. */
const PERSON_WORDS: ReadonlySet<string> = new Set(words.FEEDING_CONTAINER_WORDS.split(' '));

/**
 * Whether a question names such a column or property anywhere: it could single a person out, as what it filters or breaks
 * down by.
 */
export function namesPersons(question: unknown): boolean {
  if (typeof question !== 'object' || question === null) return false;
  if ('column' in question && PERSONAL.has(question.column)) return true;
  return isPersonalPath(pathOf(question)) || Object.values(question).some(namesPersons);
}

/** The path of a field into the properties, and on into the elements that lie there; empty where it is none. */
function pathOf(field: { property?: unknown; each?: unknown }): string[] {
  return [field.property, field.each].flat().filter((part) => typeof part === 'string');
}

function isPersonalPath(path: readonly string[]): boolean {
  const whole = comparableForm(path.at(-1) ?? '');
  return PERSON_WORDS.has(whole) || path.some(isPersonalName);
}

function isPersonalName(name: string): boolean {
  const word = comparableForm(name).replace(words.FORM_PREFIX, '').replace(words.FORM_SUFFIX, '');
  return [word, word.replace(words.PLURAL, '')].some(
    (one) => PERSONAL_WORDS.has(one) || words.VISITOR_ENDING.test(one),
  );
}
