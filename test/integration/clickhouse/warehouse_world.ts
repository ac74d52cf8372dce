import { afterAll, beforeAll, inject, onTestFinished } from 'vitest';
import { createWarehouse, type Warehouse } from '#infra/clickhouse/client.ts';
import { migrate } from '#infra/clickhouse/migrate.ts';
import { reloadPersons } from '#infra/clickhouse/person_dictionaries.ts';
import { workerNumber } from '#test/harness/environment.ts';
import { uniqueName } from '#test/harness/kafka.ts';
import type {} from '#test/harness/shared_parts.ts';

/** A database of one test with its address. */
export interface Database {
  warehouse: Warehouse;
  url: string;
}

export interface Clickhouse {
  /** Makes an empty database for a test, which is gone when the test has ended. */
  (): Promise<Database>;
  /** One with the service's tables, all empty: made once for each worker of the run, and emptied for each test. */
  migrated(): Promise<Database>;
}

/** Databases with the service's tables that no running test of this file has. */
const free: string[] = [];
let made = 0;

/** Databases of the shared ClickHouse for the tests of one file. */
export function useClickhouse(): Clickhouse {
  let root: Warehouse;
  const address = (name: string): string => {
    const url = new URL(inject('parts').addresses.clickhouseUrl);
    url.pathname = `/${name}`;
    return url.href;
  };
  beforeAll(() => {
    root = createWarehouse(address('default'));
  });
  afterAll(() => root.close());
  const open = (url: string): Database => {
    const warehouse = createWarehouse(url);
    onTestFinished(() => warehouse.close());
    return { warehouse, url };
  };
  const create = async (): Promise<Database> => {
    const name = uniqueName('test').replaceAll('-', '_');
    await root.command({ query: `CREATE DATABASE ${name}` });
    onTestFinished(async () => void (await root.command({ query: `DROP DATABASE ${name}` })));
    return open(address(name));
  };
  const migrated = async (): Promise<Database> => {
    const name = free.pop() ?? `worker_${workerNumber()}_${made++}`;
    await root.command({ query: `CREATE DATABASE IF NOT EXISTS ${name}` });
    onTestFinished(() => void free.push(name));
    const database = open(address(name));
    await migrate(database.warehouse, database.url);
    await empty(database);
    return database;
  };
  return Object.assign(create, { migrated });
}

/** Rows of a query. */
export async function rowsOf<T>({ warehouse }: Database, query: string): Promise<T[]> {
  return (await warehouse.query({ query, format: 'JSONEachRow' })).json<T>();
}

/** Takes all rows out of the service's tables: quicker than making the tables by a second of processor time. */
async function empty(database: Database): Promise<void> {
  const { warehouse } = database;
  const tables = await rowsOf<{ name: string }>(
    database,
    `SELECT name FROM system.tables
    WHERE database = currentDatabase() AND engine LIKE '%MergeTree' AND name != 'schema_migrations' AND total_rows > 0`,
  );
  for (const { name } of tables) await warehouse.command({ query: `TRUNCATE TABLE \`${name}\`` });
  await warehouse.command({ query: 'SYSTEM START MERGES event_rows' });
  if (tables.length > 0) await reloadPersons(warehouse);
}
