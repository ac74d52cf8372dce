// Migrations, and the credentials in dictionaries' sources.

import { hash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { databaseOf, run, SIGNS_OF_LIFE, select, type Warehouse } from './client.ts';
import { onCluster } from './cluster.ts';

/** A migration whose file has changed since it was applied: it is reported, and never applied again. */
interface MigrationMismatch {
  name: string;
  reason: 'changed' | 'unknown';
}

type Migration = ReturnType<typeof readMigrations>[number];

const FOLDER = new URL('./migrations/', import.meta.url);

const OWN_TABLE = `CREATE TABLE IF NOT EXISTS schema_migrations (name String, checksum String, applied_at DateTime DEFAULT now())
ENGINE = MergeTree ORDER BY name`;

/**
 * Applies the missing migrations of a folder in order, each statement by itself, and records a migration when all its
 * statements succeeded. With a cluster, everything is made on all of its servers. @throws NotShardedError
 */
export async function migrate(
  warehouse: Warehouse,
  url: string,
  cluster: string | null = null,
  folder: URL = FOLDER,
): Promise<{ applied: string[]; mismatches: MigrationMismatch[] }> {
  const variant = (statements: readonly string[]): readonly string[] =>
    cluster === null ? statements : onCluster(statements, cluster, databaseOf(url));
  for (const made of variant([OWN_TABLE])) await warehouse.command({ query: made });
  const query = 'SELECT name, checksum FROM schema_migrations';
  const rows = await (await warehouse.query({ query, format: 'JSONEachRow' })).json<Omit<Migration, 'text'>>();
  const done = new Map(rows.map(({ name, checksum }) => [name, checksum]));
  const migrations = readMigrations(folder);
  const applied: string[] = [];
  for (const migration of migrations) {
    if (done.has(migration.name)) continue;
    await apply(warehouse, migration, variant(statementsOf(migration.text, url)));
    applied.push(migration.name);
  }
  return { applied, mismatches: mismatchesOf(migrations, done) };
}

/** Migrations that are missing in a database, and those that differ from what was applied. @throws WarehouseError */
export async function migrationsOf(
  warehouse: Pick<Warehouse, 'query'>,
): Promise<{ missing: string[]; mismatches: MigrationMismatch[] }> {
  const rows = await select<Omit<Migration, 'text'>>(warehouse, 'SELECT name, checksum FROM schema_migrations');
  const done = new Map(rows.map(({ name, checksum }) => [name, checksum]));
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

/** A statement that an interrupted run has executed already answers "exists", which is ignored. */
async function apply(warehouse: Warehouse, migration: Migration, statements: readonly string[]): Promise<void> {
  for (const query of statements) await warehouse.command({ query, clickhouse_settings: SIGNS_OF_LIFE });
  await warehouse.insert({
    table: 'schema_migrations',
    values: [{ name: migration.name, checksum: migration.checksum }],
    format: 'JSONEachRow',
    clickhouse_settings: { distributed_foreground_insert: 1 },
  });
}

/**
 * Statements of a file without its lines of comment, with `{user}`, `{password}`, `{database}` as quoted literals and
 * `{database_name}` bare.
 */
export function statementsOf(text: string, url: string): string[] {
  const parsed = new URL(url);
  const database = databaseOf(url);
  const values: Record<string, string> = {
    user: quoted(decodeURIComponent(parsed.username) || 'default'),
    password: quoted(decodeURIComponent(parsed.password)),
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

/**
 * A dictionary reads with the user and the password that were written into it, so those that were made with others are made
 * anew: after a rotation every query of `events` fails else. Resolves to the names of these. @throws WarehouseError
 */
export async function renewDictionaries(
  warehouse: Warehouse,
  url: string,
  cluster: string | null = null,
): Promise<string[]> {
  const { username, password } = new URL(url);
  const comment = MARK + hash('sha256', JSON.stringify([username, password]), 'hex').slice(0, DIGEST_CHARS);
  // The last statement that makes each, as it is applied.
  const statements = new Map<string, string>();
  for (const statement of readMigrations(FOLDER).flatMap(({ text }) => statementsOf(text, url))) {
    const name = /^CREATE DICTIONARY IF NOT EXISTS (\w+)/.exec(statement)?.[1];
    if (name !== undefined) statements.set(name, statement);
  }
  const dictionaries = await select<Record<'name' | 'comment', string>>(
    warehouse,
    "SELECT name, comment FROM system.tables WHERE database = currentDatabase() AND engine = 'Dictionary'",
  );
  const known = new Map(dictionaries.map((one) => [one.name, one.comment]));
  const renewed: string[] = [];
  for (const [name, statement] of statements) {
    if (known.get(name) === comment) continue;
    const made = statement.replace('CREATE DICTIONARY IF NOT EXISTS', 'CREATE OR REPLACE DICTIONARY');
    const query = `${made}\nCOMMENT '${comment}'`;
    for (const one of cluster === null ? [query] : onCluster([query], cluster, databaseOf(url))) {
      // What refers to a dictionary does so by its name, and finds the new one under it.
      await run(warehouse, one, {}, { check_table_dependencies: 0 });
    }
    renewed.push(name);
  }
  return renewed;
}
