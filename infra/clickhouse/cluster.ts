import { EVENT_TOPIC_DAYS } from '#infra/kafka/topics.ts';

/** The sharding key of each table; rows that replace each other are on the same shard. */
const SHARDED_BY: Record<string, string> = {
  event_rows: 'cityHash64(site_id, distinct_id)',
  person_links: 'cityHash64(site_id, person_id)',
  person_splits: 'cityHash64(site_id)',
  merged_persons: 'key',
  quota_usage: 'cityHash64(account_id, partition)',
  delivery_outcomes: 'cityHash64(site_id, event_id)',
  inventory: 'cityHash64(site_id, page)',
  duplicates: 'cityHash64(site_id, event_id)',
  repeat_checks: 'cityHash64(place)',
  repeated_events: 'cityHash64(site_id, event_hash)',
  erasing: 'cityHash64(erasure_id)',
  schema_migrations: 'cityHash64(name)',
  event_hours: 'rand()',
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

/**
 * Statements of a migration for a cluster, from those for one server: a table becomes a replicated one on each shard,
 * `<name>_local`, and a distributed one of its own name over it; everything is made on the whole cluster. Shard and replica
 * are the servers' macros. @throws NotShardedError for a table that is not named here.
 */
export function onCluster(statements: readonly string[], cluster: string, database: string): string[] {
  return statements.flatMap((statement) => {
    const [, kind = '', name = ''] =
      /^(CREATE TABLE IF NOT EXISTS|ALTER TABLE|DROP TABLE IF EXISTS|CREATE MATERIALIZED VIEW IF NOT EXISTS|CREATE (?:OR REPLACE )?(?:VIEW|DICTIONARY)(?: IF NOT EXISTS)?) (\w+)/.exec(
        statement,
      ) ?? [];
    const rest = statement.slice(kind.length + 1 + name.length);
    const made = `${kind} ${name} ON CLUSTER '${cluster}'${rest}`;
    if (kind === '') return [statement];
    if (kind.startsWith('CREATE TABLE')) return tables(kind, name, rest, cluster, database);
    if (kind.startsWith('ALTER')) return altered(name, rest, cluster);
    // A view has no second one; that it is not there is no error.
    if (kind.startsWith('DROP')) return [made, `${kind} ${name}_local ON CLUSTER '${cluster}'${rest}`];
    return [kind.includes('MATERIALIZED') ? onShards(made) : made];
  });
}

function tables(kind: string, name: string, rest: string, cluster: string, database: string): string[] {
  const key = SHARDED_BY[name];
  if (key === undefined) throw new NotShardedError(`${name} has no sharding key`);
  const place = `'/clickhouse/tables/{shard}/${database}/${name}', '{replica}'`;
  const replicated = rest
    .replace(/ENGINE = (\w*MergeTree)(?:\((.*)\))?/, (_whole, engine: string, given: string | undefined) =>
      given === undefined
        ? `ENGINE = Replicated${engine}(${place})`
        : `ENGINE = Replicated${engine}(${place}, ${given})`,
    )
    .replace(TOKENS_SET, TOKENS);
  return [
    `${kind} ${name}_local ON CLUSTER '${cluster}'${replicated}`,
    `${kind} ${name} ON CLUSTER '${cluster}' AS ${name}_local ENGINE = Distributed('${cluster}', '${database}', '${name}_local', ${key})`,
  ];
}

/** Columns, how they are computed, and comments are for both tables; an index only for the one that holds the rows. */
function altered(name: string, rest: string, cluster: string): string[] {
  const alter = (table: string): string =>
    `ALTER TABLE ${table} ON CLUSTER '${cluster}'${rest.replace(TOKENS_SET, TOKENS)}`;
  return /(COMMENT|ADD) COLUMN| ALIAS /.test(rest) ? [alter(`${name}_local`), alter(name)] : [alter(`${name}_local`)];
}

/** The table that holds a table's rows, as ALTER TABLE names it: on a cluster the replicated one of each shard. */
export function alteredTable(table: string, cluster: string | null): string {
  return cluster === null ? table : `${localTable(table, cluster)} ON CLUSTER '${cluster}'`;
}

/** The table that holds rows on one server. */
export function localTable(table: string, cluster: string | null): string {
  return cluster === null ? table : `${table}_local`;
}

/**
 * A materialised view works on each shard, on the rows there. What it makes stays there too, if it may be on any shard;
 * else it goes through the distributed table to the shard of its key.
 */
function onShards(statement: string): string {
  return statement
    .replace(/ TO (\w+) AS/, (whole, target: string) =>
      SHARDED_BY[target] === 'rand()' ? ` TO ${target}_local AS` : whole,
    )
    .replace(/\nFROM (\w+)/, '\nFROM $1_local');
}
