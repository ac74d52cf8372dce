import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createWatchdog, WATCHDOG_MS, withinLimit } from '#infra/concurrency/time_limits.ts';

const LIMIT_MS = 60_000;
const never = (): Promise<never> => new Promise(() => undefined);

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test('work that lasts too long is told of once, and each piece of work by itself', async () => {
  const fatal: unknown[] = [];
  const { watch } = createWatchdog({ limitMs: LIMIT_MS, onFatal: (error) => fatal.push(error) });
  void watch('a transaction', never);
  await vi.advanceTimersByTimeAsync(LIMIT_MS / 2);
  void watch('an insert', never);
  await vi.advanceTimersByTimeAsync(0.4 * LIMIT_MS);
  expect(fatal).toEqual([]);
  await vi.advanceTimersByTimeAsync(0.2 * LIMIT_MS);
  expect(fatal).toMatchObject([{ code: 'stage_failed', message: 'a transaction does not end' }]);
  await vi.advanceTimersByTimeAsync(5 * LIMIT_MS);
  expect(fatal).toHaveLength(2);
  expect(vi.getTimerCount()).toBe(0);
});

test('work of many steps may last as long as each of them ends in time', async () => {
  const fatal: unknown[] = [];
  const { watch } = createWatchdog({ limitMs: LIMIT_MS, onFatal: (error) => fatal.push(error) });
  let step = (): void => undefined;
  void watch('an insert', (progressed) => {
    step = progressed;
    return never();
  });
  for (let steps = 0; steps < 10; steps++) {
    await vi.advanceTimersByTimeAsync(0.9 * LIMIT_MS);
    step();
  }
  expect(fatal).toEqual([]);
  await vi.advanceTimersByTimeAsync(1.1 * LIMIT_MS);
  expect(fatal).toMatchObject([{ message: 'an insert does not end' }]);
});

test('work that ends is answered as it ended, and watched no more', async () => {
  const fatal: unknown[] = [];
  const { watch } = createWatchdog({ limitMs: LIMIT_MS, onFatal: (error) => fatal.push(error) });
  await expect(watch('a send', async () => 7)).resolves.toBe(7);
  await expect(watch('a send', () => Promise.reject(new Error('refused')))).rejects.toThrow('refused');
  expect(vi.getTimerCount()).toBe(0);
  expect(fatal).toEqual([]);
});

test('time that does not count is not counted', async () => {
  const fatal: unknown[] = [];
  let counting = false;
  const options = { limitMs: LIMIT_MS, onFatal: (error: unknown) => fatal.push(error), counts: () => counting };
  void createWatchdog(options).watch('a send', never);
  await vi.advanceTimersByTimeAsync(10 * LIMIT_MS);
  expect(fatal).toEqual([]);
  counting = true;
  await vi.advanceTimersByTimeAsync(LIMIT_MS);
  expect(fatal).toHaveLength(1);
});

test('work with a limit is rejected when it is over', async () => {
  const late = withinLimit('a send', never);
  const rejected = expect(late).rejects.toMatchObject({ code: 'stage_failed', message: 'a send does not end' });
  await vi.advanceTimersByTimeAsync(WATCHDOG_MS);
  await rejected;
  await expect(withinLimit('a send', async () => 7)).resolves.toBe(7);
});
