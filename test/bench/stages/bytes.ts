import { statSync } from 'node:fs';
import { createWarehouse } from '#infra/clickhouse/client.ts';
import { TOPICS } from '#infra/kafka/topics.ts';
import { createLogger } from '#infra/log/logger.ts';
import { createRedis } from '#infra/redis/connection.ts';
import type { LocalAddresses } from '#services/local/parts/parts.ts';
import { filesBelow } from '#test/harness/byte_search.ts';
import { one } from '../warehouse_alone.ts';

interface HeldWhere {
  addresses: Pick<LocalAddresses, 'redisUrl' | 'clickhouseUrl'>;
  dataDir: string;
}

export const EVENT_TOPICS: readonly string[] = [TOPICS.raw, TOPICS.unique, TOPICS.identified, TOPICS.duplicates];

/** By name the bytes that each part holds now of events. */
export async function bytesHeld({ addresses, dataDir }: HeldWhere): Promise<Record<string, number>> {
  const segments = filesBelow(dataDir).filter((path) => path.endsWith('.log'));
  const ofTopic = (topic: string): number =>
    segments
      .filter((path) => new RegExp(`/${topic}-\\d+/\\d+\\.log$`).test(path))
      .reduce((sum, path) => sum + statSync(path).size, 0);
  const redis = createRedis(addresses.redisUrl, createLogger('bench', 'warn'));
  const used = /^used_memory:(\d+)/m.exec(await redis.info('memory'))?.[1];
  redis.disconnect();
  const warehouse = createWarehouse(addresses.clickhouseUrl);
  const query = `SELECT sum(bytes_on_disk) AS bytes FROM system.parts
    WHERE database = currentDatabase() AND table = 'event_rows' AND active`;
  const rows = await one<{ bytes: string }>(warehouse, query);
  await warehouse.close();
  return {
    ...Object.fromEntries(EVENT_TOPICS.map((topic) => [topic, ofTopic(topic)])),
    'redis memory': Number(used),
    event_rows: Number(rows?.bytes),
  };
}
