import { afterAll, beforeAll, onTestFinished } from 'vitest';
import { createWarehouse, type Warehouse } from '#infra/clickhouse/client.ts';
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
  const create = async (): Promise<Database> => {
    const name = uniqueName('test').replaceAll('-', '_');
    await root.command({ query: `CREATE DATABASE ${name}` });
    const address = new URL(parts().addresses.clickhouseUrl);
    address.pathname = `/${name}`;
    const warehouse = createWarehouse(address.href);
    onTestFinished(() => warehouse.close());
    return { warehouse, url: address.href };
  };
  return Object.assign(create, {
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
