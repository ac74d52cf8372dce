import { expect, onTestFinished, test } from 'vitest';
import { refuseEviction, withRedisErrors } from '#infra/redis/client.ts';
import { createRedis, type Redis } from '#infra/redis/connection.ts';
import { createVisitorStateStore } from '#infra/redis/engage/engage.ts';
import { createDedupIndex } from '#infra/redis/indexes/dedup_index.ts';
import { createPersonIndexEraser } from '#infra/redis/indexes/erase_persons.ts';
import { createIdentityStore } from '#infra/redis/indexes/identity_index.ts';
import { createQuotaStore } from '#infra/redis/quota/quota.ts';
import { aclUserCommands, processUsers } from '#infra/rights/process_rights.ts';
import { BUCKET_CHARS, claim, WINDOW_MS } from '#test/contract/claims/suite.ts';
import { question } from '#test/contract/identity/questions.ts';
import { quiet } from '#test/harness/kafka.ts';
import { useRedisCluster } from '#test/harness/own_cluster.ts';
import { beginIncarnation } from '#test/harness/redis.ts';

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
  await expect(withRedisErrors(away.get('a'))).rejects.toMatchObject({ code: 'redis_unavailable', recovery: 'wait' });
});

test('each process may do in a cluster what it does there, as its own user', async () => {
  const commands = aclUserCommands(processUsers(['meta', 'webhook']));
  for (const { client } of cluster().servers) {
    for (const command of commands) {
      const [name = '', ...words] = command.split(' ');
      await client.call(name, ...words);
    }
  }
  const as = (user: string): Redis => connect(cluster().url.replace('redis://', `redis://${user}:PASSWORD@`));
  const dedup = as('svc_dedup');
  await refuseEviction(dedup);
  const claims = createDedupIndex(dedup, { windowMs: WINDOW_MS, bucketChars: BUCKET_CHARS, cluster: true });
  await beginIncarnation(claims.epoch);
  await claims.attempt();
  expect(await claims.claim([claim('a', 1)])).toEqual([null]);
  await claims.epoch.noteMasters();
  const persons = createIdentityStore(as('svc_identity'));
  await beginIncarnation(persons.epoch);
  expect(await persons.resolve('shop', [question('shop', 'p', { nodes: ['n'] })])).toMatchObject([{ personId: 'p' }]);
  const quota = createQuotaStore(as('svc_quota'));
  await quota.begin(0, 'one');
  expect(await quota.checkpoints()).toEqual(new Map());
  const edge = as('svc_edge');
  const memory = createVisitorStateStore(edge);
  await memory.note('shop', 'v', [{ kind: 'done', name: 'survey' }], 5);
  expect((await memory.read('shop', 'v')).seen.get('survey')?.doneMs).toBe(5);
  const apart = createVisitorStateStore(as('svc_edge'), edge);
  await apart.note('shop', 'v', [{ kind: 'done', name: 'form' }], 5);
  expect([...(await apart.read('shop', 'v')).seen.keys()]).toEqual(['form']);
  const eraser = createPersonIndexEraser(as('svc_erasure'));
  expect(await eraser.erase('shop', ['p'], ['n'])).toMatchObject({ ok: true });
});
