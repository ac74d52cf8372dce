import { expect, test } from 'vitest';
import { DAY_MS, definitionState, HOUR_MS } from '#pipelines/tag/tag_health.ts';

const NOW_MS = 20_000 * DAY_MS;
const MINUTE_MS = 60_000;

test.each([
  ['fires all the time', 100, 1_000, 30 * MINUTE_MS, 'firing'],
  ['fires all the time, and not for an hour', 100, 1_000, HOUR_MS + 1, 'quiet'],
  ['fires all the time, and not for a day', 100, 1_000, DAY_MS + 1, 'stopped'],
  ['fires every hour, and not for two', 100, HOUR_MS, 2 * HOUR_MS, 'firing'],
  ['fires every hour, and not for three', 100, HOUR_MS, 3 * HOUR_MS + 1, 'quiet'],
  ['fires every week, and not for two', 100, 7 * DAY_MS, 14 * DAY_MS, 'firing'],
  ['fires every week, and not for ten', 100, 7 * DAY_MS, 70 * DAY_MS + 1, 'stopped'],
  ['fired four times only', 4, 1_000, 30 * DAY_MS, 'firing'],
  ['fired five times', 5, 1_000, 30 * DAY_MS, 'stopped'],
])('what %s', (_what, count, gapMs, silentMs, state) => {
  expect(definitionState({ count, gapMs, lastMs: NOW_MS - silentMs }, NOW_MS)).toBe(state);
});

test('what never fired', () => {
  expect(definitionState(undefined, NOW_MS)).toBe('never_fired');
});
