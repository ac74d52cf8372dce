import { expect, test } from 'vitest';
import { createSlowSites } from '#pipelines/delivery/concurrency.ts';

const MINUTE_MS = 60_000;

function world() {
  const time = { nowMs: 0 };
  const slow = createSlowSites(100, () => time.nowMs);
  const call = (siteId: string, tookMs: number, times = 5): void => {
    for (let index = 0; index < times; index++) slow.took(siteId, tookMs);
  };
  return { time, slow, call };
}

test.for<[string, Record<string, number>, string[]]>([
  ['one slow site beside fast ones', { a: 5_000, b: 100, c: 150, d: 90 }, ['a']],
  ['several slow sites beside a fast one', { a: 5_000, b: 4_000, c: 6_000, d: 90 }, ['a', 'b', 'c']],
  ['one site of two', { a: 2_000, b: 100 }, ['a']],
  ['one that is by itself', { a: 9_000 }, []],
  ['a platform that is slow to all', { a: 5_000, b: 4_000, c: 6_000, d: 3_000 }, []],
  ['one that is slower than others, but fast', { a: 900, b: 50, c: 60 }, []],
  ['one that is not three times as slow', { a: 2_500, b: 1_000, c: 1_100 }, []],
])('%s', ([, means, expected]) => {
  const { slow, call } = world();
  for (const [siteId, tookMs] of Object.entries(means)) call(siteId, tookMs);
  expect(Object.keys(means).filter((siteId) => slow.isSlow(siteId))).toEqual(expected);
});

test('a few late answers say nothing, and fast ones again end it', () => {
  const { slow, call, time } = world();
  call('b', 100);
  call('a', 9_000, 4);
  expect(slow.isSlow('a')).toBe(false);
  call('a', 9_000, 1);
  time.nowMs += 2_000;
  expect(slow.isSlow('a')).toBe(true);
  call('a', 50, 15);
  expect(slow.isSlow('a')).toBe(false);
});

test('what is known of a site that is not called, or was late, ends after a minute', () => {
  const { slow, call, time } = world();
  call('b', 100);
  call('a', 9_000);
  slow.late('c');
  time.nowMs += MINUTE_MS - 1;
  expect([slow.isSlow('a'), slow.isSlow('c')]).toEqual([true, true]);
  time.nowMs += 1;
  expect([slow.isSlow('a'), slow.isSlow('c')]).toEqual([false, false]);
});
