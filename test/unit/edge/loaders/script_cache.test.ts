import { expect, test } from 'vitest';
import { createMetrics } from '#infra/metrics/metrics.ts';
import type { FetchScript } from '#pipelines/tag/vendor_scripts.ts';
import { createScriptCache, type ScriptCacheOptions } from '#services/edge/loaders/routes.ts';

const cacheOf = (options: Pick<ScriptCacheOptions, 'fetch'> & Partial<ScriptCacheOptions>) =>
  createScriptCache({
    metrics: createMetrics('edge'),
    nowMs: () => 0,
    onFailed: (error) => {
      throw error;
    },
    ...options,
  });

test('what was asked for longest ago gives way to what is new', async () => {
  const asked: string[] = [];
  const fetch: FetchScript = async ({ path }) => {
    asked.push(path);
    return { ok: true, bytes: Buffer.from('x'.repeat(20_000)) };
  };
  const cache = cacheOf({ fetch, bytesMax: 50_000 });
  const get = (path: string) => cache.get({ vendor: 'google', path });
  for (const path of ['a', 'b', 'a', 'c', 'a', 'b']) await get(path);
  expect(asked).toEqual(['a', 'b', 'c', 'b']);
});

test('one that is larger than all that may be kept is given, and gives way to the next', async () => {
  let asked = 0;
  const fetch: FetchScript = async () => {
    asked += 1;
    return { ok: true, bytes: Buffer.from('x'.repeat(20_000)) };
  };
  const cache = cacheOf({ fetch, bytesMax: 10 });
  for (const path of ['a', 'b', 'a']) expect(await cache.get({ vendor: 'meta', path })).not.toBeNull();
  expect(asked).toBe(3);
});

test('what cannot be fetched is remembered for a while, and bounded too', async () => {
  let asked = 0;
  const fetch: FetchScript = async () => {
    asked += 1;
    return { ok: false, reason: 'status' };
  };
  const cache = cacheOf({ fetch, bytesMax: 2_048 });
  for (const path of ['a', 'a', 'b', 'c', 'a']) expect(await cache.get({ vendor: 'meta', path })).toBeNull();
  expect(asked).toBe(4);
});

const SIX_MINUTES_MS = 360_000;

/** A cache that holds `paths` for longer than it should, with a platform that hangs from now on. */
async function staleCache(paths: readonly string[], onFailed: (error: unknown) => void = () => {}) {
  let now = 0;
  const hanging: { fail(error: Error): void }[] = [];
  const fetch: FetchScript = async ({ path }) => {
    if (now === 0) return { ok: true, bytes: Buffer.from(path) };
    return new Promise((_resolve, reject) => hanging.push({ fail: reject }));
  };
  const cache = cacheOf({ fetch, onFailed, nowMs: () => now });
  const get = (path: string) => cache.get({ vendor: 'google', path });
  for (const path of paths) await get(path);
  now = SIX_MINUTES_MS;
  const later = (ms: number): void => {
    now += ms;
  };
  return { get, hanging, later };
}

test('nobody waits for a platform that hangs while there is a script to show', async () => {
  const { get, hanging } = await staleCache(['a']);
  for (let time = 0; time < 3; time += 1) expect(await get('a')).toMatchObject({ isStale: true });
  expect(hanging).toHaveLength(1);
});

test('at the most 16 scripts are made newer at a time', async () => {
  const paths = Array.from({ length: 20 }, (_, at) => `script-${at}`);
  const { get, hanging } = await staleCache(paths);
  for (const path of paths) expect(await get(path)).toMatchObject({ isStale: true });
  expect(hanging).toHaveLength(16);
});

test('a fault behind an answer is told, and the platform is left alone for a while', async () => {
  const told: unknown[] = [];
  const { get, hanging, later } = await staleCache(['a'], (error) => void told.push(error));
  await get('a');
  hanging[0]?.fail(new Error('unforeseen'));
  await expect.poll(() => told).toEqual([new Error('unforeseen')]);
  await get('a');
  expect(hanging).toHaveLength(1);
  later(15_000);
  await get('a');
  expect(hanging).toHaveLength(2);
});
