// Looks for events that are stored twice, and records them.

import type { ClickHouseSettings } from '@clickhouse/client';
import { repeat } from '#infra/concurrency/time_limits.ts';
import type { Logger } from '#infra/log/logger.ts';
import { LAST_BLOCK, PLACE } from '#pipelines/analytics/sql/event_rows.ts';
import { run, SIGNS_OF_LIFE, select, type Warehouse } from '../client.ts';
import { type Cluster, localTable } from '../cluster.ts';
import { SQL_WORKLOAD, settingsOf } from '../queries/select_rows.ts';

interface RepeatCheck {
  /** Rows of the parts that had new ones. */
  rows: number;
  /** Events that stand there more than once, of those. */
  repeated: number;
}

const IDS_MAX = 5_000_000;
/** For a part of a day's ids. */
const SECONDS_MAX = 600;

/**
 * An insert takes its block's number before it is seen on a replicated table, so that one with a lower number may be seen later.
 * No insert takes so long.
 */
const SETTLED_SECONDS = 600;

/** It gives way as what analysts write in SQL does: nobody waits for it. */
const SETTINGS: ClickHouseSettings = {
  ...settingsOf(SQL_WORKLOAD),
  ...SIGNS_OF_LIFE,
  max_execution_time: SECONDS_MAX,
};

const query = <Row>(warehouse: Warehouse, sql: string, values?: Record<string, unknown>): Promise<Row[]> =>
  select<Row>(warehouse, sql, values, SETTINGS);

/** A partition of event_rows with parts that nobody has looked at. */
interface Unchecked {
  place: string;
  /** Blocks below it were looked at. */
  from: number;
  /** Behind the last block there is. */
  below: number;
}

/**
 * Looks for rows that came since it was done last among all rows of their site and day, and notes those that stand there
 * more than once; queries then need not look for them (`pipelines/analytics/sql/event_rows.ts`). Two copies of a row have
 * the same time.
 *
 * Two processes may do it at once, to no harm: what is noted stays true. @throws WarehouseError
 */
export async function checkDuplicates(warehouse: Warehouse, cluster: Cluster | null = null): Promise<RepeatCheck> {
  const places = await uncheckedPlaces(warehouse, cluster);
  if (places.length === 0) return { rows: 0, repeated: 0 };
  const before = await foundEvents(warehouse);
  const days = await query<{ day: string; rows: number }>(
    warehouse,
    `SELECT toString(toDate(timestamp)) AS day, toFloat64(count()) AS rows FROM event_rows WHERE ${IS_NEW} GROUP BY day ORDER BY day`,
    placesOf(places),
  );
  for (const { day, rows } of days) await checkDay(warehouse, places, day, rows);
  await run(
    warehouse,
    `INSERT INTO repeat_checks SELECT place, below, now64(3) FROM (SELECT arrayJoin(arrayZip({places:Array(String)}, {below:Array(Int64)})) AS one,
      one.1 AS place, one.2 AS below)`,
    { places: places.map(({ place }) => place), below: places.map(({ below }) => below) },
    SETTINGS,
  );
  const rows = days.reduce((sum, day) => sum + day.rows, 0);
  return { rows, repeated: (await foundEvents(warehouse)) - before };
}

/** How long ago some process has looked last; the largest number there is where none has. @throws WarehouseError */
async function msSinceCheck(warehouse: Warehouse): Promise<number> {
  const [row] = await query<{ ms: number; places: number }>(
    warehouse,
    `SELECT toFloat64(dateDiff('millisecond', max(checked_at), now64(3))) AS ms, toFloat64(count()) AS places FROM repeat_checks`,
  );
  return row === undefined || row.places === 0 ? Number.MAX_SAFE_INTEGER : row.ms;
}

/**
 * Partitions with parts behind what was looked at. Where the last block is before that, the table was restored or made anew: its
 * partition is looked at whole.
 */
