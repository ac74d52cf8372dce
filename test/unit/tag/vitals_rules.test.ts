import { expect, test } from 'vitest';
import { shiftRuns, slowInteraction } from '#services/tag/src/scripts/web_vitals.ts';

const shift = (startTime: number, value: number, hadRecentInput = false) => ({ startTime, value, hadRecentInput });

function worstShifts(shifts: ReturnType<typeof shift>[]): number {
  const runs = shiftRuns();
  for (const one of shifts) runs.see(one);
  return runs.worst();
}

test('shifts less than a second apart add up, and the worst run counts', () => {
  expect(worstShifts([shift(0, 0.1), shift(900, 0.1), shift(2500, 0.15)])).toBeCloseTo(0.2);
});

test('a run of shifts ends after five seconds', () => {
  const shifts = Array.from({ length: 8 }, (_, at) => shift(at * 900, 0.1));
  expect(worstShifts(shifts)).toBeCloseTo(0.6);
});

test('shifts after an input are the visitor’s own', () => {
  expect(worstShifts([shift(0, 0.4, true), shift(100, 0.1)])).toBeCloseTo(0.1);
});

test('the slowest interaction counts, and of every fifty one is passed over', () => {
  const slowest = [300, 200, 100];
  expect([1, 49, 50, 100, 500].map((count) => slowInteraction(slowest, count))).toEqual([300, 300, 200, 100, 100]);
});

test('without interactions there is no value', () => {
  expect(slowInteraction([], 0)).toBeUndefined();
});
