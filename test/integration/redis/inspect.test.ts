import { expect, test } from 'vitest';
import { nodesOf } from '#infra/redis/connection.ts';
import { inspectRedis } from '#infra/redis/inspect.ts';
import { useRedis } from '#test/harness/redis.ts';

const redis = useRedis();

const bucketsOfAll = async () => {
  const facts = await Promise.all(nodesOf(redis(), 'master').map((node) => inspectRedis(node, Date.now)));
  return facts.flatMap(({ buckets }) => buckets ?? []);
};

test('how full the buckets of event ids are, and up to where Redis packs them', async () => {
  await redis().flushdb();
  await redis().set('d:{A}:swept', '7');
  expect(await bucketsOfAll()).toEqual([]);
  await redis().hset('d:{A}:b:AAA', { one: '1', two: '2' });
  await redis().hset('d:{A}:b:AAB', { one: '1', two: '2', three: '3', four: '4' });
  expect(await bucketsOfAll()).toEqual([{ idsInBucket: 3, packedMax: 512 }]);
});

test('a user who may not look is told nothing of them', async () => {
  const [node] = nodesOf(redis(), 'master');
  const refused = (): never => {
    throw new Error('NOPERM');
  };
  const asked = { ...facade(node), config: async () => refused(), scan: async () => refused() };
  expect(await inspectRedis(asked as never, Date.now)).toMatchObject({ buckets: null, savePoints: null });
});

const facade = (node: ReturnType<typeof nodesOf>[number] | undefined) => ({
  info: () => node?.info(),
  time: () => node?.time(),
});
