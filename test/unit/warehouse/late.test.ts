import { expect, test } from 'vitest';
import { isLate } from '#pipelines/warehouse/block.ts';

const DAY_MS = 86_400_000;
const WINDOW_MS = 8 * DAY_MS;

/** The second of two with one id on one day, sent when the claim of the first has just been forgotten. */
test.for([
  ['both at one time', 0, 0],
  ['the first a day ahead of its arrival', DAY_MS, 0],
  ['the second at the start of the day, the first at its end, a day ahead', DAY_MS, DAY_MS - 1],
] as const)('what may be stored already is late: %s', ([, aheadMs, earlierMs]) => {
  const firstArrival = Date.UTC(2026, 10, 1);
  const happened = firstArrival + aheadMs - earlierMs;
  expect(isLate({ timestamp: happened, received_at: firstArrival + WINDOW_MS + 1 }, WINDOW_MS)).toBe(true);
});

test('what comes on the day it happened is not', () => {
  expect(isLate({ timestamp: 0, received_at: 5 * DAY_MS }, WINDOW_MS)).toBe(false);
});

test('what arrives within hours is not, by the shortest window that may be set', () => {
  const shortestMs = 72 * 3_600_000;
  expect(isLate({ timestamp: 0, received_at: 22 * 3_600_000 }, shortestMs)).toBe(false);
  expect(isLate({ timestamp: 0, received_at: 23 * 3_600_000 }, shortestMs)).toBe(true);
});
