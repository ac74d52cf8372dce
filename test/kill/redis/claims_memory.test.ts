import { randomUUID } from 'node:crypto';
import { expect, onTestFinished, test } from 'vitest';
import { createRedis, type Redis } from '#infra/redis/connection.ts';
import { createDedupIndex } from '#infra/redis/indexes/dedup_index.ts';
import { dedupKey } from '#pipelines/dedup/dedup.ts';
import { quiet } from '#test/harness/kafka.ts';
import { useOwnParts } from '#test/harness/own_parts.ts';
import { beginIncarnation } from '#test/harness/redis.ts';

const CLAIMS = 1_000_000;
const BATCH = 5_000;

/**
 * A bucket's key and its place in the key space weigh about 130 bytes, shared by the claims of the bucket: four of them
 * where a million claims lie in 262,144 buckets, 244 where they lie in 4,096. Packed buckets end at 512 claims.
 */
const CASES = [
  { bucketChars: 3, bytesPerClaimMax: 66 },
  { bucketChars: 2, bytesPerClaimMax: 35 },
];

const parts = useOwnParts('redis');

for (const { bucketChars, bytesPerClaimMax } of CASES) {
  test(`a million claims in ${64 ** bucketChars} buckets take less than ${bytesPerClaimMax} bytes each`, {
    timeout: 120_000,
  }, async () => {
    const redis = createRedis(parts().addresses.redisUrl, quiet);
    onTestFinished(() => redis.disconnect());
    await redis.flushall();
    const store = createDedupIndex(redis, { windowMs: 8 * 86_400_000, bucketChars, cluster: false });
    await beginIncarnation(store.epoch);
    const before = await usedBytes(redis);
    for (let at = 0; at < CLAIMS; at += BATCH) {
      const claims = Array.from({ length: BATCH }, (_, index) =>
        dedupKey('shop', randomUUID(), { partition: 3, offset: at + index, index: 7 }, bucketChars),
      );
      await store.claim(claims);
    }
    expect(((await usedBytes(redis)) - before) / CLAIMS).toBeLessThan(bytesPerClaimMax);
  });
}

async function usedBytes(redis: Redis): Promise<number> {
  const info = await redis.info('memory');
  return Number(/used_memory:(\d+)/.exec(info)?.[1]);
}
