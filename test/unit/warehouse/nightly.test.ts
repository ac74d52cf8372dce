import { expect, test } from 'vitest';
import { untilHourMs } from '#services/warehouse/upkeep.ts';

const HOUR_MS = 3_600_000;

test.for([
  [2, 1],
  [3, 24],
  [4, 23],
  [0, 3],
])("from %i o'clock it is %i hours until three", ([now = 0, hours = 0]) => {
  expect(untilHourMs(Date.UTC(2026, 10, 21, now), 3)).toBe(hours * HOUR_MS);
});
