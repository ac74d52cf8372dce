import { expect, onTestFinished, test } from 'vitest';
import { createRedis } from '#infra/redis/connection.ts';
import { createDedupIndex } from '#infra/redis/indexes/dedup_index.ts';
import { BUCKET_CHARS, claim, WINDOW_MS } from '#test/contract/claims/suite.ts';
import { quiet } from '#test/harness/kafka.ts';
import { useOwnParts } from '#test/harness/own_parts.ts';
import { beginIncarnation } from '#test/harness/redis.ts';
import { redisByClock } from '#test/harness/redis_clock.ts';

/** Every bucket is swept once in this time. */
const ROUND_MS = WINDOW_MS / 4;
const NOW_MS = Date.UTC(2026, 9, 1);
const parts = useOwnParts('redis');

async function open(nowMs: () => number) {
  const redis = createRedis(parts().addresses.redisUrl, quiet);
  onTestFinished(() => redis.disconnect());
  const store = createDedupIndex(redisByClock(redis, nowMs), {
    windowMs: WINDOW_MS,
    bucketChars: BUCKET_CHARS,
    cluster: false,
  });
  await beginIncarnation(store.epoch);
  return { redis, store };
}

const some = (count: number, name: string) => Array.from({ length: count }, (_, at) => claim(`${name}-${at}`, at));

test('a Redis that is full gets rid of old claims and takes new ones then', { timeout: 60_000 }, async () => {
  let nowMs = NOW_MS;
  const { redis, store } = await open(() => nowMs);
  for (let call = 0; call < 20; call++) await store.claim(some(5_000, `old-${call}`));
  const usedNow = async (): Promise<number> => Number(/used_memory:(\d+)/.exec(await redis.info('memory'))?.[1]);
  const most = (await usedNow()) - 200_000;
  await redis.config('SET', 'maxmemory', String(most));
  try {
    await expect(store.claim([claim('new', 1)])).rejects.toMatchObject({ code: 'redis_unavailable' });
    nowMs = NOW_MS + WINDOW_MS + ROUND_MS;
    let answer: unknown;
    for (let call = 0; call < 4_096 && answer === undefined; call++) {
      answer = await store.claim([claim('new', 1)]).catch(() => undefined);
    }
    expect(answer).toEqual([null]);
    // What has been deleted by then is no leave to fill it beyond that.
    expect(await usedNow()).toBeLessThan(most + 50_000);
  } finally {
    await redis.config('SET', 'maxmemory', '0');
  }
});
