import { expect, test } from 'vitest';
import { span } from '#services/dashboard/src/format.ts';

test.each([
  [12.4, '12 ms'],
  [1_000, '1 s'],
  [1_740, '1.7 s'],
  [100_000, '1.7 min'],
  [180_000, '3 min'],
  [599_000, '10 min'],
  [754_000, '13 min'],
  [5_400_000, '1.5 h'],
  [950_400_000, '11 d'],
])('%i ms are %s', (ms, text) => {
  expect(span(ms)).toBe(text);
});
