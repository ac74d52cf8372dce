import { readdirSync, readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import type { Warehouse } from '#infra/clickhouse/client.ts';
import { type Cluster, NotShardedError, onCluster } from '#infra/clickhouse/cluster.ts';
import { mergeNightly } from '#infra/clickhouse/merge_persons.ts';
import { migrate, statementsOf } from '#infra/clickhouse/migrate.ts';
import { keepDays } from '#infra/clickhouse/retention.ts';
import { declareTopics, TOPICS } from '#infra/kafka/topics.ts';
import { useClickhouse } from './warehouse_world.ts';

const FOLDER = new URL('../../../infra/clickhouse/migrations/', import.meta.url);
const create = useClickhouse();
const MAIN = { name: 'main', isReplicated: true };

function clusterStatements(url: string, cluster: Cluster = MAIN): string[] {
  return readdirSync(FOLDER)
    .sort()
    .flatMap((name) => onCluster(statementsOf(readFileSync(new URL(name, FOLDER), 'utf8'), url), cluster, 'svc'));
}

test('every migration is SQL for a cluster too, as ClickHouse reads it', async () => {
  const database = await create();
  const statements = clusterStatements(database.url);
  for (const statement of statements) {
    // Not query(), whose FORMAT at the end belongs to no such statement.
    const { stream } = await database.warehouse.exec({ query: `EXPLAIN AST ${statement}` });
    expect(await text(stream), statement).toMatch(/^(CreateQuery|AlterQuery|DropQuery|InsertQuery)/);
  }
  const made = statements.filter((statement) => /^(CREATE|ALTER|DROP)/.test(statement));
  expect(made.filter((statement) => !statement.includes(" ON CLUSTER 'main'"))).toEqual([]);
});

test('each table is replicated on each shard under the window of its tokens, and distributed by its own name', async () => {
  const { url } = await create();
  const statements = clusterStatements(url);
  const replicated = statements.filter((statement) => statement.includes('ENGINE = Replicated'));
  const names = replicated.map((statement) => /EXISTS (\w+)_local /.exec(statement)?.[1]);
  expect(names).toEqual([
    'person_links',
    'merged_persons',
    'person_splits',
    'event_rows',
    'event_hours',
    'duplicates',
    'repeat_checks',
    'repeated_events',
    'delivery_outcomes',
    'quota_usage',
    'inventory',
    'erasing',
    'person_seen',
    'currency_rates',
    'cohort_members',
  ]);
  for (const [index, name] of names.entries()) {
    expect(replicated[index]).toMatch(/ replicated_deduplication_window = \d+/);
    expect(secondsIn(replicated[index])).toBe(keptSeconds());
    expect(replicated[index]).toContain(`'/clickhouse/tables/{shard}/svc/${name}', '{replica}'`);
    expect(statements.filter((statement) => statement.includes(`'${name}_local', `))).toHaveLength(1);
  }
  const filled = statements.filter((statement) => statement.includes('MATERIALIZED VIEW'));
  expect(filled.map((statement) => / TO (\w+) AS(?:.|\n)*FROM (\w+)/.exec(statement)?.slice(1))).toEqual([
    ['merged_persons_local', 'person_links_local'],
    ['event_hours_local', 'event_rows_local'],
  ]);
});

const secondsIn = (statement = ''): number =>
  Number(/replicated_deduplication_window_seconds = (\d+)/.exec(statement)?.[1]);

/** How long the records of the topics are there that blocks are formed of. */
function keptSeconds(): number {
  const times = declareTopics([]).map(({ name, config }) => [name, Number(config['retention.ms'])] as const);
  return Number(new Map(times).get(TOPICS.identified)) / 1000;
}

test('a later migration changes columns of both tables, and what holds rows only where they are', () => {
  const changes = [
    "ADD COLUMN a Int8 DEFAULT 0 COMMENT 'A'",
    "COMMENT COLUMN a 'Ah'",
    'MODIFY COLUMN b Int8 ALIAS a + 1',
    'MODIFY COLUMN a LowCardinality(String) SETTINGS alter_sync = 0',
    'MODIFY COLUMN a UInt64',
    'ADD INDEX by_a a TYPE minmax',
    'MODIFY COLUMN a CODEC(T64, LZ4)',
    'MODIFY COLUMN a REMOVE TTL',
    'MODIFY SETTING non_replicated_deduplication_window = 5',
  ];
  const made = changes.map((change) => onCluster([`ALTER TABLE inventory ${change}`], MAIN, 'svc'));
  const of = (table: string, change: string): string => `ALTER TABLE ${table} ON CLUSTER 'main' ${change}`;
  expect(made.slice(0, 5)).toEqual(
    changes.slice(0, 5).map((change) => [of('inventory_local', change), of('inventory', change)]),
  );
  expect(made.slice(5, 8)).toEqual(changes.slice(5, 8).map((change) => [of('inventory_local', change)]));
  expect(made.at(-1)).toHaveLength(1);
  expect(secondsIn(made.at(-1)?.[0])).toBe(keptSeconds());
  expect(onCluster(['INSERT INTO inventory SELECT 1'], MAIN, 'svc')).toEqual(['INSERT INTO inventory SELECT 1']);
});

test('a table that nobody said how to spread is refused', () => {
  const statements = ['CREATE TABLE IF NOT EXISTS novelty (a Int8) ENGINE = MergeTree ORDER BY a'];
  expect(() => onCluster(statements, MAIN, 'svc')).toThrow(NotShardedError);
});

test('without replicas the tables are plain ones, and nothing is said to a cluster', async () => {
  const { url } = await create();
  const shards = { name: 'main', isReplicated: false };
  const statements = clusterStatements(url, shards);
  expect(statements.filter((statement) => /ON CLUSTER|Replicated|\{shard\}/.test(statement))).toEqual([]);
  const tables = (of: string): string[] => statements.filter((statement) => statement.includes(of));
  expect(tables('_local\n(')).toHaveLength(15);
  expect(tables("ENGINE = Distributed('main', 'svc', '")).toHaveLength(15);
  expect(tables('_local\n(').every((statement) => / non_replicated_deduplication_window = \d+/.test(statement))).toBe(
    true,
  );
});

/** A cluster that is told what it is told, and answers nothing but what `answer` says. */
function mute(answer: (query: string) => object[] = () => []) {
  const commands: string[] = [];
  const fake = {
    command: async ({ query }: { query: string }) => void commands.push(query),
    insert: async () => undefined,
    query: async ({ query }: { query: string }) => ({ json: async () => answer(query) }),
    alive: () => [fake],
  };
  return { commands, warehouse: fake as unknown as Warehouse };
}

test('what was applied is noted on every server, and one that is new gets what the others have now', async () => {
  const servers = (having: number) =>
    mute((query) => {
      if (query.includes('system.one')) return [{ found: 3 }];
      if (query.includes('create_table_query')) return [{ made: 'CREATE TABLE svc.things (a Int8) ENGINE = Log' }];
      if (query.includes("name = 'schema_migrations'")) return [{ found: having }];
      return query.startsWith('SELECT name, checksum') ? [{ name: '0001_baseline.sql', checksum: '' }] : [];
    });
  const toldBefore = async (having: number): Promise<string[]> => {
    const { commands, warehouse } = servers(having);
    await migrate(warehouse, 'http://127.0.0.1/svc', MAIN);
    const own = commands.findIndex((query) => query.includes('EXISTS schema_migrations'));
    expect(commands[own]).toMatch(
      /^CREATE TABLE IF NOT EXISTS schema_migrations ON CLUSTER 'main' .*\nENGINE = ReplicatedMergeTree\('\/clickhouse\/tables\/all\/svc\/schema_migrations', '\{shard\}-\{replica\}'\)/,
    );
    // No migration that was applied is applied again.
    expect(commands.join()).not.toContain('TABLE IF NOT EXISTS person_links_local');
    return commands.slice(0, own).map((query) => query.split('\n')[0] ?? '');
  };
  expect([await toldBefore(0), await toldBefore(3)]).toEqual([[], []]);
  expect(await toldBefore(2)).toEqual([
    "CREATE TABLE IF NOT EXISTS svc.things ON CLUSTER 'main' (a Int8) ENGINE = Log",
    "CREATE DICTIONARY IF NOT EXISTS merged_persons_base ON CLUSTER 'main'",
    "CREATE DICTIONARY IF NOT EXISTS merged_persons_recent ON CLUSTER 'main'",
    "SYSTEM SYNC REPLICA ON CLUSTER 'main' schema_migrations",
  ]);
});

test('migrations, ages and the rewriting of persons go to the whole cluster', async () => {
  const { commands, warehouse } = mute((query) => {
    if (query.includes(' AS month')) return [{ month: 202611, found: 1 }];
    return query.includes(' AS day') && !query.includes('event_rows') ? [{ day: '2026-01-02' }] : [];
  });
  const { applied } = await migrate(warehouse, 'http://127.0.0.1/svc', MAIN);
  expect(applied).toEqual(readdirSync(FOLDER).sort());
  expect(commands[0]).toContain('TABLE IF NOT EXISTS schema_migrations');
  const changes = commands.filter((query) => /^(CREATE|ALTER|DROP)/.test(query));
  expect(changes.filter((query) => !query.includes(" ON CLUSTER 'main'"))).toEqual([]);

  commands.length = 0;
  await keepDays(warehouse, 'inventory', 30, MAIN);
  await mergeNightly(warehouse, MAIN);
  const tables = commands.map((query) => query.split(/ MODIFY | UPDATE | PARTITION /)[0]);
  expect(tables).toEqual([
    "ALTER TABLE inventory_local ON CLUSTER 'main'",
    "ALTER TABLE merged_persons_local ON CLUSTER 'main' DROP",
    "SYSTEM RELOAD DICTIONARY ON CLUSTER 'main' merged_persons_base",
    'SYSTEM RELOAD DICTIONARY merged_persons_recent',
    "ALTER TABLE event_rows_local ON CLUSTER 'main'",
  ]);
});
