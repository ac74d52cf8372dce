// What is different where rows are on several servers: tables of the shards with one over them all, and statements for each.

import { EVENT_TOPIC_DAYS } from '#infra/kafka/topics.ts';
import { run, SIGNS_OF_LIFE } from './client.ts';
import type { Asked, Warehouse } from './servers.ts';

/** Several servers, each with the rows of a shard. */
export interface Cluster {
  /** As `remote_servers` of each of them names it. */
  name: string;
  /** Tables have replicas and statements go to all by ON CLUSTER. Else a shard is one server, and each is told by itself. */
  isReplicated: boolean;
}

/**
 * The sharding key of each table: of columns of its sort key, so that rows which replace each other are on the same shard. Events
 * are by visitor and not by person: whom a visitor belongs to changes. What a question knows of a person is put together from all
 * shards.
 */
const SHARDED_BY: Record<string, string> = {
  event_rows: 'cityHash64(site_id, distinct_id)',
  person_links: 'cityHash64(site_id, cityHash64(person_id))',
  person_splits: 'cityHash64(site_id)',
  person_seen: 'cityHash64(site_id, person_hash)',
  // That of the links which they are made of.
  merged_persons: 'key',
  quota_usage: 'cityHash64(account_id, partition)',
  delivery_outcomes: 'cityHash64(site_id, event_id)',
  inventory: 'cityHash64(site_id, page)',
  duplicates: 'cityHash64(site_id, event_id)',
  repeat_checks: 'cityHash64(place)',
  repeated_events: 'cityHash64(site_id, event_hash)',
  erasing: 'cityHash64(erasure_id)',
  event_hours: 'rand()',
  currency_rates: 'cityHash64(currency)',
  cohort_members: 'cityHash64(site_id, value)',
};

/**
 * For how long and how many tokens of blocks a replicated table keeps. A block may be inserted again as long as its records
 * are on the topic. The default is an hour. Each warehouse process inserts about one block a second at the most;
 * rows of a block whose token is forgotten are looked for in the table.
 */
const TOKENS = `replicated_deduplication_window = 100000, replicated_deduplication_window_seconds = ${EVENT_TOPIC_DAYS * 86_400}`;
const TOKENS_SET = /non_replicated_deduplication_window = \d+/;

export class NotShardedError extends Error {
  readonly code = 'table_not_sharded';
}

/** What each server has whole: the replicas of such a table are in all shards. */
const WHOLE: ReadonlySet<string> = new Set(['schema_migrations']);

/**
 * Statements of a migration for a cluster, from those for one server: a table becomes one on each shard, `<name>_local`, and a
 * distributed one of its own name over it. Where there are replicas everything is made on the whole cluster; shard and replica
 * are the servers' macros. @throws NotShardedError for a table that is not named here.
 */
export function onCluster(statements: readonly string[], cluster: Cluster, database: string): string[] {
  const on = cluster.isReplicated ? ` ON CLUSTER '${cluster.name}'` : '';
  return statements.flatMap((statement) => {
    const [, kind = '', name = ''] =
      /^(CREATE TABLE IF NOT EXISTS|ALTER TABLE|DROP TABLE IF EXISTS|CREATE MATERIALIZED VIEW IF NOT EXISTS|CREATE (?:OR REPLACE )?(?:VIEW|DICTIONARY)(?: IF NOT EXISTS)?) (\w+)/.exec(
        statement,
      ) ?? [];
    const rest = statement.slice(kind.length + 1 + name.length);
    const made = `${kind} ${name}${on}${rest}`;
    if (kind === '') return [statement];
    if (kind.startsWith('CREATE TABLE')) return tables(kind, name, rest, cluster, database);
    if (kind.startsWith('ALTER')) return altered(name, rest, cluster);
    // A view has no second one; that it is not there is no error.
    if (kind.startsWith('DROP')) return [made, `${kind} ${name}_local${on}${rest}`];
    return [kind.includes('MATERIALIZED') ? onShards(made) : made];
  });
}

function tables(kind: string, name: string, rest: string, cluster: Cluster, database: string): string[] {
  const on = cluster.isReplicated ? ` ON CLUSTER '${cluster.name}'` : '';
  if (WHOLE.has(name)) return [`${kind} ${name}${on}${kept(rest, 'all', name, cluster, database)}`];
  const key = SHARDED_BY[name];
  if (key === undefined) throw new NotShardedError(`${name} has no sharding key`);
  return [
    `${kind} ${name}_local${on}${kept(rest, '{shard}', name, cluster, database)}`,
    `${kind} ${name}${on} AS ${name}_local ENGINE = Distributed('${cluster.name}', '${database}', '${name}_local', ${key})`,
  ];
}

