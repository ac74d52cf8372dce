import { expect, test } from 'vitest';
import { createClaimStore } from '#infra/redis/claims.ts';
import { claim, claimStoreSuite, DAY_MS, WINDOW_MS } from '#test/contract/claims/suite.ts';
import { beginEpoch, useRedis } from '../support/redis.ts';

const redis = useRedis();
let opened = 0;

/** A store whose keys no other one of this file has: a site of another number is another digest. */
function create(cluster: boolean) {
  const store = createClaimStore(redis(), { windowMs: WINDOW_MS, cluster });
  const mark = `${opened++}-`;
  return {
    async claim(claims: Parameters<typeof store.claim>[0], nowMs: number) {
      await beginEpoch(store.epoch);
      return store.claim(
        claims.map((one) => ({ ...one, field: mark + one.field })),
        nowMs,
      );
    },
  };
}

claimStoreSuite('claims in Redis', () => create(false));
claimStoreSuite('claims in Redis, cut for a cluster', () => create(true));

test('every key of claims goes by itself, not before the window has passed', async () => {
  await redis().flushall();
  const store = createClaimStore(redis(), { windowMs: WINDOW_MS, cluster: false });
  await beginEpoch(store.epoch);
  await store.claim([claim('a', 1), claim('b', 2)], Date.now());
  const keys = await claimKeys();
  const seconds = await Promise.all(keys.map((key) => redis().ttl(key)));
  expect(keys).toHaveLength(2);
  expect(Math.min(...seconds)).toBeGreaterThan((WINDOW_MS / DAY_MS) * 86_400);
});

test('keys of one script call of a cluster share a hash tag', async () => {
  await redis().flushall();
  const store = createClaimStore(redis(), { windowMs: WINDOW_MS, cluster: true });
  await beginEpoch(store.epoch);
  const claims = Array.from({ length: 50 }, (_, index) => claim(`id-${index}`, index));
  await store.claim(claims, Date.now());
  const keys = await claimKeys();
  expect(keys.map((key) => /^c:\{(.)\}:\d+:\1/.test(key))).toEqual(keys.map(() => true));
});

test('claims made again are held, each as long as a claim of its time, and change none that is there', async () => {
  await redis().flushall();
  const store = createClaimStore(redis(), { windowMs: WINDOW_MS, cluster: false });
  await beginEpoch(store.epoch);
  const nowMs = Date.now();
  await store.claim([claim('there', 1)], nowMs);
  const past = (id: string, offset: number, ageMs: number) => ({ ...claim(id, offset), claimedAtMs: nowMs - ageMs });
  await store.restore([past('there', 2, 0), past('new', 3, 0), past('old', 4, WINDOW_MS)], nowMs);
  const asked = ['there', 'new', 'old'].map((id) => claim(id, 9));
  expect(await store.claim(asked, nowMs)).toEqual(['0:1:0', '0:3:0', '0:4:0']);
  expect(await store.claim([claim('old', 10)], nowMs + WINDOW_MS)).toEqual([null]);
  const seconds = await Promise.all((await claimKeys()).map((key) => redis().ttl(key)));
  expect(Math.min(...seconds)).toBeGreaterThan(0);
});

/** The hashes of claims, without what else stands beside them. */
async function claimKeys(): Promise<string[]> {
  return (await redis().keys('*')).filter((key) => /:\d+:/.test(key));
}
