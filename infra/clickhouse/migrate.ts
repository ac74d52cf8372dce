// Migrations, and the credentials in dictionaries' sources.

import { hash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { ClickHouseError } from '@clickhouse/client';
import { run, select, type Warehouse, WarehouseError } from './client.ts';
import { type Cluster, DDL_SETTINGS, everywhere, ofAllServers, onCluster, WHO_ANSWERS } from './cluster.ts';
import { awaitMigrationsKnown, definitionsOf, hasServerWithout, runInRounds } from './new_servers.ts';
import type { Asked } from './servers.ts';
import { readClickhouseLogin } from './servers.ts';

/** A migration whose file has changed since it was applied: it is reported, and never applied again. */
interface MigrationMismatch {
  name: string;
  reason: 'changed' | 'unknown';
}

type Migration = ReturnType<typeof readMigrations>[number];

const FOLDER = new URL('./migrations/', import.meta.url);

const OWN_TABLE = `CREATE TABLE IF NOT EXISTS schema_migrations (name String, checksum String, applied_at DateTime DEFAULT now())
ENGINE = MergeTree ORDER BY name`;

/** Which migrations were applied now, and which differ from those that were applied before. */
export interface MigrationReport {
  applied: string[];
  mismatches: MigrationMismatch[];
}

/** What a server has to be told that is one by itself, or stands for its cluster. */
interface Told {
  server: Asked;
  /** Statements as it needs them. */
  variant(statements: readonly string[]): readonly string[];
}

/**
 * Applies the missing migrations of a folder in order, each statement by itself, and records a migration when all its
 * statements succeeded. On a cluster everything is made on all of its servers: on one that was away as soon as it is back, or,
 * where each is told by itself, when this is done again. @throws NotShardedError, WarehouseError; ClickHouseError of a statement
 */
export async function migrate(
  warehouse: Warehouse,
  url: string,
  cluster: Cluster | null = null,
  folder: URL = FOLDER,
): Promise<MigrationReport> {
  const { database } = readClickhouseLogin(url);
  const variant = (statements: readonly string[]): readonly string[] =>
    cluster === null ? statements : onCluster(statements, cluster, database);
  if (cluster?.isReplicated === false) await namesAll(warehouse, cluster);
  if (cluster?.isReplicated === true && (await hasServerWithout(warehouse, cluster))) {
    const on = ` ON CLUSTER '${cluster.name}'`;
    const dictionaries = onCluster(dictionaryStatements(url), cluster, database);
    await runInRounds(warehouse, [...(await definitionsOf(warehouse, on)), ...dictionaries], DDL_SETTINGS);
    await awaitMigrationsKnown(warehouse, cluster);
  }
  const migrations = readMigrations(folder);
  const report: MigrationReport = { applied: [], mismatches: [] };
  await everywhere(warehouse, cluster, async ({ server }) => {
    const { applied, mismatches } = await migrateOne({ server, variant }, migrations, (text) =>
      statementsOf(text, url),
    );
    report.applied = [...new Set([...report.applied, ...applied])].sort();
    report.mismatches = mismatches.length > 0 ? mismatches : report.mismatches;
  });
  return report;
}

async function migrateOne(
  { server, variant }: Told,
  migrations: readonly Migration[],
  statements: (text: string) => string[],
): Promise<MigrationReport> {
  for (const query of variant([OWN_TABLE])) await runOn(server, query);
  const done = await doneOn(server);
  const missing = migrations.filter(({ name }) => !done.has(name));
  for (const migration of missing) await apply(server, migration, variant(statements(migration.text)));
  return { applied: missing.map(({ name }) => name), mismatches: mismatchesOf(migrations, done) };
}

async function doneOn(server: Pick<Asked, 'query'>): Promise<Map<string, string>> {
  const rows = await select<Omit<Migration, 'text'>>(server, 'SELECT name, checksum FROM schema_migrations');
  return new Map(rows.map(({ name, checksum }) => [name, checksum]));
}

/** Where each server is told by itself, those have to be named that there are. */
async function namesAll(warehouse: Warehouse, { name }: Cluster): Promise<void> {
  const query = 'SELECT toUInt32(count()) AS servers FROM system.clusters WHERE cluster = {name:String}';
  const [row] = await select<{ servers: number }>(warehouse, query, { name });
  const named = warehouse.servers.length;
  if (row?.servers === named) return;
  const message = `CLICKHOUSE_URL names ${named} servers and the cluster has ${row?.servers}: all must be named`;
  throw new WarehouseError('warehouse_mismatch', message);
}

/** Migrations that are missing in a database, and those that differ from what was applied. @throws WarehouseError */
export async function migrationsOf(
  warehouse: Pick<Warehouse, 'query'>,
): Promise<{ missing: string[]; mismatches: MigrationMismatch[] }> {
  const done = await doneOn(warehouse);
  const migrations = readMigrations(FOLDER);
  const missing = migrations.flatMap(({ name }) => (done.has(name) ? [] : [name]));
  return { missing, mismatches: mismatchesOf(migrations, done) };
}

function readMigrations(folder: URL) {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.sql'))
    .sort()
    .map((name) => {
      const text = readFileSync(new URL(name, folder), 'utf8');
      return { name, text, checksum: hash('sha256', text, 'hex') };
    });
}

function mismatchesOf(migrations: readonly Migration[], done: ReadonlyMap<string, string>): MigrationMismatch[] {
  const known = new Map(migrations.map(({ name, checksum }) => [name, checksum]));
  return [...done].flatMap(([name, checksum]): MigrationMismatch[] => {
    const declared = known.get(name);
    if (declared === undefined) return [{ name, reason: 'unknown' }];
    return declared === checksum ? [] : [{ name, reason: 'changed' }];
  });
}

async function apply(server: Asked, migration: Migration, statements: readonly string[]): Promise<void> {
  for (const query of statements) await runOn(server, query);
  await server.insert({
    table: 'schema_migrations',
    values: [{ name: migration.name, checksum: migration.checksum }],
    format: 'JSONEachRow',
  });
}

/** Applied already where a column has its new name: a statement changes all that it says of a table, or nothing. */
async function runOn(server: Asked, query: string): Promise<void> {
  try {
    await server.command({ query, clickhouse_settings: DDL_SETTINGS });
  } catch (error) {
    const isRenamed = error instanceof ClickHouseError && error.type === 'DUPLICATE_COLUMN';
    if (!isRenamed || !query.includes('RENAME COLUMN')) throw error;
  }
}

/**
 * Statements of a file without its lines of comment, with `{user}`, `{password}`, `{database}` as quoted literals and
 * `{database_name}` bare.
 */
export function statementsOf(text: string, url: string): string[] {
  const { username, password, database } = readClickhouseLogin(url);
  const values: Record<string, string> = {
    user: quoted(username),
    password: quoted(password),
    database: quoted(database),
    database_name: database,
  };
  return text
    .replace(/^\s*--.*$/gm, '')
    .split(/;\s*$/m)
    .map((statement) => statement.trim().replace(/\{(\w+)\}/g, (whole, name: string) => values[name] ?? whole))
    .filter((statement) => statement !== '')
    .map((statement) =>
      statement.replace(/^CREATE (TABLE|VIEW|DICTIONARY|MATERIALIZED VIEW) /, 'CREATE $1 IF NOT EXISTS '),
    );
}

function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}

