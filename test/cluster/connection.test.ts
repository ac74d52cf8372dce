import { expect, onTestFinished, test } from 'vitest';
import { asked, refuseEviction } from '#infra/redis/client.ts';
import { createRedis, type Redis } from '#infra/redis/connection.ts';
import { quiet } from '#test/harness/kafka.ts';
import { useRedisCluster } from '#test/harness/own_cluster.ts';

const cluster = useRedisCluster();

function connect(url: string, isCluster = false): Redis {
  const redis = createRedis(url, quiet, isCluster);
  onTestFinished(() => redis.disconnect());
  return redis;
}

test('the address of one node is enough where it is said that there are others', async () => {
  const [first] = cluster().servers;
  const redis = connect(`redis://127.0.0.1:${first?.port}`, true);
  for (const key of ['a', 'b', 'c', 'd']) expect(await redis.set(key, key)).toBe('OK');
});

test('a server that may evict keys is refused, whichever it is', async () => {
  const redis = connect(cluster().url);
  await refuseEviction(redis);
  for (const { client } of cluster().servers) {
    await client.config('SET', 'maxmemory-policy', 'allkeys-lru');
    await expect(refuseEviction(redis)).rejects.toMatchObject({ code: 'redis_evicts' });
    await client.config('SET', 'maxmemory-policy', 'noeviction');
  }
  await refuseEviction(redis);
});

test('commands fail where no node answers', async () => {
  const away = connect('redis://127.0.0.1:1,127.0.0.1:2');
  await expect(asked(away.get('a'))).rejects.toMatchObject({ code: 'redis_unavailable', recovery: 'wait' });
});
