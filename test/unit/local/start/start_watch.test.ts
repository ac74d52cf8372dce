import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { watchStart } from '#services/local/start/screen.ts';

let logDir: string;
let said: string[];

beforeEach(() => {
  logDir = mkdtempSync(join(tmpdir(), 'watch-'));
  said = [];
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
  rmSync(logDir, { recursive: true });
});

const state = (name: string, ready: boolean, restarts = 0) => ({
  name,
  pid: 1,
  ready,
  restarts,
  diedMs: [],
  silentSinceMs: null,
  metricsPort: undefined,
  facts: {},
});
const watch = <T>(
  start: Promise<T>,
  states: ReturnType<typeof state>[],
  times: { remindMs: number; timeoutMs: number },
) => watchStart(start, { states: () => states, logDir, say: (line) => said.push(line), ...times });

test('gives back what the start gave', async () => {
  expect(await watch(Promise.resolve('demo'), [], { remindMs: 10, timeoutMs: 20 })).toBe('demo');
});

test('fails as the start failed', async () => {
  const failed = Promise.reject(new Error('no port'));
  await expect(watch(failed, [], { remindMs: 10, timeoutMs: 20 })).rejects.toThrow('no port');
});

test('says which processes are waited for, and how often they were started', async () => {
  const start = Promise.withResolvers<void>();
  const watched = watch(start.promise, [state('edge', true), state('dedup', false), state('quota', false, 2)], {
    remindMs: 2_000,
    timeoutMs: 10_000,
  });
  vi.advanceTimersByTime(2_000);
  start.resolve();
  await watched;
  expect(said[0]).toBe('still waiting after 2 s for dedup, quota (started 3 times)');
});

test('gives up in time, with the last lines of the logs of those that are not ready', async () => {
  writeFileSync(join(logDir, 'dedup.log'), 'one\nthe registry does not answer\n');
  const start = watch(new Promise(() => undefined), [state('edge', true), state('dedup', false)], {
    remindMs: 100_000,
    timeoutMs: 30_000,
  });
  vi.advanceTimersByTime(30_000);
  await expect(start).rejects.toMatchObject({
    code: 'local_process_not_ready',
    message: expect.stringMatching(/not ready after 30 s: dedup\.\nIts log, .*dedup\.log:\none\nthe registry does not/),
  });
});
