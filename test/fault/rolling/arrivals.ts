// Which events have arrived in ClickHouse, each of them, and since when queries find them.
import { setTimeout as sleep } from 'node:timers/promises';
import { createWarehouse } from '#infra/clickhouse/client.ts';
import { select } from '#test/harness/clickhouse.ts';
import { until } from '#test/harness/until.ts';
import { type Histogram, STEP_MS } from './verdict.ts';

const POLL_MS = 100;
const ARRIVED_MS = 180_000;
/** Two inserts that lie further apart are seen in the order in which they began. */
const OVERLAP_MICROS = 30_000_000;
const MISSING_MAX = 1_000_000;

/** Before the number of an event in its id, as `eventId` has it. */
const ID_START = '00000000-0000-4000-8000-';
const DIGITS = 12;

/** SQL of a row's columns (migration 0015_uuids): the digits of the id's second half, behind the first four of which the number stands. */
const SECOND_HALF = 'hex(bitXor(uuid_mixed, uuid_high * 11400714819323198485))';
const NUMBER_AT = 5;

/** As long as any UUID; what it is the number of is found in it again. */
export const eventId = (number: number): string => ID_START + String(number).padStart(DIGITS, '0');

/**
 * Writes down each row of a site as it is inserted, with its block: of these a query asks often which ones it finds, so that the
 * time from which on it does is known of every event, by its block, at most a tenth of a second late. Rows are not merged,
 * so that one that came twice is there twice.
 */
export async function watchArrivals(clickhouse: string, site: string) {
  const warehouse = createWarehouse(clickhouse);
  const run = (query: string) => warehouse.command({ query });
  await run(`CREATE TABLE drill_arrivals (number UInt32, received_at DateTime64(3, 'UTC'), block DateTime64(6, 'UTC'))
    ENGINE = MergeTree ORDER BY block SETTINGS non_replicated_deduplication_window = 10000`);
  await run(`CREATE MATERIALIZED VIEW drill_arriving TO drill_arrivals AS
    SELECT toUInt32(substring(${SECOND_HALF}, ${NUMBER_AT})) AS number, received_at, now64(6, 'UTC') AS block
    FROM event_rows WHERE site_id = '${site}'`);

  /** By the microsecond that names a block, when it was first found; milliseconds since 1970 UTC. */
  const found = new Map<number, number>();
  let newest = 0;
  let isOver = false;
  async function look(): Promise<void> {
    const blocks = await select<{ micros: number }>(
      clickhouse,
      `SELECT DISTINCT toUnixTimestamp64Micro(block) AS micros FROM drill_arrivals
       WHERE block > fromUnixTimestamp64Micro({since:Int64}, 'UTC')`,
      { since: Math.max(0, newest - OVERLAP_MICROS) },
    );
    const nowMs = Date.now();
    for (const { micros } of blocks) {
      if (!found.has(Number(micros))) found.set(Number(micros), nowMs);
      newest = Math.max(newest, Number(micros));
    }
  }
  const watching = (async () => {
    while (!isOver) {
      await look();
      await sleep(POLL_MS);
    }
  })();
  // It is thrown where the end is waited for.
  watching.catch(() => undefined);

  return {
    /** Waits until every event below a number that was accepted is there, or for three minutes; answers what was found. */
    async end(end: number, isAccepted: (number: number) => boolean) {
      let lost = 0;
      const lacking = async (): Promise<number> => {
        const missing = await select<{ number: number }>(
          clickhouse,
          `SELECT toUInt32(number) AS number FROM numbers({end:UInt64})
           WHERE number NOT IN (SELECT number FROM drill_arrivals) LIMIT ${MISSING_MAX}`,
          { end },
        );
        lost = missing.filter(({ number }) => isAccepted(number)).length;
        return lost;
      };
      // What is not there by then is lost.
      await until('all that was accepted', lacking, (count) => count === 0, {
        timeoutMs: ARRIVED_MS,
        everyMs: 1_000,
      }).catch(() => undefined);
      isOver = true;
      await watching;
      await look();
      const [rows] = await select<{ doubled: number }>(
        clickhouse,
        'SELECT toUInt32(count() - uniqExact(number)) AS doubled FROM drill_arrivals',
      );
      return {
        lost,
        doubled: rows?.doubled ?? 0,
        lateness: await latenessOf(clickhouse, found),
      };
    },
    async close(): Promise<void> {
      isOver = true;
      await watching.catch(() => undefined);
      await warehouse.close();
    },
  };
}

async function latenessOf(clickhouse: string, found: ReadonlyMap<number, number>): Promise<Histogram> {
  const rows = await select<{ micros: number; step: number; events: number }>(
    clickhouse,
    `SELECT toUnixTimestamp64Micro(block) AS micros, intDiv(toUnixTimestamp64Milli(received_at), ${STEP_MS}) AS step,
       toUInt32(count()) AS events FROM drill_arrivals GROUP BY micros, step`,
  );
  const lateness = new Map<number, number>();
  for (const { micros, step, events } of rows) {
    const late = Math.floor((found.get(Number(micros)) ?? Number.NaN) / STEP_MS) - Number(step);
    lateness.set(late, (lateness.get(late) ?? 0) + events);
  }
  return lateness;
}