/** How a table keeps its rows on one server. */
function kept(rest: string, shard: string, name: string, { isReplicated }: Cluster, database: string): string {
  if (!isReplicated) return rest;
  const replica = shard === 'all' ? '{shard}-{replica}' : '{replica}';
  const place = `'/clickhouse/tables/${shard}/${database}/${name}', '${replica}'`;
  return rest
    .replace(/ENGINE = (\w*MergeTree)(?:\((.*)\))?/, (_whole, engine: string, given: string | undefined) =>
      given === undefined
        ? `ENGINE = Replicated${engine}(${place})`
        : `ENGINE = Replicated${engine}(${place}, ${given})`,
    )
    .replace(TOKENS_SET, TOKENS);
}

/**
 * Columns, their names and types, how they are computed, and comments are for both tables; an index, and what else there is of how rows
 * lie, only for the one that holds them. A change is on a line of its own.
 */
function altered(name: string, rest: string, { name: cluster, isReplicated }: Cluster): string[] {
  const alter = (table: string, changes: string): string =>
    isReplicated
      ? `ALTER TABLE ${table} ON CLUSTER '${cluster}'${changes.replace(TOKENS_SET, TOKENS)}`
      : `ALTER TABLE ${table}${changes}`;
  const local = alter(`${name}_local`, rest);
  return /(COMMENT|ADD|RENAME) COLUMN| (ALIAS|DEFAULT) |MODIFY COLUMN \w+ (?!(CODEC|TTL|REMOVE|MODIFY|RESET)\b)[A-Z]/.test(
    rest,
  )
    ? [local, alter(name, rest.replace(/,\n\s+MODIFY ORDER BY .*/, ''))]
    : [local];
}

/**
 * Statements for a cluster stand in a queue of each of its servers: one that is away comes to them when it is back, in their order,
 * and is not waited for longer than this.
 */
export const DDL_SETTINGS = {
  ...SIGNS_OF_LIFE,
  distributed_ddl_output_mode: 'null_status_on_timeout',
  distributed_ddl_task_timeout: '60',
} as const;

/** For what is asked of all servers, and is worth having of those that answer. */
export const WHO_ANSWERS = { skip_unavailable_shards: 1 } as const;

/** A server to which a statement goes that changes tables, and what stands in it behind the name of the table. */
export interface Place {
  server: Asked;
  /** ` ON CLUSTER 'main'`: for all servers. */
  on: string;
}

/** Where a statement has to go so that it changes a table on every server. */
function placesOf(warehouse: Warehouse, cluster: Cluster | null): Place[] {
  if (cluster?.isReplicated === false) return warehouse.servers.map((server) => ({ server, on: '' }));
  return [{ server: warehouse, on: cluster === null ? '' : ` ON CLUSTER '${cluster.name}'` }];
}

/** Does something at each place, also where another place fails. @throws the first failure */
export async function everywhere(
  warehouse: Warehouse,
  cluster: Cluster | null,
  work: (place: Place) => Promise<unknown>,
): Promise<void> {
  const outcomes = await Promise.allSettled(placesOf(warehouse, cluster).map(work));
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
}

/** Alters a table's rows, or how it keeps them, on every server. @throws WarehouseError */
export function alterRows(
  warehouse: Warehouse,
  cluster: Cluster | null,
  table: string,
  change: string,
  settings: Parameters<typeof run>[3] = {},
): Promise<void> {
  return everywhere(warehouse, cluster, ({ server, on }) =>
    run(server, `ALTER TABLE ${localTable(table, cluster)}${on} ${change}`, {}, settings),
  );
}

/** Waits until each replica has what any of them has had. Without replicas there is nothing to wait for. @throws WarehouseError */
export async function syncReplicas(
  warehouse: Warehouse,
  cluster: Cluster | null,
  tables: readonly string[],
): Promise<void> {
  if (!cluster?.isReplicated) return;
  for (const table of tables) {
    await everywhere(warehouse, cluster, ({ server, on }) =>
      run(server, `SYSTEM SYNC REPLICA${on} ${localTable(table, cluster)} LIGHTWEIGHT`, {}, SIGNS_OF_LIFE),
    );
  }
}

/** A system table of all servers. */
export function ofAllServers(table: string, cluster: Cluster | null): string {
  return cluster === null ? table : `clusterAllReplicas('${cluster.name}', ${table})`;
}

/** The table that holds rows on one server. */
export function localTable(table: string, cluster: Cluster | null): string {
  return cluster === null ? table : `${table}_local`;
}

/**
 * A materialised view works on each shard, on the rows there, and what it makes stays there: its table is spread as the one that it
 * reads. Through the distributed table what two shards make of one block would come to a third under one token, and all but the
 * first be dropped.
 */
function onShards(statement: string): string {
  return statement.replace(/ TO (\w+) AS/, ' TO $1_local AS').replace(/\nFROM (\w+)/, '\nFROM $1_local');
}
