import { expect, test } from 'vitest';
import { createUncommittedOutcomes, skipped } from '#pipelines/delivery/delivery_run.ts';

const MAIN = { topic: 'events.identified', partition: 0 };
const OTHER = { topic: 'events.identified', partition: 1 };
const at = (offset: number, index: number, destination = 'webhook') => ({ offset, index, destination });
const given = (reason: string) => ({ outcome: skipped(reason), attemptedAtMs: 1 });

test('an outcome is found where it was given, and nowhere else', () => {
  const kept = createUncommittedOutcomes(10);
  kept.keep(MAIN, at(5, 1), given('a'));
  expect(kept.of(MAIN, at(5, 1))).toEqual(given('a'));
  expect(kept.of(MAIN, at(5, 0))).toBeNull();
  expect(kept.of(MAIN, at(5, 1, 'webhook-crm'))).toBeNull();
  expect(kept.of(MAIN, at(6, 1))).toBeNull();
  expect(kept.of(OTHER, at(5, 1))).toBeNull();
  expect(kept.of({ ...MAIN, topic: 'delivery.ga4.retry.5s' }, at(5, 1))).toBeNull();
});

test('what is committed is forgotten, what lies behind it is not', () => {
  const kept = createUncommittedOutcomes(10);
  for (const offset of [5, 6, 7]) kept.keep(MAIN, at(offset, 0), given('a'));
  kept.keep(OTHER, at(5, 0), given('b'));
  kept.committed(MAIN, 7);
  expect([5, 6, 7].map((offset) => kept.of(MAIN, at(offset, 0)) !== null)).toEqual([false, false, true]);
  expect(kept.of(OTHER, at(5, 0))).not.toBeNull();
  kept.forget(MAIN);
  expect(kept.of(MAIN, at(7, 0))).toBeNull();
});

test('no more are kept than there may be: the first ones go first, and room is counted right', () => {
  const kept = createUncommittedOutcomes(4);
  const all = Array.from({ length: 8 }, (_, offset) => at(offset, 0));
  const found = (): number[] => all.filter((place) => kept.of(MAIN, place) !== null).map(({ offset }) => offset);
  for (const place of all) kept.keep(MAIN, place, given('a'));
  expect(found()).toEqual([4, 5, 6, 7]);
  kept.keep(MAIN, at(7, 0), given('b'));
  kept.committed(MAIN, 6);
  for (const place of all.slice(0, 3)) kept.keep(OTHER, place, given('c'));
  expect(found()).toEqual([7]);
  kept.forget(MAIN);
  kept.forget(OTHER);
  for (const place of all.slice(0, 4)) kept.keep(MAIN, place, given('d'));
  expect(found()).toEqual([0, 1, 2, 3]);
});
