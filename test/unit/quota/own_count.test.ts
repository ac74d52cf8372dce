import fc from 'fast-check';
import { expect, test } from 'vitest';
import { allowanceWithGrace, createOwnCount } from '#pipelines/quota/limits.ts';
import { checkAll } from '#test/harness/check_all.ts';
import { cases } from '#test/harness/environment.ts';

const RUNS = { numRuns: cases(300) };

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

test('what an edge grants by itself is at most what is left of the month, and as much as is wanted where it fits', () => {
  const wanted = fc.array(fc.nat(30), { maxLength: 20 });
  fc.assert(
    fc.property(fc.nat(120), fc.integer({ min: -10, max: 100 }), wanted, (known, limit, all) => {
      const own = createOwnCount();
      own.learn('a', '2026-10', known);
      let left = Math.max(0, limit - known);
      for (const many of all) {
        const granted = own.grant('a', '2026-10', limit, many);
        expect(granted).toBe(Math.min(many, left));
        left -= granted;
      }
    }),
    RUNS,
  );
});

test('what is learnt takes the place of what was counted since, be it more or less', () => {
  const own = createOwnCount();
  expect(own.grant('a', '2026-10', 10, 10)).toBe(10);
  own.learn('a', '2026-10', 4);
  expect(own.grant('a', '2026-10', 10, 10)).toBe(6);
  own.learn('a', '2026-10', 12);
  expect(own.grant('a', '2026-10', 10, 1)).toBe(0);
  expect(own.grant('a', '2026-10', 13, 5)).toBe(1);
});

test('accounts and months are counted apart', () => {
  const own = createOwnCount();
  const months = [
    ['a', '2026-10'],
    ['a', '2026-11'],
    ['b', '2026-10'],
  ] as const;
  for (const [account, month] of months) expect(own.grant(account, month, 5, 3)).toBe(3);
  for (const [account, month] of months) expect(own.grant(account, month, 5, 3)).toBe(2);
});

test('of so many months that they do not fit the one that was learnt first is forgotten', () => {
  const own = createOwnCount();
  own.learn('first', '2026-10', 10);
  own.learn('second', '2026-10', 10);
  for (let other = 2; other < 100_000; other++) own.learn(`${other}`, '2026-10', 10);
  // One that is there already needs no room.
  own.learn('second', '2026-10', 9);
  expect(own.grant('first', '2026-10', 10, 1)).toBe(0);
  own.learn('one more', '2026-10', 10);
  expect(own.grant('second', '2026-10', 10, 5)).toBe(1);
  expect(own.grant('first', '2026-10', 10, 5)).toBe(5);
});

test('an allowance has a grace of a fifth, whole events only', () =>
  checkAll(
    [
      [0, 0],
      [1, 1],
      [4, 4],
      [5, 6],
      [35, 42],
      [1_000, 1_200],
      [9_007_199_254, 10_808_639_104],
    ],
    ([allowance, limit]) => expect(allowanceWithGrace(allowance)).toBe(limit),
  ));

test('a greater allowance never gives a smaller limit, and no limit is beyond 120 %', () => {
  fc.assert(
    fc.property(fc.nat(10_000_000), fc.nat(10), (allowance, more) => {
      const limit = allowanceWithGrace(allowance);
      expect(Number.isInteger(limit)).toBe(true);
      expect(limit * 5).toBeLessThanOrEqual(allowance * 6);
      expect(limit * 5).toBeGreaterThan(allowance * 6 - 5);
      expect(allowanceWithGrace(allowance + more)).toBeGreaterThanOrEqual(limit);
    }),
    RUNS,
  );
});

test('what is given back can be granted again, and never more than was granted since something was learnt', () => {
  const own = createOwnCount();
  own.learn('a', '2026-10', 4);
  expect(own.grant('a', '2026-10', 10, 5)).toBe(5);
  own.releaseUnused('a', '2026-10', 2);
  own.releaseUnused('b', '2026-10', 2);
  expect(own.grant('a', '2026-10', 10, 9)).toBe(3);
  own.learn('a', '2026-10', 8);
  own.releaseUnused('a', '2026-10', 6);
  expect(own.grant('a', '2026-10', 10, 9)).toBe(2);
});
