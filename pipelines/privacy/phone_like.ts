import { asSha256 } from './hashed_form.ts';

const DIGITS_MIN = 7;
const DIGIT = /\p{Nd}/gu;

/** Whether a value under a key that may mean a phone is one: seven digits or more, or a hash. */
export function looksLikePhone(value: unknown): boolean {
  if (typeof value === 'number') return Math.abs(value) >= 10 ** (DIGITS_MIN - 1);
  if (typeof value !== 'string' || value.length < DIGITS_MIN) return false;
  return asSha256(value) !== null || (value.match(DIGIT)?.length ?? 0) >= DIGITS_MIN;
}
