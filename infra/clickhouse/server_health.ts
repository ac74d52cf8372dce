// How near ClickHouse is to refusing inserts: active parts of its partitions, and free space of its disks, for metrics.
import { repeat } from '#infra/concurrency/time_limits.ts';
import type { Logger } from '#infra/log/logger.ts';
import type { Metrics } from '#infra/metrics/metrics.ts';
import { select, type Warehouse } from './client.ts';
import { type Cluster, ofAllServers } from './cluster.ts';

const READ_MS = 30_000;
/** Tables and disks told of at the most, the fullest. */
const NAMES_MAX = 50;

interface ServerHealth {
  /** Of the partition of a table that has the most; from 3,000 on, by default, it refuses inserts. */
  parts: readonly { table: string; parts: number }[];
  /** Of the server where the least of it is free, from 0 to 1. */
  disks: readonly { disk: string; free: number }[];
}

const OF_THOSE_THERE = { skip_unavailable_shards: 1 } as const;

/** Active parts of the tables of the database, and the disks, of all servers. @throws WarehouseError */
export async function readServerHealth(
  warehouse: Pick<Warehouse, 'query'>,
  cluster: Cluster | null,
): Promise<ServerHealth> {
  const [parts, disks] = await Promise.all([
    select<ServerHealth['parts'][number]>(
      warehouse,
      `SELECT table, toUInt32(max(held)) AS parts FROM (
         SELECT hostName() AS host, table, partition_id, count() AS held FROM ${ofAllServers('system.parts', cluster)}
         WHERE active AND database = currentDatabase() GROUP BY host, table, partition_id
       ) GROUP BY table ORDER BY parts DESC LIMIT ${NAMES_MAX}`,
      {},
      OF_THOSE_THERE,
    ),
    select<ServerHealth['disks'][number]>(
      warehouse,
      `SELECT name AS disk, min(free_space / total_space) AS free FROM ${ofAllServers('system.disks', cluster)}
       WHERE total_space > 0 GROUP BY name ORDER BY free LIMIT ${NAMES_MAX}`,
      {},
      OF_THOSE_THERE,
    ),
  ]);
  return { parts, disks };
}

/** Which servers of an address with several answer. */
export function tellServers(
  { servers, alive }: Pick<Warehouse, 'servers' | 'alive'>,
  metrics: Pick<Metrics, 'read'>,
): void {
  if (servers.length < 2) return;
  const help = 'Whether a server that CLICKHOUSE_URL names answers';
  metrics.read('svc_clickhouse_server_alive', help, ['server'], () => {
    const there = new Set(alive());
    return servers.map((server) => [{ server: new URL(server.url).host }, there.has(server) ? 1 : 0]);
  });
}

/** Reads it every half minute until it is stopped; while that fails nothing is told, which is logged once. Returns what stops it. */
export function watchServerHealth(
  warehouse: Pick<Warehouse, 'query'>,
  cluster: Cluster | null,
  metrics: Pick<Metrics, 'gauge'>,
  logger: Pick<Logger, 'warn'>,
): () => void {
  const partsHelp = 'Active parts of the partition of a table that has the most';
  const parts = metrics.gauge('svc_clickhouse_parts', partsHelp, ['table']);
  const free = metrics.gauge('svc_clickhouse_disk_free_ratio', 'Free space of a disk of ClickHouse', ['disk']);
  let hasFailed = false;
  async function read(): Promise<void> {
    const found = await readServerHealth(warehouse, cluster);
    parts.reset();
    free.reset();
    for (const one of found.parts) parts.set({ table: one.table }, one.parts);
    for (const one of found.disks) free.set({ disk: one.disk }, one.free);
    hasFailed = false;
  }
  const failed = (error: unknown): void => {
    parts.reset();
    free.reset();
    if (!hasFailed) logger.warn({ err: error }, 'parts and disks of ClickHouse not read');
    hasFailed = true;
  };
  void read().catch(failed);
  return repeat(read, () => READ_MS, failed);
}
