import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis as Server } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createRedis } from '#infra/redis/connection.ts';
import { createDedupIndex } from '#infra/redis/indexes/dedup_index.ts';
import { choosePorts, LocalPart } from '#services/local/parts/part.ts';
import { installParts } from '#services/local/parts/parts.ts';
import type { RedisProgram } from '#services/local/parts/redis.ts';
import { BUCKET_CHARS, claim, WINDOW_MS } from '#test/contract/claims/suite.ts';
import { quiet } from '#test/harness/kafka.ts';
import { beginIncarnation } from '#test/harness/redis.ts';
import { type ClusterServer, cutReplicasOff, startRedisServer, stopAll } from '#test/harness/redis_cluster.ts';
import { until } from '#test/harness/until.ts';

const MASTER = 'main';
const HOST = '127.0.0.1';
const dataDir = mkdtempSync(join(tmpdir(), 'sentinel-'));
const started: Pick<ClusterServer, 'client' | 'part'>[] = [];
let url: string;
let master: Pick<ClusterServer, 'client' | 'part' | 'port'>;

/** One that decides alone. */
async function startSentinel({ command, libraries }: RedisProgram, masterPort: number): Promise<string> {
  const { sentinel: port } = await choosePorts(dataDir, ['sentinel']);
  const file = join(dataDir, 'sentinel.conf');
  const settings = [
    `port ${port}`,
    `bind ${HOST}`,
    `dir ${dataDir}`,
    `sentinel monitor ${MASTER} ${HOST} ${masterPort} 1`,
    `sentinel down-after-milliseconds ${MASTER} 2000`,
    `sentinel failover-timeout ${MASTER} 5000`,
  ];
  writeFileSync(file, `${settings.join('\n')}\n`);
  const client = new Server({ host: HOST, port, lazyConnect: true, retryStrategy: () => 100 });
  client.on('error', () => undefined);
  const part = new LocalPart(
    {
      name: 'redis',
      address: `redis://${HOST}:${port}`,
      logPath: join(dataDir, 'log', 'sentinel.log'),
      command,
      args: [file, '--sentinel'],
      cwd: dataDir,
      env: libraries === undefined ? {} : { LD_LIBRARY_PATH: libraries },
      isReady: async () => (await client.ping()) === 'PONG',
    },
    () => undefined,
  );
  await part.start();
  started.push({ client, part });
  // It asks the master for its replicas every ten seconds only.
  await until('the replica to be known', async () => {
    const replicas = (await client.call('SENTINEL', 'REPLICAS', MASTER)) as unknown[];
    return replicas.length === 1;
  });
  return `redis+sentinel://${HOST}:1,${HOST}:${port}/${MASTER}`;
}

beforeAll(async () => {
  const { redis: program } = await installParts(new Set(['redis']), () => undefined);
  if (program === undefined) throw new Error('redis was not installed');
  master = await startRedisServer(dataDir, 'master', program, {});
  started.push(master);
  const replica = await startRedisServer(dataDir, 'replica', program, { replicaof: `${HOST} ${master.port}` });
  started.push(replica);
  await until('the replica to have everything', async () =>
    (await replica.client.info('replication')).includes('master_link_status:up'),
  );
  url = await startSentinel(program, master.port);
});
afterAll(async () => {
  await stopAll(started);
  rmSync(dataDir, { recursive: true, force: true });
});

test('after a failover the new master is found, and what it lacks is noticed and known by when it was last used', async () => {
  const redis = createRedis(url, quiet);
  const store = createDedupIndex(redis, { windowMs: WINDOW_MS, bucketChars: BUCKET_CHARS, cluster: redis.isCluster });
  await beginIncarnation(store.epoch);
  expect(await store.claim([claim('early', 1)])).toEqual([null]);
  await until('the claim to be replicated', async () => Number(await master.client.wait(1, 1_000)) === 1);
  const beforeMs = Date.now();
  await cutReplicasOff(master);
  expect(await store.claim([claim('late', 2)])).toEqual([null]);
  master.part.kill('SIGKILL');
  const state = await until('the new master', () => store.epoch.state());
  expect(state).toMatchObject({ kind: 'lost', sinceMs: expect.any(Number) });
  expect(state.kind === 'lost' ? state.sinceMs : null).toBeLessThanOrEqual(beforeMs);
  await expect(store.claim([claim('late', 3)])).rejects.toMatchObject({ code: 'index_lost' });
  await store.restore([{ ...claim('late', 2), claimedAtMs: beforeMs }]);
  await beginIncarnation(store.epoch);
  expect(await store.claim([claim('early', 4), claim('late', 4)])).toEqual(['0:1:0', '0:2:0']);
  redis.disconnect();
});
