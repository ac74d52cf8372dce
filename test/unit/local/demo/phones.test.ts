import { parsePhoneNumberFromString } from 'libphonenumber-js/max';
import { describe, expect, it } from 'vitest';
import { PHONE_COUNT, PHONE_STRIDE, phoneAt, spellPhone } from '#services/local/demo/world/people.ts';

const numbers = Array.from({ length: PHONE_COUNT }, (_, index) => phoneAt(index));

describe('the fictitious phone numbers', () => {
  it('are all different and all valid', () => {
    expect(new Set(numbers).size).toBe(PHONE_COUNT);
    expect(numbers.filter((phone) => parsePhoneNumberFromString(phone)?.isValid() !== true)).toEqual([]);
  });

  it('stay within the ranges that regulators keep for fiction', () => {
    const ranges = /^\+(44(207946|113496|121496|131496|141496|161496)0\d{3}|493023125\d{3}|3319900\d{4})$/;
    expect(numbers.filter((phone) => !ranges.test(phone))).toEqual([]);
  });

  it('are each reached by the stride before any repeats', () => {
    const reached = new Set(Array.from({ length: PHONE_COUNT }, (_, step) => (step * PHONE_STRIDE) % PHONE_COUNT));
    expect(reached.size).toBe(PHONE_COUNT);
  });

  it.each([0, 1, 2, 3])('mean the same number in spelling %i', (style) => {
    const sample = numbers.filter((_, index) => index % 97 === 0);
    expect(sample.map((phone) => parsePhoneNumberFromString(spellPhone(phone, style))?.number)).toEqual(sample);
  });
});
