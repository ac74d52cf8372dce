import type { Redis as Server } from 'ioredis';
import { afterAll, beforeAll, inject } from 'vitest';
import { readRedisAddress } from '#infra/redis/address.ts';
import { createRedis, nodesOf } from '#infra/redis/connection.ts';
import type { IndexEpoch } from '#infra/redis/indexes/index_epoch.ts';
import { quiet } from './kafka.ts';
import { REDIS_DATABASES } from './shared_parts.ts';

/** Counts, in the last database of the shared Redis, how many of the others are taken. */
const TAKEN = 'taken';

/** Whether the tests of a run have a cluster for their Redis (`npm run test:cluster`). */
export const onCluster = (): boolean => readRedisAddress(inject('parts').addresses.redisUrl).kind === 'cluster';

/**
 * An empty database of the shared Redis for the tests of one file, or a cluster that is emptied for them. `flushdb` empties it; `flushall`
 * would empty everybody's.
 */
export function useRedis(): () => Server {
  let redis: Server;
  beforeAll(async () => {
    redis = onCluster() ? await emptyCluster() : (createRedis(await takeRedisDatabase(), quiet) as Server);
  });
  afterAll(() => redis.disconnect());
  return () => redis;
}

/** What tests ask of all keys is asked of every master. */
async function emptyCluster(): Promise<Server> {
  const redis = createRedis(inject('parts').addresses.redisUrl, quiet);
  await redis.ping();
  const all = <T>(ask: (node: Server) => Promise<T>): Promise<T[]> => Promise.all(nodesOf(redis, 'master').map(ask));
  const whole = Object.assign(redis, {
    flushdb: () => all((node) => node.flushdb()),
    keys: async (pattern: string) => (await all((node) => node.keys(pattern))).flat(),
  });
  await whole.flushdb();
  return whole as unknown as Server;
}

/** The address of a database of the shared Redis that nobody else has. */
async function takeRedisDatabase(): Promise<string> {
  const { redisUrl } = inject('parts').addresses;
  const counter = createRedis(`${redisUrl}/${REDIS_DATABASES - 1}`, quiet);
  const number = await counter.incr(TAKEN);
  counter.disconnect();
  return `${redisUrl}/${number}`;
}

/** Makes an index whole as it is, for a test that has nothing to rebuild. */
export async function beginIncarnation(epoch: IndexEpoch): Promise<void> {
  const state = await epoch.state();
  if (state.kind === 'whole') return;
  if (state.kind === 'moved') throw new Error('an index that was moved is not to be made whole');
  await epoch.take('test', 5_000);
  await epoch.complete('test', state.servers);
}
