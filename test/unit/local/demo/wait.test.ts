import { describe, expect, it } from 'vitest';
import { type Goal, SETTLE_MS, type WaitResult, waitFor } from '#services/local/demo/run_demo.ts';

/** Waits on a clock of its own for a goal of 10; the script gives what is found at each look, the last value for good. */
async function waitOn(script: (number | Error)[], timeoutMs = 10_000): Promise<{ result: WaitResult; tookMs: number }> {
  let clock = 0;
  let look = 0;
  const measure = async (): Promise<Goal[]> => {
    const value = script[Math.min(look++, script.length - 1)];
    await Promise.resolve();
    if (value instanceof Error) throw value;
    return [{ label: 'rows', expected: 10, found: value ?? 0 }];
  };
  const wait = async (ms: number): Promise<void> => {
    clock += ms;
    await Promise.resolve();
  };
  const result = await waitFor({ measure, wait, now: () => clock, timeoutMs, onProgress: () => undefined });
  return { result, tookMs: clock };
}

describe('waitFor', () => {
  it('ends when the goal is reached and has held for a while', async () => {
    const { result, tookMs } = await waitOn([0, 4, 9, 10]);
    expect(result).toEqual({ kind: 'reached' });
    expect(tookMs).toBe(3000 + SETTLE_MS);
  });

  it('sees what comes too much after the goal was reached', async () => {
    const { result } = await waitOn([10, 10, 11]);
    expect(result).toEqual({ kind: 'stood_still', missing: [{ label: 'rows', expected: 10, found: 11 }] });
  });

  it('ends when nothing moves for the time allowed, and says what is missing', async () => {
    const { result, tookMs } = await waitOn([0, 1, 2, 7]);
    expect(result).toEqual({ kind: 'stood_still', missing: [{ label: 'rows', expected: 10, found: 7 }] });
    expect(tookMs).toBe(3000 + 10_000);
  });

  it('goes on while something moves, however long', async () => {
    const slow = Array.from({ length: 100 }, (_, nth) => Math.floor(nth / 10));
    expect((await waitOn([...slow, 10])).result.kind).toBe('reached');
  });

  it('looks again after a failed look, and passes the failure on when it lasts', async () => {
    expect((await waitOn([new Error('away'), new Error('away'), 10])).result.kind).toBe('reached');
    await expect(waitOn([5, new Error('gone')])).rejects.toMatchObject({
      code: 'unreadable',
      message: expect.stringContaining('gone'),
    });
  });
});
