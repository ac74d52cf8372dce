// A server that was added to a cluster with replicas, and has none of its tables yet.

import { ClickHouseError, type ClickHouseSettings } from '@clickhouse/client';
import { run, SIGNS_OF_LIFE, select, type Warehouse } from './client.ts';
import { type Cluster, ofAllServers } from './cluster.ts';
import type { Asked } from './servers.ts';

/** Whether a server of a cluster knows of no migration, while others do. */
export async function hasServerWithout(warehouse: Warehouse, cluster: Cluster): Promise<boolean> {
  const having = `SELECT toUInt32(uniqExact(hostName(), tcpPort())) AS found FROM ${ofAllServers('system.tables', cluster)}
    WHERE database = currentDatabase() AND name = 'schema_migrations'`;
  const all = `SELECT toUInt32(uniqExact(hostName(), tcpPort())) AS found FROM ${ofAllServers('system.one', cluster)}`;
  const ask = (query: string) => select<{ found: number }>(warehouse, query, {}, { skip_unavailable_shards: 1 });
  const [have, are] = await Promise.all([having, all].map(ask));
  const count = have?.[0]?.found ?? 0;
  return count > 0 && count < (are?.[0]?.found ?? 0);
}

/**
 * The statements that make everything of a database as it is now, where it is missing: by migrations a new replica would be made as the
 * tables were once, which Keeper refuses. Without dictionaries, whose passwords a server does not tell.
 *
 * @param on ` ON CLUSTER 'main'`: where there is everything already nothing is done.
 * @throws WarehouseError
 */
export async function definitionsOf(server: Pick<Asked, 'query'>, on: string): Promise<string[]> {
  const query = `SELECT create_table_query AS made FROM system.tables
    WHERE database = currentDatabase() AND engine != 'Dictionary' AND NOT is_temporary ORDER BY name`;
  const definitions = await select<{ made: string }>(server, query);
  return definitions.map(({ made }) =>
    made.replace(
      /^CREATE (TABLE|VIEW|MATERIALIZED VIEW) (\S+)/,
      (_whole, kind: string, name: string) => `CREATE ${kind} IF NOT EXISTS ${name}${on}`,
    ),
  );
}

/**
 * Runs statements that need each other in an order that nobody says: again and again those that failed, as long as others succeed.
 *
 * @throws ClickHouseError of the last that failed
 */
export async function runInRounds(
  server: Asked,
  statements: readonly string[],
  settings: ClickHouseSettings,
): Promise<void> {
  let left = statements;
  while (left.length > 0) {
    const failed: string[] = [];
    let failure: unknown;
    for (const query of left) {
      try {
        await server.command({ query, clickhouse_settings: settings });
      } catch (error) {
        if (!(error instanceof ClickHouseError)) throw error;
        failed.push(query);
        failure = error;
      }
    }
    if (failed.length === left.length) throw failure;
    left = failed;
  }
}

/** Waits until every replica knows which migrations were applied: a new one that is asked before would say none. */
export function awaitMigrationsKnown(warehouse: Warehouse, { name }: Cluster): Promise<void> {
  return run(warehouse, `SYSTEM SYNC REPLICA ON CLUSTER '${name}' schema_migrations`, {}, SIGNS_OF_LIFE);
}
