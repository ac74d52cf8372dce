import { keyMeaning } from './key_meaning.ts';
import { FIELD_WORDS } from './key_words.ts';
import { looksLikePhone } from './phone_like.ts';

const FIELDS: ReadonlySet<string> = new Set(FIELD_WORDS.split(' '));
const FIELD_CHARACTERS_MAX = 64;

/**
 * Whether a form's answer is a phone number or a person's name by what another member of the record says the field is:
 * `{ name: 'phone', value: '4155550100' }`.
 */
export function isAnswerPersonal(record: Readonly<Record<string, unknown>>, answer: unknown): boolean {
  if (typeof answer !== 'string' && !Array.isArray(answer) && !looksLikePhone(answer)) return false;
  return Object.keys(record).some((key) => FIELDS.has(key) && isPersonal(record[key], answer));
}

/** Whether a pair says so of its second member: `['phone', '4155550100']`. */
export function isPairPersonal(values: readonly unknown[]): boolean {
  return (
    values.length === 2 &&
    typeof values[0] === 'string' &&
    looksLikePhone(values[1]) &&
    isPersonal(values[0], values[1])
  );
}

function isPersonal(field: unknown, answer: unknown): boolean {
  if (typeof field !== 'string' || field.length > FIELD_CHARACTERS_MAX) return false;
  const { removal, feeds, opens } = keyMeaning(field);
  if (feeds === 'first_name' || feeds === 'last_name') return removal === 'always' && typeof answer === 'string';
  if (feeds !== 'phone' && opens !== 'phone') return false;
  return Array.isArray(answer) ? answer.some(looksLikePhone) : looksLikePhone(answer);
}
