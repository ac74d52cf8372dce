import { expect, test } from 'vitest';
import { createClaimStore } from '#infra/redis/claims.ts';
import { claim, claimStoreSuite, DAY_MS, WINDOW_MS } from '#test/contract/claims/suite.ts';
import { useRedis } from '../support/redis.ts';

const redis = useRedis();
let opened = 0;

/** A store whose keys no other one of this file has: a site of another number is another digest. */
function create(cluster: boolean) {
  const store = createClaimStore(redis(), { windowMs: WINDOW_MS, cluster });
  const mark = `${opened++}-`;
  return {
    claim: (claims: Parameters<typeof store.claim>[0], nowMs: number) =>
      store.claim(
        claims.map((one) => ({ ...one, field: mark + one.field })),
        nowMs,
      ),
  };
}

claimStoreSuite('claims in Redis', () => create(false));
claimStoreSuite('claims in Redis, cut for a cluster', () => create(true));

test('every key of claims goes by itself, not before the window has passed', async () => {
  await redis().flushall();
  const store = createClaimStore(redis(), { windowMs: WINDOW_MS, cluster: false });
  await store.claim([claim('a', 1), claim('b', 2)], Date.now());
  const keys = await redis().keys('*');
  const seconds = await Promise.all(keys.map((key) => redis().ttl(key)));
  expect(keys).toHaveLength(2);
  expect(Math.min(...seconds)).toBeGreaterThan((WINDOW_MS / DAY_MS) * 86_400);
});

test('keys of one script call of a cluster share a hash tag', async () => {
  await redis().flushall();
  const store = createClaimStore(redis(), { windowMs: WINDOW_MS, cluster: true });
  const claims = Array.from({ length: 50 }, (_, index) => claim(`id-${index}`, index));
  await store.claim(claims, Date.now());
  const keys = await redis().keys('*');
  expect(keys.map((key) => /^c:\{(.)\}:\d+:\1/.test(key))).toEqual(keys.map(() => true));
});
