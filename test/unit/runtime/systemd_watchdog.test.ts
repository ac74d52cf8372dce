import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { tellSystemd } from '#services/stage/runtime.ts';

const MINUTE_US = 60_000_000;

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function told(limitUs: number | null, fails = false) {
  const calls = { said: 0, warned: [] as unknown[] };
  const say = async (): Promise<void> => {
    calls.said++;
    if (fails) throw new Error('no such program');
  };
  const stop = tellSystemd(limitUs, say, { warn: (...line: unknown[]) => calls.warned.push(line[1]) } as never);
  return { calls, stop };
}

test('systemd is told at once, and three times in each of its limits, until the process stops', () => {
  const { calls, stop } = told(MINUTE_US);
  expect(calls.said).toBe(1);
  vi.advanceTimersByTime(60_000);
  expect(calls.said).toBe(4);
  stop();
  vi.advanceTimersByTime(600_000);
  expect(calls.said).toBe(4);
});

test('nothing is said where nobody watches', () => {
  const { calls } = told(null);
  vi.advanceTimersByTime(600_000);
  expect(calls.said).toBe(0);
});

test('what cannot be said is logged and tried again', async () => {
  const { calls, stop } = told(MINUTE_US, true);
  await vi.advanceTimersByTimeAsync(20_000);
  expect(calls.warned).toEqual(['systemd was not told', 'systemd was not told']);
  stop();
});
