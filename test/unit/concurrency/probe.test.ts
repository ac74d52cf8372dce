import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createProbe } from '#infra/concurrency/time_limits.ts';
import { watchRedis } from '#services/stage/runtime.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test.for(['refuses', 'hangs'] as const)(
  'what %s is away within ten seconds, and back when it answers',
  async (trouble) => {
    let answer = (): Promise<unknown> => Promise.resolve();
    const probe = createProbe(() => answer());
    await vi.advanceTimersByTimeAsync(60_000);
    expect(probe.isAlive()).toBe(true);
    const hanging = Promise.withResolvers<void>();
    answer = () => (trouble === 'hangs' ? hanging.promise : Promise.reject(new Error('away')));
    await vi.advanceTimersByTimeAsync(10_000);
    expect(probe.isAlive()).toBe(false);
    answer = () => Promise.resolve();
    if (trouble === 'hangs') hanging.reject(new Error('timed out'));
    await vi.advanceTimersByTimeAsync(4_000);
    expect(probe.isAlive()).toBe(true);
    probe.stop();
    expect(vi.getTimerCount()).toBe(0);
  },
);

test.for([
  [0, 0],
  [9 * 86_400_000, 0],
  [-9 * 86_400_000, 0],
  [4_000, 300],
] as const)('a clock %i ms ahead of Redis, which takes %i ms to answer, is measured', async ([aheadMs, tookMs]) => {
  const serverMs = 1_800_000_000_000;
  let at = serverMs;
  const redis = {
    async time() {
      const read = at + tookMs / 2;
      at += tookMs;
      return [Math.floor(read / 1_000), (read % 1_000) * 1_000];
    },
  };
  const probe = watchRedis(redis as never, () => at + aheadMs);
  expect(probe.aheadMs()).toBeNull();
  await vi.advanceTimersByTimeAsync(2_000);
  expect(probe.aheadMs()).toBe(aheadMs);
  probe.stop();
});

test('what an answer that took seconds says of the clock is not believed', async () => {
  let at = 0;
  const redis = {
    async time() {
      at += 2_900;
      return [0, 0];
    },
  };
  const probe = watchRedis(redis as never, () => at);
  await vi.advanceTimersByTimeAsync(2_000);
  expect([probe.isAlive(), probe.aheadMs()]).toEqual([true, null]);
  probe.stop();
});
