import { expect, test } from 'vitest';
import { numberIn } from '#services/tag/src/fire_definitions.ts';

test.each([
  ['€ 1.234,50', 1234.5],
  ['1,234.50 USD', 1234.5],
  ['1 234,50 €', 1234.5],
  ['1\u00a0234,50 €', 1234.5],
  ['1\u202f234,50 €', 1234.5],
  ["CHF 1'234.50", 1234.5],
  ['1.234.567 Kč', 1_234_567],
  ['1,23,456.00 ₹', 123_456],
  ['1,234', 1234],
  ['0,999', 0.999],
  ['12,5', 12.5],
  ['19,– €', 19],
  ['Total: 49.90.', 49.9],
  ['-€ 5.00', -5],
  ['−3', -3],
  ['SKU-123', 123],
  ['10-20', 10],
  ['2 x 19,99', 2],
  ['from 12 345', 12_345],
])('%j is %d', (text, expected) => expect(numberIn(text)).toBe(expected));

test.each(['', 'sold out', '€'])('%j holds no number', (text) => expect(numberIn(text)).toBeUndefined());
