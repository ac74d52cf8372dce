import { afterAll, beforeAll, inject, onTestFinished } from 'vitest';
import { createWarehouse, type Warehouse } from '#infra/clickhouse/client.ts';
import { type Cluster, localTable } from '#infra/clickhouse/cluster.ts';
import type { PersonEraser } from '#infra/clickhouse/erasure/erase_rows.ts';
import { migrate } from '#infra/clickhouse/migrate.ts';
import { reloadPersons } from '#infra/clickhouse/person_dictionaries.ts';
import { workerNumber } from '#test/harness/environment.ts';
import { uniqueName } from '#test/harness/kafka.ts';
import type {} from '#test/harness/shared_parts.ts';
import { until } from '#test/harness/until.ts';

/** A database of one test with its address. */
export interface Database {
  warehouse: Warehouse;
  url: string;
  /** Null: it is on one server. */
  cluster: Cluster | null;
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
  const address = (name: string): string => inject('parts').addresses.clickhouseUrl.replace(/[^/]*$/, name);
  const asRoot = async (query: string): Promise<void> => {
    for (const server of root.servers) await server.command({ query });
  };
  beforeAll(() => {
    root = createWarehouse(address('default'));
  });
  afterAll(() => root.close());
  const open = (url: string): Database => {
    const warehouse = createWarehouse(url);
    onTestFinished(() => warehouse.close());
    return { warehouse, url, cluster: inject('parts').clickhouseCluster ?? null };
  };
  const create = async (): Promise<Database> => {
    const name = uniqueName('test').replaceAll('-', '_');
    await asRoot(`CREATE DATABASE ${name}`);
    onTestFinished(() => asRoot(`DROP DATABASE ${name}`));
    return open(address(name));
  };
  const migrated = async (): Promise<Database> => {
    const name = free.pop() ?? `worker_${workerNumber()}_${made++}`;
    await asRoot(`CREATE DATABASE IF NOT EXISTS ${name}`);
    onTestFinished(() => void free.push(name));
    const database = open(address(name));
    await migrate(database.warehouse, database.url, database.cluster);
    await empty(database);
    return database;
  };
  return Object.assign(create, { migrated });
}

/** Rows of a query. */
export async function rowsOf<T>({ warehouse }: Pick<Database, 'warehouse'>, query: string): Promise<T[]> {
  return (await warehouse.query({ query, format: 'JSONEachRow' })).json<T>();
}

/** Everything of the persons that an eraser has begun with, as the process of erasures deletes it. */
export async function deleteAll(eraser: PersonEraser): Promise<void> {
  const isOver = (running: Map<string, unknown>): boolean => running.size === 0;
  await eraser.deleteBesides();
  await until('the other tables', eraser.underWay, isOver);
  await eraser.deleteEvents();
  await until('the events', eraser.underWay, isOver);
  await eraser.end();
}

/** Tells each server what begins with `statement` and ends with the table that has the rows, as `SYSTEM STOP MERGES`. */
export async function tellServers({ warehouse, cluster }: Database, statement: string, table: string): Promise<void> {
  for (const server of warehouse.servers) await server.command({ query: `${statement} ${localTable(table, cluster)}` });
}

/** Takes all rows out of the service's tables: quicker than making the tables by a second of processor time. */
async function empty(database: Database): Promise<void> {
  const { warehouse, cluster } = database;
  let emptied = 0;
  for (const server of warehouse.servers) {
    const asked = await server.query({
      query: `SELECT name FROM system.tables
      WHERE database = currentDatabase() AND engine LIKE '%MergeTree' AND name != 'schema_migrations' AND total_rows > 0`,
      format: 'JSONEachRow',
    });
    for (const { name } of await asked.json<{ name: string }>()) {
      await server.command({ query: `TRUNCATE TABLE \`${name}\`` });
      emptied++;
    }
  }
  await tellServers(database, 'SYSTEM START MERGES', 'event_rows');
  if (emptied > 0) await reloadPersons(warehouse, cluster);
}
