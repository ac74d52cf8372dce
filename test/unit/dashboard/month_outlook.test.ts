import { expect, test } from 'vitest';
import { monthOutlook } from '#services/dashboard/src/pages/account/usage_lines.ts';

/** A third of April is over. */
const NOW_MS = Date.UTC(2026, 3, 11);

test.for([
  ['nothing', 0, 'within', { total: 0, reachedAtMs: null }],
  ['what lasts', 1_000, 'within', { total: 3_000, reachedAtMs: null }],
  ['what lasts to the end exactly', 3_333, 'within', { total: 9_999, reachedAtMs: null }],
  ['what ends on the 21st', 5_000, 'will_end', { total: 15_000, reachedAtMs: Date.UTC(2026, 3, 21) }],
  ['all of it', 10_000, 'used_up', { total: 30_000, reachedAtMs: NOW_MS }],
  ['the grace margin too', 12_000, 'dropping', { total: 36_000, reachedAtMs: NOW_MS }],
] as const)('of a month of 10,000 events, %s', ([, used, state, expected]) => {
  expect(monthOutlook(used, 10_000, NOW_MS)).toEqual({ state, expected });
});

test('in the first hours a rate says nothing, but what is used up is', () => {
  const early = Date.UTC(2026, 3, 1, 5, 59);
  expect(monthOutlook(9_000, 10_000, early)).toEqual({ state: 'within', expected: null });
  expect(monthOutlook(10_000, 10_000, early)).toEqual({ state: 'used_up', expected: null });
  expect(monthOutlook(9_000, 10_000, early + 60_000).state).toBe('will_end');
});

test('an account without allowance drops what comes', () => {
  expect(monthOutlook(0, 0, NOW_MS).state).toBe('dropping');
});
