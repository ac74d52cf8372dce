import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { withRedisErrors } from '#infra/redis/client.ts';
import { createRedis } from '#infra/redis/connection.ts';
import { createDedupIndex } from '#infra/redis/indexes/dedup_index.ts';
import { createIdentityStore } from '#infra/redis/indexes/identity_index.ts';
import { BUCKET_CHARS, claim, WINDOW_MS } from '#test/contract/claims/suite.ts';
import { question } from '#test/contract/identity/questions.ts';
import { quiet } from '#test/harness/kafka.ts';
import { useOwnParts } from '#test/harness/own_parts.ts';
import { beginIncarnation } from '#test/harness/redis.ts';
import { until } from '#test/harness/until.ts';

const TEST_MS = 30_000;
const SECRET = 'known-only-to-the-caller';
const parts = useOwnParts('redis');

async function open() {
  const redis = createRedis(parts().addresses.redisUrl, quiet);
  await until('a connection', () => redis.status === 'ready');
  const claims = createDedupIndex(redis, { windowMs: WINDOW_MS, bucketChars: BUCKET_CHARS, cluster: false });
  await beginIncarnation(claims.epoch);
  const identity = createIdentityStore(redis);
  await beginIncarnation(identity.epoch);
  const commands: Record<string, () => Promise<unknown>> = {
    claim: () => claims.claim([{ ...claim('a', 1), field: SECRET }]),
    resolve: () => identity.resolve('shop', [question('shop', SECRET, { nodes: [SECRET] })]),
    set: () => withRedisErrors(redis.set('key', SECRET)),
  };
  return { redis, commands };
}

async function errorOf(command: () => Promise<unknown>): Promise<unknown> {
  return command().then(
    () => 'no error',
    (error: unknown) => error,
  );
}

test('scripts are loaded again after Redis forgot them', { timeout: TEST_MS }, async () => {
  const { redis, commands } = await open();
  await commands['claim']?.();
  await redis.script('FLUSH');
  expect(await commands['claim']?.()).toEqual(['0:1:0']);
  redis.disconnect();
});

test('a refusal says its kind and not what was asked', { timeout: TEST_MS }, async () => {
  const { redis } = await open();
  await redis.hset('not-a-text', 'a', 'b');
  const error = await errorOf(() => withRedisErrors(redis.incr('not-a-text')));
  expect(error).toMatchObject({ code: 'redis_unavailable', recovery: 'wait' });
  const identity = createIdentityStore(redis);
  await redis.set(`i:{shop}:p:${SECRET}`, SECRET);
  await redis.set(`i:{shop}:i:${SECRET}`, 'not a hash');
  const failed = await errorOf(() => identity.resolve('shop', [question('shop', SECRET)]));
  expect(failed).toMatchObject({ code: 'redis_unavailable', message: 'redis script failed: WRONGTYPE' });
  expect(inspect(failed, { depth: 9, showHidden: true })).not.toContain(SECRET);
  redis.disconnect();
});

for (const signal of ['SIGSTOP', 'SIGKILL'] as const) {
  test(`after ${signal} every command fails with a known error, and works when Redis is back`, {
    timeout: TEST_MS,
  }, async () => {
    const { redis, commands } = await open();
    parts().parts.redis?.kill(signal);
    for (const command of Object.values(commands)) {
      const error = await errorOf(command);
      expect(error).toMatchObject({ code: 'redis_unavailable', recovery: 'wait' });
      expect(inspect(error, { depth: 9, showHidden: true })).not.toContain(SECRET);
    }
    if (signal === 'SIGSTOP') parts().parts.redis?.kill('SIGCONT');
    else await parts().parts.redis?.start();
    await until('Redis to answer', async () => (await errorOf(commands['set'] ?? open)) === 'no error');
    // A Redis that was started anew may lack what it was told last: it is not believed before that was made sure.
    if (signal === 'SIGSTOP') expect(await commands['claim']?.()).toEqual(['0:1:0']);
    else expect(await errorOf(commands['claim'] ?? open)).toMatchObject({ code: 'index_lost', recovery: 'wait' });
    redis.disconnect();
  });
}
