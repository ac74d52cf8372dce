import { asSha256 } from './hashed_form.ts';

const DIGITS_MIN = 7;
const DIGIT = /\p{Nd}/gu;

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
