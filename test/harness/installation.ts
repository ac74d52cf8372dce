import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, inject } from 'vitest';
import { createWarehouse } from '#infra/clickhouse/client.ts';
import { createRedis } from '#infra/redis/client.ts';
import { kafkaOf, quiet } from './kafka.ts';
import { REDIS_DATABASES, type SharedParts } from './shared_parts.ts';
import { until } from './until.ts';

/** Others may have it before, one after the other. */
const WAIT_MS = 280_000;

/** Takes away what a file left under the service's own names. */
const CLEAR = {
  /** Topics of tests have a hyphen in their name (`uniqueName`); those of the service have none. */
  async topics({ addresses }: SharedParts): Promise<void> {
    const admin = kafkaOf(addresses.kafkaBrokers).admin();
    await admin.connect();
    const topics = (await admin.listTopics()).filter((name) => !/^(__|kafkasql)|-/.test(name));
    if (topics.length > 0) await admin.deleteTopics({ topics });
    await admin.disconnect();
    const redis = createRedis(addresses.redisUrl, quiet);
    await redis.flushdb();
    redis.disconnect();
  },
  async database({ addresses }: SharedParts): Promise<void> {
    const url = new URL(addresses.clickhouseUrl);
    url.pathname = '/default';
    const warehouse = createWarehouse(url.href);
    await warehouse.command({ query: 'DROP DATABASE svc SYNC SETTINGS check_table_dependencies = 0' });
    await warehouse.command({ query: 'CREATE DATABASE svc' });
    await warehouse.close();
  },
};

/**
 * The names that an installation of the service has on the shared parts, for one file at a time: its topics and the first database
 * of Redis, or the database `svc` of ClickHouse, which are empty.
 */
export function useInstallation(names: keyof typeof CLEAR): () => SharedParts {
  const holder = randomUUID();
  const key = `installation:${names}`;
  const holders = () => createRedis(`${inject('parts').addresses.redisUrl}/${REDIS_DATABASES - 1}`, quiet);
  beforeAll(async () => {
    const redis = holders();
    const take = async () => (await redis.set(key, holder, 'NX')) === 'OK';
    await until(`the ${names} of the shared parts to be free`, take, Boolean, { timeoutMs: WAIT_MS }).finally(() =>
      redis.disconnect(),
    );
  }, WAIT_MS);
  afterAll(async () => {
    const redis = holders();
    await CLEAR[names](inject('parts')).finally(() => redis.del(key));
    redis.disconnect();
  });
  return () => inject('parts');
}
