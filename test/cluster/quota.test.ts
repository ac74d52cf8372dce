import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { createRedis } from '#infra/redis/connection.ts';
import { CHECKPOINTS_KEY, quotaKey } from '#infra/redis/quota/admission.ts';
import { createQuotaStore } from '#infra/redis/quota/quota.ts';
import { NOTHING_SETTLED } from '#pipelines/quota/settle.ts';
import { quiet } from '#test/harness/kafka.ts';
import { useRedisCluster } from '#test/harness/own_cluster.ts';
import type { ClusterServer, RedisCluster } from '#test/harness/redis_cluster.ts';
import { until } from '#test/harness/until.ts';

const cluster = useRedisCluster();
const MONTH = '2026-10';

/** An account whose month lies on another master than the checkpoints, and that master. */
async function accountApart({ ownerOf }: RedisCluster): Promise<{ accountId: string; owner: ClusterServer }> {
  const checkpoints = await ownerOf(CHECKPOINTS_KEY);
  for (;;) {
    const accountId = randomUUID();
    const owner = await ownerOf(quotaKey(accountId, MONTH));
    if (owner !== checkpoints) return { accountId, owner };
  }
}

test('a month that was lost apart from its checkpoint is noticed, and a slot that was moved is none', async () => {
  const redis = createRedis(cluster().url, quiet);
  const store = createQuotaStore(redis);
  const { accountId, owner } = await accountApart(cluster());
  const settle = async (nextOffset: number): Promise<void> => {
    const ranges = [{ nextOffset, unique: 1, arrived: [] }];
    await store.settle({ accountId, month: MONTH, partition: 0, log: '', ranges, newestMs: 0 }, NOTHING_SETTLED);
    expect(await store.checkpoint(0, nextOffset, 'one')).toBe(true);
  };
  // As long as the cluster does not know yet who is dead it is asked again, every second.
  const generation = async (): Promise<string | undefined> =>
    (await until('the checkpoints', () => store.checkpoints())).get(0)?.generation;
  await store.begin(0, 'one');
  await settle(1);
  expect(await generation()).toBe('one');
  const others = (await cluster().masters()).filter((master) => master !== owner);
  await cluster().move(quotaKey(accountId, MONTH), others[0] as ClusterServer);
  await cluster().move(quotaKey(accountId, MONTH), owner);
  await cluster().grow();
  expect(await generation()).toBe('one');

  await cluster().killWithLoss(owner, () => settle(2));
  expect(await generation()).toBe('');
  await store.begin(0, 'two');
  expect(await generation()).toBe('two');
  redis.disconnect();
});
