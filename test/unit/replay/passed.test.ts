import { expect, test } from 'vitest';
import { createPassed } from '#pipelines/redelivery/replay.ts';

test('marks behind what was taken count, marks behind what is still on its way do not', () => {
  const passed = createPassed();
  passed.empty(0, 5, 6);
  expect(passed.reaches(0, 3)).toBe(3);
  expect(passed.reaches(0, 5)).toBe(6);
  passed.until(0, 5);
  expect(passed.reaches(0, 3)).toBe(6);
  expect(passed.reaches(1, 3)).toBe(3);
});

test('marks that several fetches brought one after the other are one place', () => {
  const passed = createPassed();
  passed.empty(0, 5, 6);
  passed.empty(0, 6, 8);
  expect(passed.reaches(0, 5)).toBe(8);
});

test('marks are not joined over the records between them', () => {
  const passed = createPassed();
  passed.empty(0, 5, 6);
  passed.empty(0, 8, 9);
  expect(passed.reaches(0, 5)).toBe(5);
  expect(passed.reaches(0, 8)).toBe(9);
});

test('what was taken never goes back', () => {
  const passed = createPassed();
  passed.until(0, 9);
  passed.until(0, 4);
  expect(passed.reaches(0, 2)).toBe(9);
});
