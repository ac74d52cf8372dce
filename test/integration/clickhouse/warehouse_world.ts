import { afterAll, beforeAll, onTestFinished } from 'vitest';
import { createWarehouse, type Warehouse } from '#infra/clickhouse/client.ts';
import { migrate } from '#infra/clickhouse/migrate.ts';
import { reloadPersons } from '#infra/clickhouse/person_dictionaries.ts';
import { uniqueName } from '../support/kafka.ts';
import { useParts } from '../support/parts.ts';

/** A database of one test with its address. */
export interface Database {
  warehouse: Warehouse;
  url: string;
}

export interface Clickhouse {
  /** Makes an empty database for a test. */
  (): Promise<Database>;
  /** The same with the service's tables, all empty: those of an earlier test of the file, where one has ended. */
  migrated(): Promise<Database>;
  /** Ends the server as a power cut would, and starts it again. */
  restart(): Promise<void>;
}

/** A ClickHouse for the tests of one file. */
export function useClickhouse(): Clickhouse {
  const parts = useParts('clickhouse');
  let root: Warehouse;
  beforeAll(() => {
    root = createWarehouse(parts().addresses.clickhouseUrl);
  });
  afterAll(() => root.close());
  const open = (address: string): Database => {
    const warehouse = createWarehouse(address);
    onTestFinished(() => warehouse.close());
    return { warehouse, url: address };
  };
  const create = async (): Promise<Database> => {
    const name = uniqueName('test').replaceAll('-', '_');
    await root.command({ query: `CREATE DATABASE ${name}` });
    const address = new URL(parts().addresses.clickhouseUrl);
    address.pathname = `/${name}`;
    return open(address.href);
  };
  const left: string[] = [];
  const migrated = async (): Promise<Database> => {
    const used = left.pop();
    const database = used === undefined ? await create() : open(used);
    if (used === undefined) await migrate(database.warehouse, database.url);
    else await empty(database);
    onTestFinished(() => void left.push(database.url));
    return database;
  };
  return Object.assign(create, {
    migrated,
    async restart() {
      const { clickhouse } = parts().parts;
      clickhouse?.kill('SIGKILL');
      await clickhouse?.stop();
      await clickhouse?.start();
    },
  });
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
    WHERE database = currentDatabase() AND engine LIKE '%MergeTree' AND name != 'schema_migrations'`,
  );
  for (const { name } of tables) await warehouse.command({ query: `TRUNCATE TABLE \`${name}\`` });
  await warehouse.command({ query: 'SYSTEM START MERGES event_rows' });
  await reloadPersons(warehouse);
}