/** Before the digest in the comment of a dictionary; raised where digests are made otherwise. */
const MARK = 'source 1:';
/** Tells one password from another, and is too short to find it by. */
const DIGEST_CHARS = 6;

function sourceOf(url: string): string {
  const { username, password } = readClickhouseLogin(url);
  return MARK + hash('sha256', JSON.stringify([username, password]), 'hex').slice(0, DIGEST_CHARS);
}

/** Whether a dictionary reads with the user and the password of an address. @throws WarehouseError */
export async function readsAs(
  warehouse: Pick<Warehouse, 'query'>,
  url: string,
  cluster: Cluster | null,
): Promise<boolean> {
  const query = `SELECT toUInt32(count()) AS found FROM ${ofAllServers('system.tables', cluster)}
    WHERE database = {database:String} AND engine = 'Dictionary' AND comment = {comment:String}`;
  const { database } = readClickhouseLogin(url);
  const [row] = await select<{ found: number }>(warehouse, query, { database, comment: sourceOf(url) });
  return (row?.found ?? 0) > 0;
}

const nameOfDictionary = (statement: string): string | undefined =>
  /^CREATE DICTIONARY IF NOT EXISTS (\w+)/.exec(statement)?.[1];

/** The last statement that makes each dictionary, with the comment by which it is told whose login it reads by. */
function dictionaryStatements(url: string): string[] {
  const statements = new Map<string, string>();
  for (const statement of readMigrations(FOLDER).flatMap(({ text }) => statementsOf(text, url))) {
    const name = nameOfDictionary(statement);
    if (name !== undefined) statements.set(name, `${statement}\nCOMMENT '${sourceOf(url)}'`);
  }
  return [...statements.values()];
}

/**
 * A dictionary reads with the user and the password that were written into it, so those that were made with others are made
 * anew: after a rotation every query of `events` fails else. Resolves to the names of these. @throws WarehouseError
 */
export async function renewDictionaries(
  warehouse: Warehouse,
  url: string,
  cluster: Cluster | null = null,
): Promise<string[]> {
  const { database } = readClickhouseLogin(url);
  const comment = sourceOf(url);
  const statements = dictionaryStatements(url);
  const renewed = new Set<string>();
  const tables = ofAllServers('system.tables', cluster?.isReplicated ? cluster : null);
  await everywhere(warehouse, cluster, async ({ server }) => {
    const dictionaries = await select<{ name: string; comments: string[] }>(
      server,
      `SELECT name, groupUniqArray(comment) AS comments FROM ${tables}
       WHERE database = currentDatabase() AND engine = 'Dictionary' GROUP BY name`,
      {},
      WHO_ANSWERS,
    );
    const known = new Map(dictionaries.map(({ name, comments }) => [name, comments.join()]));
    for (const statement of statements) {
      const name = nameOfDictionary(statement) ?? '';
      if (known.get(name) === comment) continue;
      const query = statement.replace('CREATE DICTIONARY IF NOT EXISTS', 'CREATE OR REPLACE DICTIONARY');
      for (const one of cluster === null ? [query] : onCluster([query], cluster, database)) {
        // What refers to a dictionary does so by its name, and finds the new one under it.
        await run(server, one, {}, { ...DDL_SETTINGS, check_table_dependencies: 0 });
      }
      renewed.add(name);
    }
  });
  return [...renewed];
}
