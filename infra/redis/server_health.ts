// How full Redis is, and whether it stores what it is told: what it says of itself, for metrics.
import { repeat } from '#infra/concurrency/time_limits.ts';
import type { Metrics } from '#infra/metrics/metrics.ts';
import { infoFields, mastersOf, withRedisErrors } from './client.ts';
import type { Redis } from './connection.ts';

const READ_MS = 30_000;

/**
 * Reads what INFO answers: memory used of what it may have, or of the machine's where it has no limit; and whether the last
 * writes to the append-only file and the last snapshot were stored, as on a full disk they are not. Null where it does not say.
 */
export function readServerHealth(info: string): { memoryRatio: number | null; isStoring: boolean | null } {
  const fields = infoFields(info);
  const used = Number(fields.get('used_memory') ?? Number.NaN);
  const limit = Number(fields.get('maxmemory') ?? 0) || Number(fields.get('total_system_memory') ?? 0);
  const writes = ['aof_last_write_status', 'rdb_last_bgsave_status'].flatMap((name) => fields.get(name) ?? []);
  return {
    memoryRatio: Number.isNaN(used) || limit === 0 ? null : used / limit,
    isStoring: writes.length === 0 ? null : writes.every((status) => status === 'ok'),
  };
}

/**
 * Asks Redis every half minute until it is stopped; of a cluster the fullest master is told, and whether all store. While one does
 * not answer nothing is told. Returns what stops it.
 */
export function watchServerHealth(redis: Redis, metrics: Pick<Metrics, 'read'>): () => void {
  let health: ReturnType<typeof readServerHealth> | null = null;
  const memoryHelp = 'Memory of Redis, as a share of maxmemory or else of the memory of its machine';
  metrics.read('svc_redis_memory_ratio', memoryHelp, [], () => told(health?.memoryRatio));
  metrics.read('svc_redis_storing', 'Whether Redis stored its last writes on disk', [], () =>
    told(health?.isStoring === undefined || health.isStoring === null ? null : Number(health.isStoring)),
  );
  async function read(): Promise<void> {
    const infos = await Promise.all((await mastersOf(redis)).map((node) => withRedisErrors(node.info())));
    const each = infos.map(readServerHealth);
    const ratios = each.flatMap(({ memoryRatio }) => memoryRatio ?? []);
    const storing = each.flatMap(({ isStoring }) => isStoring ?? []);
    health = {
      memoryRatio: ratios.length === 0 ? null : Math.max(...ratios),
      isStoring: storing.length === 0 ? null : storing.every(Boolean),
    };
  }
  // That it is away is told by whoever waits for it.
  const away = (): void => {
    health = null;
  };
  void read().catch(away);
  return repeat(read, () => READ_MS, away);
}

const told = (value: number | null | undefined): [Record<string, string>, number][] =>
  value === null || value === undefined ? [] : [[{}, value]];
