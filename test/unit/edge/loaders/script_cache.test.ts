import { expect, test } from 'vitest';
import { createMetrics } from '#infra/metrics/metrics.ts';
import type { FetchScript } from '#pipelines/loaders/vendor_scripts.ts';
import { createScriptCache } from '#services/edge/loaders/script_cache.ts';

test('what was asked for longest ago gives way to what is new', async () => {
  const asked: string[] = [];
  const fetch: FetchScript = async ({ path }) => {
    asked.push(path);
    return { ok: true, bytes: Buffer.from('x'.repeat(20_000)) };
  };
  const cache = createScriptCache({ fetch, metrics: createMetrics('edge'), nowMs: () => 0, bytesMax: 50_000 });
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
  const cache = createScriptCache({ fetch, metrics: createMetrics('edge'), nowMs: () => 0, bytesMax: 10 });
  for (const path of ['a', 'b', 'a']) expect(await cache.get({ vendor: 'meta', path })).not.toBeNull();
  expect(asked).toBe(3);
});

test('what cannot be fetched is remembered for a while, and bounded too', async () => {
  let asked = 0;
  const fetch: FetchScript = async () => {
    asked += 1;
    return { ok: false, reason: 'status' };
  };
  const cache = createScriptCache({ fetch, metrics: createMetrics('edge'), nowMs: () => 0, bytesMax: 2_048 });
  for (const path of ['a', 'a', 'b', 'c', 'a']) expect(await cache.get({ vendor: 'meta', path })).toBeNull();
  expect(asked).toBe(4);
});
