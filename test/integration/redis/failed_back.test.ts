import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Redis as Server } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import { createRedis } from '#infra/redis/connection.ts';
import { createDedupIndex } from '#infra/redis/indexes/dedup_index.ts';
import { installParts } from '#services/local/parts/parts.ts';
import { BUCKET_CHARS, claim, WINDOW_MS } from '#test/contract/claims/suite.ts';
import { quiet } from '#test/harness/kafka.ts';
import { beginIncarnation } from '#test/harness/redis.ts';
import { startRedisServer, stopAll } from '#test/harness/redis_cluster.ts';
import { until } from '#test/harness/until.ts';

const HOST = '127.0.0.1';
const OPTIONS = { windowMs: WINDOW_MS, bucketChars: BUCKET_CHARS, cluster: false };

async function follow(server: Server, port: number): Promise<void> {
  await server.call('REPLICAOF', HOST, port);
  const isSynced = async () => (await server.info('replication')).includes('master_link_status:up');
  await until('the replica to have everything', isSynced);
}

test('a master that was a replica meanwhile lacks what it had not passed on, though its process is the same', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'failed-back-'));
  const { redis: program } = await installParts(new Set(['redis']), () => undefined);
  if (program === undefined) throw new Error('redis was not installed');
  const [one, other] = [
    await startRedisServer(dataDir, 'one', program, {}),
    await startRedisServer(dataDir, 'other', program, {}),
  ];
  const redis = createRedis(`redis://${HOST}:${one.port}`, quiet);
  onTestFinished(async () => {
    redis.disconnect();
    await stopAll([one, other]);
    rmSync(dataDir, { recursive: true, force: true });
  });
  const index = createDedupIndex(redis, OPTIONS);
  await beginIncarnation(index.epoch);
  await index.claim([claim('kept', 0)]);
  expect(await index.epoch.state()).toEqual({ kind: 'whole' });

  await follow(other.client, one.port);
  await other.client.call('REPLICAOF', 'NO', 'ONE');
  // Never passed on.
  await index.claim([claim('lost', 1)]);
  expect(await index.epoch.state()).toEqual({ kind: 'whole' });
  await follow(one.client, other.port);
  await one.client.call('REPLICAOF', 'NO', 'ONE');

  const state = await index.epoch.state();
  expect(state).toMatchObject({ kind: 'lost', sinceMs: expect.any(Number) });
  await expect(index.claim([claim('next', 2)])).rejects.toThrow();
  await beginIncarnation(index.epoch);
  expect(await index.epoch.state()).toEqual({ kind: 'whole' });
  await index.claim([claim('next', 2)]);
});