async function uncheckedPlaces(warehouse: Warehouse, cluster: Cluster | null): Promise<Unchecked[]> {
  // One replica of each shard: by their own numbers, as PLACE has them.
  const parts = cluster === null ? 'system.parts' : `cluster('${cluster.name}', system.parts)`;
  const settled = !cluster?.isReplicated ? '' : `AND modification_time < now() - ${SETTLED_SECONDS}`;
  const there = await query<{ place: string; below: number; checked: number }>(
    warehouse,
    `SELECT place, toFloat64(below) AS below, toFloat64(checked_below) AS checked
    FROM (SELECT ${PLACE.replace('_partition_id', 'partition_id')} AS place, max(max_block_number) + 1 AS below FROM ${parts}
      WHERE database = currentDatabase() AND table = '${localTable('event_rows', cluster)}' AND active ${settled} GROUP BY place) AS there
    LEFT JOIN (SELECT * FROM repeat_checks FINAL) AS checks USING (place)
    WHERE below != checked_below ORDER BY place`,
  );
  return there
    .filter(({ below, checked }) => !cluster?.isReplicated || below > checked)
    .map(({ place, below, checked }) => ({ place, below, from: below < checked ? 0 : checked }));
}

const IS_NEW = `${LAST_BLOCK} >= transform(${PLACE}, {places:Array(String)}, {from:Array(Int64)}, toInt64(9223372036854775807))`;

function placesOf(places: readonly Unchecked[]): Record<string, unknown> {
  return { places: places.map(({ place }) => place), from: places.map(({ from }) => from) };
}

/** By parts of the ids, so that memory does not grow with the day; of sites without new rows nothing is read. */
async function checkDay(warehouse: Warehouse, places: readonly Unchecked[], day: string, rows: number): Promise<void> {
  const parts = Math.ceil(rows / IDS_MAX);
  for (let part = 0; part < parts; part++) {
    const some = `toDate(timestamp) = {day:Date} AND intHash64(event_hash) % ${parts} = ${part}`;
    const ofNew = (column: string): string => `SELECT ${column} FROM event_rows WHERE ${some} AND ${IS_NEW}`;
    await run(
      warehouse,
      `INSERT INTO repeated_events SELECT site_id, event_hash, now() FROM event_rows
      WHERE ${some} AND site_id GLOBAL IN (${ofNew('site_id')}) AND event_hash GLOBAL IN (${ofNew('event_hash')})
      GROUP BY site_id, event_hash HAVING count() > 1`,
      { ...placesOf(places), day },
      SETTINGS,
    );
  }
}

async function foundEvents(warehouse: Warehouse): Promise<number> {
  const [row] = await query<{ found: number }>(
    warehouse,
    'SELECT toFloat64(count()) AS found FROM repeated_events FINAL',
  );
  return row?.found ?? 0;
}

interface RepeatWatchOptions {
  warehouse: Warehouse;
  cluster: Cluster | null;
  pauseMs: number;
  /** Told what a look found, and how long it took, for metrics. */
  report(check: RepeatCheck, seconds: number): void;
  logger: Pick<Logger, 'warn'>;
  nowMs(): number;
}

/** Between two looks so many times what the last one took. */
const PAUSES = 20;

/**
 * Looks every now and then which new events stand in the table more than once, until it is stopped. Of several processes the
 * one looks that comes first. A failure is told and tried again.
 */
export function watchDuplicates(options: RepeatWatchOptions): { stop(): void } {
  const { warehouse, cluster, report, logger, nowMs } = options;
  let pauseMs = options.pauseMs;

  async function look(): Promise<void> {
    if ((await msSinceCheck(warehouse)) < pauseMs / 2) return;
    const fromMs = nowMs();
    const check = await checkDuplicates(warehouse, cluster);
    const tookMs = nowMs() - fromMs;
    pauseMs = Math.max(options.pauseMs, PAUSES * tookMs);
    report(check, tookMs / 1000);
    if (check.repeated > 0) logger.warn({ events: check.repeated }, 'duplicate events found in event_rows');
  }

  const tell = (error: unknown): void => logger.warn({ err: error }, 'duplicate check failed');
  return { stop: repeat(look, () => pauseMs, tell) };
}
