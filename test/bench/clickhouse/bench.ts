import { setTimeout as sleep } from 'node:timers/promises';
import { insertBlock, select, type Warehouse } from '#infra/clickhouse/client.ts';
import { cpuOf } from '../cpu.ts';
import { benchOptions, say } from '../results.ts';
import { one, partsOf, type Server, withWarehouse } from '../warehouse_alone.ts';
import { blockMaker } from './blocks.ts';

const EVENTS_PER_SECOND = 20_000;
/** Of two seconds, as the warehouse has them at such a rate (`intervalFactor`). */
const BLOCK_ROWS = 40_000;
const ALONE_BLOCKS = 12;
const MILLION = 1_000_000;

/**
 * What rows of events cost ClickHouse, in CPU seconds per million: their inserts while nothing is merged, then inserts and merges at
 * 20,000 events/s (`--seconds 600`), and once merges rest; and the bytes that an event has on disk, by column, index and projection.
 * Of a server's events, fifty of a visitor; with `--browser` of those of many browsers.
 */
export async function benchClickhouse(): Promise<void> {
  const { times, given } = benchOptions('clickhouse', { rounds: 1, seconds: 600 }, ['browser']);
  const caller = given.has('browser') ? 'browser' : 'server';
  await withWarehouse('clickhouse', async (server) => {
    const makeBlock = blockMaker(BLOCK_ROWS, EVENTS_PER_SECOND, Date.now(), caller);
    await insertsAlone(server, makeBlock);
    await atRate(server, makeBlock, times.runMs / 1_000);
    await tellBytes(server.warehouse);
  });
}

async function insertsAlone({ warehouse, pid }: Server, makeBlock: ReturnType<typeof blockMaker>): Promise<void> {
  await warehouse.command({ query: 'SYSTEM STOP MERGES event_rows' });
  // The first inserts load code and dictionaries.
  for (let round = 0; round < 2; round++) {
    const blocks = Array.from({ length: ALONE_BLOCKS }, makeBlock);
    const before = cpuOf(pid);
    for (const [at, rows] of blocks.entries()) await insertBlock(warehouse, 'event_rows', `alone/${round}/${at}`, rows);
    if (round > 0) tellCpu('inserts alone', cpuOf(pid) - before, ALONE_BLOCKS * BLOCK_ROWS);
  }
  await warehouse.command({ query: 'TRUNCATE TABLE event_rows' });
  await warehouse.command({ query: 'SYSTEM START MERGES event_rows' });
}

async function atRate(
  { warehouse, pid }: Server,
  makeBlock: ReturnType<typeof blockMaker>,
  seconds: number,
): Promise<void> {
  const blocks = Math.ceil((seconds * EVENTS_PER_SECOND) / BLOCK_ROWS);
  const [before, mergedBefore, begunMs] = [cpuOf(pid), await mergedRows(warehouse), performance.now()];
  let partsMax = 0;
  for (let block = 0; block < blocks; block++) {
    const rows = makeBlock();
    await sleep(Math.max(0, begunMs + (block * BLOCK_ROWS * 1000) / EVENTS_PER_SECOND - performance.now()));
    await insertBlock(warehouse, 'event_rows', `rate/${block}`, rows);
    partsMax = Math.max(partsMax, await partsOf(warehouse));
  }
  const rows = blocks * BLOCK_ROWS;
  const tell = async (when: string): Promise<void> => {
    tellCpu(`inserts and merges, ${when}`, cpuOf(pid) - before, rows);
    const merged = (await mergedRows(warehouse)) - mergedBefore;
    say(
      `  each row merged ${(merged / rows).toFixed(2)} times; ${await partsOf(warehouse)} parts, ${partsMax} at the most`,
    );
  };
  await tell(`${((performance.now() - begunMs) / 1000).toFixed(0)} s`);
  while ((await one<{ merges: number }>(warehouse, 'SELECT count() AS merges FROM system.merges'))?.merges !== 0) {
    await sleep(1_000);
  }
  await tell('until merges rest');
}

function tellCpu(what: string, seconds: number, rows: number): void {
  say(`${what.padEnd(44)}${((seconds / rows) * MILLION).toFixed(2).padStart(8)} CPU s per million`);
}

/** Half of what is counted are the rows of the projection rows_by_person. */
const mergedRows = async (warehouse: Warehouse): Promise<number> =>
  (
    await one<{ rows: number }>(
      warehouse,
      "SELECT sum(value) / 2 AS rows FROM system.events WHERE event = 'MergedRows'",
    )
  )?.rows ?? 0;

const OF_TABLE = "database = currentDatabase() AND table = 'event_rows'";

async function tellBytes(warehouse: Warehouse): Promise<void> {
  const sizes = await select<{ name: string; bytes: number }>(
    warehouse,
    `SELECT name, bytes / (SELECT sum(rows) FROM system.parts WHERE ${OF_TABLE} AND active) AS bytes FROM (
      SELECT 'all' AS name, sum(bytes_on_disk) AS bytes FROM system.parts WHERE ${OF_TABLE} AND active
      UNION ALL SELECT column, sum(column_data_compressed_bytes) FROM system.parts_columns WHERE ${OF_TABLE} AND active GROUP BY column
      UNION ALL SELECT concat('index ', name), data_compressed_bytes FROM system.data_skipping_indices WHERE ${OF_TABLE}
      UNION ALL SELECT concat('projection ', name), sum(bytes_on_disk) FROM system.projection_parts WHERE ${OF_TABLE} AND active GROUP BY name
    ) WHERE bytes > 0 ORDER BY bytes DESC`,
  );
  for (const { name, bytes } of sizes) say(`${name.padEnd(44)}${bytes.toFixed(2).padStart(8)} bytes per event`);
}
