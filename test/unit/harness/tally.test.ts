import { expect, it } from 'vitest';
import { add, failed, NOTHING, summary } from '#test/harness/run/tally.ts';

it('says what failed once more at the end, with the counts in the last line', () => {
  const whole = [{ ...NOTHING, passed: 3 }, failed(['a.test.ts > one: no']), failed(['left behind: 12 node'])];
  expect(summary(whole.reduce(add, NOTHING)).split('\n')).toEqual([
    'failed: a.test.ts > one: no',
    'failed: left behind: 12 node',
    '3 passed, 2 failed',
  ]);
});

it('says what passed only when it ran again', () => {
  const again = { ...NOTHING, passed: 1, unsteady: ['b.test.ts > two: late'] };
  expect(summary(add(again, { ...NOTHING, passed: 2 })).split('\n')).toEqual([
    'passed only when its file ran again by itself: b.test.ts > two: late',
    '3 passed, 0 failed',
  ]);
});

it('is one line when all passed', () => {
  expect(summary({ ...NOTHING, passed: 2, skipped: 1 })).toBe('2 passed, 0 failed');
});
