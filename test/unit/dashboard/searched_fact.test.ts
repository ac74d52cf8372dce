import { expect, test } from 'vitest';
import { isSearched } from '#services/dashboard/src/format.ts';

test.for([
  ['Distinct id', 'user-81', true],
  ['Distinct id', '0190b1c4-7e5a-7c1e-9f5e-1f2a3b4c5d6e', true],
  ['Distinct id', 'ab'.repeat(32), true],
  ['Distinct id', 'ana@shop.example', false],
  ['Distinct id', 'ana%40shop.example', false],
  ['Distinct id', '+44 20 7946 0958', false],
  ['Distinct id', '4915112345678', false],
  ['Order id', '1000234567', true],
  ['Order id', 'ana@shop.example', false],
  ['Browser', 'user-81', false],
] as const)('%s %s leads to people: %s', ([name, text, leads]) => {
  expect(isSearched(name, text)).toBe(leads);
});
