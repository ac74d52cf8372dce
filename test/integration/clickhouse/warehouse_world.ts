import { afterAll, beforeAll, onTestFinished } from 'vitest';
import { createWarehouse, type Warehouse } from '#infra/clickhouse/client.ts';
import { uniqueName } from '../support/kafka.ts';
import { useParts } from '../support/parts.ts';

/** A database of one test with its address. */
export interface Database {
  warehouse: Warehouse;
  url: string;
}

/** A ClickHouse for the tests of one file; the answer makes an empty database for a test. */
export function useClickhouse(): () => Promise<Database> {
  const parts = useParts('clickhouse');
  let root: Warehouse;
  beforeAll(() => {
    root = createWarehouse(parts().addresses.clickhouseUrl);
  });
  afterAll(() => root.close());
  return async () => {
    const name = uniqueName('test').replaceAll('-', '_');
    await root.command({ query: `CREATE DATABASE ${name}` });
    const address = new URL(parts().addresses.clickhouseUrl);
    address.pathname = `/${name}`;
    const warehouse = createWarehouse(address.href);
    onTestFinished(() => warehouse.close());
    return { warehouse, url: address.href };
  };
}

/** Rows of a query. */
export async function rowsOf<T>({ warehouse }: Database, query: string): Promise<T[]> {
  return (await warehouse.query({ query, format: 'JSONEachRow' })).json<T>();
}
