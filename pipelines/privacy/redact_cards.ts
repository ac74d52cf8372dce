import { REDACTED } from './redacted.ts';

/** 13 to 19 digits, alone or in groups: what ISO/IEC 7812 lets a payment card's number have. */
const CANDIDATE = /(?<![\d.,])\d(?:[ -]?\d){12,18}(?![\d]|[.,]\d)/g;
/** Mastercard's newer numbers, American Express and others, Visa, Mastercard, Maestro and others begin so. */
const FIRST_DIGITS = new Set(['2', '3', '4', '5', '6']);

/** The text with `redacted` in the place of numbers that have the length, the start and the check digit of a payment card. */
export function redactCards(text: string): string {
  return text.replace(CANDIDATE, (found) => (isCard(found.replaceAll(/[ -]/g, '')) ? REDACTED : found));
}

const isCard = (digits: string): boolean => FIRST_DIGITS.has(digits[0] ?? '') && passesLuhn(digits);

/** The check of ISO/IEC 7812-1, annex B. */
function passesLuhn(digits: string): boolean {
  let sum = 0;
  for (let at = 0; at < digits.length; at += 1) {
    const digit = digits.charCodeAt(digits.length - 1 - at) - 0x30;
    const twice = digit * 2;
    sum += at % 2 === 0 ? digit : twice - (twice > 9 ? 9 : 0);
  }
  return sum % 10 === 0;
}
