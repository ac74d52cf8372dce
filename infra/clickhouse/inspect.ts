// What a ClickHouse says of itself, for `svc doctor`.
import { select, type Warehouse, WarehouseError } from './client.ts';
import { type Cluster, ofAllServers } from './cluster.ts';
import { migrationsOf } from './migrate.ts';
import { PERSON_DICTIONARIES } from './person_dictionaries.ts';
import { readServerHealth } from './server_health.ts';

export type ClickhouseFacts = Awaited<ReturnType<typeof inspectClickhouse>>;

/** Of those that change what becomes of inserts. */
const SETTINGS = ['deduplicate_insert', 'max_execution_time', 'readonly'];

/**
 * Asks for version, settings, clock, tables, dictionaries, merges, mutations and disks. What this user may not read is null.
 *
 * @throws WarehouseError where it does not answer, or refuses the login.
 */
export async function inspectClickhouse(warehouse: Warehouse, cluster: Cluster | null, nowMs: () => number) {
  const askedMs = nowMs();
  const [server] = await select<{ version: string; now: string }>(
    warehouse,
    'SELECT version() AS version, toString(toUnixTimestamp64Milli(now64(3))) AS now',
  );
  const aheadMs = Math.round((askedMs + nowMs()) / 2 - Number(server?.now));
  const [settings, migrations, dictionaries, mutations, merges, health, servers] = await Promise.all([
    unlessRefused(
      select<{ name: string; value: string }>(
        warehouse,
        'SELECT name, value FROM system.settings WHERE name IN {names:Array(String)}',
        { names: SETTINGS },
      ),
    ),
    unlessRefused(migrationsOf(warehouse)),
    unlessRefused(
      select<{ name: string; status: string; failure: string }>(
        warehouse,
        `SELECT name, toString(status) AS status, extract(last_exception, '\\\\(([A-Z_]+)\\\\)') AS failure
         FROM ${ofAllServers('system.dictionaries', cluster)} WHERE database = currentDatabase() AND name IN {names:Array(String)}`,
        { names: [...PERSON_DICTIONARIES] },
        SKIPPING,
      ),
    ),
    unlessRefused(
      select<{ table: string; code: string }>(
        warehouse,
        `SELECT table, extract(latest_fail_reason, '\\\\(([A-Z_]+)\\\\)') AS code FROM ${ofAllServers('system.mutations', cluster)}
         WHERE database = currentDatabase() AND NOT is_done AND latest_fail_reason != '' LIMIT 20`,
        {},
        SKIPPING,
      ),
    ),
    unlessRefused(
      select<{ seconds: number; count: string }>(
        warehouse,
        `SELECT max(elapsed) AS seconds, toString(count()) AS count FROM ${ofAllServers('system.merges', cluster)}
         WHERE database = currentDatabase()`,
        {},
        SKIPPING,
      ),
    ),
    unlessRefused(readServerHealth(warehouse, cluster)),
    cluster === null ? null : unlessRefused(inspectServers(warehouse, cluster)),
  ]);
  return {
    version: server?.version ?? '',
    aheadMs,
    settings: settings && new Map(settings.map(({ name, value }) => [name, value])),
    ...{ migrations, dictionaries, mutations, health },
    cluster: cluster && { ...cluster, named: warehouse.servers.length, servers },
    longestMergeSeconds: merges === null ? null : (merges[0]?.seconds ?? 0),
  };
}

/** Answers of those servers that there are; whoever hangs is not waited for long. */
const SKIPPING = { skip_unavailable_shards: 1, receive_timeout: 10, handshake_timeout_ms: 3000 } as const;

/** A server of a cluster, by what the others know of it and what it says of itself. */
export interface ServerFacts {
  /** host:port, by which the others ask it. */
  address: string;
  shard: number;
  /** Whether rows for the shard are written to one replica, which the others copy. */
  isInternal: boolean;
  /** Of all columns and how they are made; null: it does not answer. */
  tables: string | null;
  /** How far the replica is behind, at the most; 0 where there are none. */
  delaySeconds: number;
  /** Whether it takes no rows, as it has lost Keeper. */
  isReadonly: boolean;
}

async function inspectServers(warehouse: Pick<Warehouse, 'query'>, { name }: Cluster): Promise<ServerFacts[]> {
  const all = (table: string): string => `clusterAllReplicas('${name}', ${table})`;
  const ask = <Row>(query: string): Promise<Row[]> => select<Row>(warehouse, query, { name }, SKIPPING);
  const [servers, tables, replicas] = await Promise.all([
    ask<{ address: string; shard: number; internal: number }>(
      `SELECT concat(host_name, ':', toString(port)) AS address, toUInt32(shard_num) AS shard, internal_replication AS internal
       FROM system.clusters WHERE cluster = {name:String} ORDER BY shard_num, replica_num`,
    ),
    // Each of them counts as a shard here, in the same order.
    ask<{ number: number; digest: string }>(
      `SELECT toUInt32(shardNum()) AS number, toString(groupBitXorIf(cityHash64(table, name, type, default_expression), database = currentDatabase())) AS digest
       FROM ${all('system.columns')} GROUP BY number`,
    ),
    ask<{ number: number; delay: number; readonly: number }>(
      `SELECT toUInt32(shardNum()) AS number, toFloat64(max(absolute_delay)) AS delay, toUInt8(max(is_readonly)) AS readonly
       FROM ${all('system.replicas')} WHERE database = currentDatabase() GROUP BY number`,
    ),
  ]);
  return servers.map(({ address, shard, internal }, index) => {
    const isThis = ({ number }: { number: number }): boolean => number === index + 1;
    const replica = replicas.find(isThis);
    return {
      ...{ address, shard, isInternal: internal === 1 },
      tables: tables.find(isThis)?.digest ?? null,
      delaySeconds: replica?.delay ?? 0,
      isReadonly: replica?.readonly === 1,
    };
  });
}

/** What the user may not read is not known. */
async function unlessRefused<T>(answer: Promise<T>): Promise<T | null> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof WarehouseError && /ACCESS_DENIED|UNKNOWN_TABLE/.test(error.message)) return null;
    throw error;
  }
}
