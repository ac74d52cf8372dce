import { expect, test } from 'vitest';
import { kept, rateBetween } from '#pipelines/stage.ts';

const at = (atMs: number, offset: number) => ({ atMs, taken: new Map([['raw 0', offset]]) });

test('a rate is of two moments that are neither too close nor too far, and of partitions that both have', () => {
  expect(rateBetween(null, at(5_000, 10))).toBeNull();
  expect(rateBetween(at(0, 0), at(1_000, 10))).toBeNull();
  expect(rateBetween(at(0, 0), at(200_000, 10))).toBeNull();
  expect(rateBetween(at(0, 100), at(5_000, 150))).toBe(10);
  expect(rateBetween(at(0, 0), { atMs: 5_000, taken: new Map([['raw 1', 50]]) })).toBe(0);
});

test('the moment to compare with stays until another is far enough from it', () => {
  const first = at(0, 0);
  expect(kept(first, at(5_000, 1))).toBe(first);
  const later = at(10_000, 1);
  expect(kept(first, later)).toBe(later);
});
