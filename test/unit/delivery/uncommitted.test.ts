import { expect, test } from 'vitest';
import { createUncommittedOutcomes, skipped } from '#pipelines/delivery/delivery_run.ts';

const MAIN = { topic: 'events.identified', partition: 0 };
const OTHER = { topic: 'events.identified', partition: 1 };
const given = (reason: string) => ({ outcome: skipped(reason), attemptedAtMs: 1 });

test('an outcome is found where it was given, and nowhere else', () => {
  const kept = createUncommittedOutcomes(10);
  kept.keep(MAIN, { offset: 5, index: 1 }, given('a'));
  expect(kept.of(MAIN, { offset: 5, index: 1 })).toEqual(given('a'));
  expect(kept.of(MAIN, { offset: 5, index: 0 })).toBeNull();
  expect(kept.of(MAIN, { offset: 6, index: 1 })).toBeNull();
  expect(kept.of(OTHER, { offset: 5, index: 1 })).toBeNull();
  expect(kept.of({ ...MAIN, topic: 'delivery.ga4.retry.5s' }, { offset: 5, index: 1 })).toBeNull();
});

test('what is committed is forgotten, what lies behind it is not', () => {
  const kept = createUncommittedOutcomes(10);
  for (const offset of [5, 6, 7]) kept.keep(MAIN, { offset, index: 0 }, given('a'));
  kept.keep(OTHER, { offset: 5, index: 0 }, given('b'));
  kept.committed(MAIN, 7);
  expect([5, 6, 7].map((offset) => kept.of(MAIN, { offset, index: 0 }) !== null)).toEqual([false, false, true]);
  expect(kept.of(OTHER, { offset: 5, index: 0 })).not.toBeNull();
  kept.forget(MAIN);
  expect(kept.of(MAIN, { offset: 7, index: 0 })).toBeNull();
});

test('no more are kept than there may be: the first ones go first, and room is counted right', () => {
  const kept = createUncommittedOutcomes(4);
  const all = Array.from({ length: 8 }, (_, offset) => ({ offset, index: 0 }));
  const found = (): number[] => all.filter((at) => kept.of(MAIN, at) !== null).map(({ offset }) => offset);
  for (const at of all) kept.keep(MAIN, at, given('a'));
  expect(found()).toEqual([4, 5, 6, 7]);
  kept.keep(MAIN, { offset: 7, index: 0 }, given('b'));
  kept.committed(MAIN, 6);
  for (const at of all.slice(0, 3)) kept.keep(OTHER, at, given('c'));
  expect(found()).toEqual([7]);
  kept.forget(MAIN);
  kept.forget(OTHER);
  for (const at of all.slice(0, 4)) kept.keep(MAIN, at, given('d'));
  expect(found()).toEqual([0, 1, 2, 3]);
});
