import { validate, version } from 'uuid';
import { expect, test, vi } from 'vitest';
import { msOf, uuid7 } from '#services/tag/src/visitor.ts';

const NOW_MS = 1_800_000_000_123;

test('an id is a UUID of version 7 that tells when it was made', () => {
  const id = uuid7(NOW_MS);
  expect([validate(id), version(id), msOf(id)]).toEqual([true, 7, NOW_MS]);
});

test('ten thousand ids of one millisecond are all different', () => {
  expect(new Set(Array.from({ length: 10_000 }, () => uuid7(NOW_MS))).size).toBe(10_000);
});

test('where the browser has no randomUUID, ids are of version 7 all the same', () => {
  vi.stubGlobal('crypto', {});
  const ids = [uuid7(NOW_MS), uuid7(NOW_MS)];
  vi.unstubAllGlobals();
  expect(ids.map((id) => version(id))).toEqual([7, 7]);
  expect(ids[0]).not.toBe(ids[1]);
});
