import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createWarehouse, type Warehouse } from '#infra/clickhouse/client.ts';
import { migrate } from '#infra/clickhouse/migrate.ts';
import { startParts } from '#services/local/parts/parts.ts';
import { say } from './results.ts';

/** A ClickHouse server with our tables. */
export interface Server {
  warehouse: Warehouse;
  pid: number;
}

const NOWHERE = '127.0.0.1:1';

/** Measures at a ClickHouse that nothing else uses. Its data is in a folder that is given and kept, or in one of its own. */
export async function withWarehouse(
  name: string,
  measure: (server: Server) => Promise<void>,
  folder: string | null = null,
): Promise<void> {
  const dataDir = folder ?? mkdtempSync(join(tmpdir(), `bench-${name}-`));
  const { addresses, parts, stop } = await startParts({
    dataDir,
    external: { kafkaBrokers: NOWHERE, registryUrl: `http://${NOWHERE}`, redisUrl: `redis://${NOWHERE}` },
    onProgress: say,
    onPartExit: (part, detail) => say(`${part} died: ${detail}`),
  });
  const warehouse = createWarehouse(addresses.clickhouseUrl);
  try {
    await migrate(warehouse, addresses.clickhouseUrl);
    await measure({ warehouse, pid: parts.clickhouse?.pid ?? 0 });
  } finally {
    await warehouse.close();
    await stop();
    if (folder === null) rmSync(dataDir, { recursive: true, force: true });
  }
}

/** The first row of an answer. */
export async function one<Row>(warehouse: Warehouse, query: string): Promise<Row | undefined> {
  return (await (await warehouse.query({ query, format: 'JSONEachRow' })).json<Row>())[0];
}

const PARTS_SQL = `SELECT count() AS parts FROM system.parts
  WHERE database = currentDatabase() AND table = 'event_rows' AND active`;

/** How many parts the events are in. */
export const partsOf = async (warehouse: Warehouse): Promise<number> =>
  (await one<{ parts: number }>(warehouse, PARTS_SQL))?.parts ?? 0;
