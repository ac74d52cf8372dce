import { afterAll, inject } from 'vitest';
import { createWarehouse } from '#infra/clickhouse/client.ts';
import { createRedis } from '#infra/redis/connection.ts';
import { kafkaOf, quiet } from './kafka.ts';
import type { SharedParts } from './shared_parts.ts';

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
    const warehouse = createWarehouse(addresses.clickhouseUrl);
    // The database itself must stay: nobody logs in whose default database is not there.
    const query = "SELECT name, engine FROM system.tables WHERE database = 'svc'";
    const tables = await (await warehouse.query({ query, format: 'JSONEachRow' })).json<{
      name: string;
      engine: string;
    }>();
    for (const { name, engine } of tables) {
      const kind = engine === 'Dictionary' ? 'DICTIONARY' : engine === 'View' ? 'VIEW' : 'TABLE';
      const settings = { check_table_dependencies: 0, check_referential_table_dependencies: 0 } as const;
      await warehouse.command({ query: `DROP ${kind} IF EXISTS \`${name}\` SYNC`, clickhouse_settings: settings });
    }
    await warehouse.close();
  },
};

/**
 * The names that an installation of the service has on the shared parts: its topics and the first database of Redis, or the database
 * `svc` of ClickHouse, which are empty. One file has them at a time: those files are a project of their own.
 */
export function useInstallation(names: keyof typeof CLEAR): () => SharedParts {
  afterAll(() => CLEAR[names](inject('parts')));
  return () => inject('parts');
}
