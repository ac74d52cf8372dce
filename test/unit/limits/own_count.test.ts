import { expect, test } from 'vitest';
import { allowanceWithGrace } from '#pipelines/limits/admission.ts';
import { createOwnCount } from '#pipelines/limits/own_count.ts';

test('an edge that nobody answers goes on from the usage it knew', () => {
  const own = createOwnCount();
  own.learn('a', '2026-10', 95);
  expect(own.grant('a', '2026-10', 100, 3)).toBe(3);
  expect(own.grant('a', '2026-10', 100, 3)).toBe(2);
  expect(own.grant('a', '2026-10', 100, 3)).toBe(0);
  expect(own.grant('a', '2026-11', 100, 3)).toBe(3);
  expect(own.grant('b', '2026-10', 2, 3)).toBe(2);
  own.learn('a', '2026-10', 98);
  expect(own.grant('a', '2026-10', 100, 3)).toBe(2);
  // The allowance was lowered below what is used.
  expect(own.grant('a', '2026-10', 50, 3)).toBe(0);
});

test.for([
  [0, 0],
  [1, 1],
  [4, 4],
  [5, 6],
  [35, 42],
  [1_000, 1_200],
  [9_007_199_254, 10_808_639_104],
])('an allowance of %i is %i with its grace', ([allowance, limit]) => {
  expect(allowanceWithGrace(allowance as number)).toBe(limit);
});
