import type { Warehouse } from '#infra/clickhouse/client.ts';
import { dropAgedWeekly, keepDays } from '#infra/clickhouse/maintenance.ts';
import { mergeNightly } from '#infra/clickhouse/merge_persons.ts';
import { watchRepeats } from '#infra/clickhouse/repeat_watch.ts';
import { monotonicMs } from '#infra/concurrency/monotonic_clock.ts';
import type { PartsConfig } from '#infra/config/service_config.ts';
import type { WarehouseConfig } from '#infra/config/stage_config.ts';
import type { Runtime } from '#services/runtime.ts';
import { everyNight } from './nightly.ts';

const CHECK_PAUSE_MS = 10_000;
const CHECK_SECONDS = [0.05, 0.1, 0.5, 1, 5, 10, 60, 300];

/** Copies are for the trace of an event, which few look at later. */
const DUPLICATE_DAYS_MAX = 30;
/** So late an event may come (pipelines/intake/timestamp.ts); counts of an hour do not say when theirs came, and nothing of persons. */
const LATE_DAYS_MAX = 731;

/** Sets how long tables keep their rows, in days; 0: for ever. @throws WarehouseError */
export async function applyRetention(
  warehouse: Warehouse,
  { eventDays, outcomeDays }: Pick<WarehouseConfig, 'eventDays' | 'outcomeDays'>,
  cluster: PartsConfig['clickhouseCluster'],
): Promise<void> {
  for (const [table, days] of [
    ['event_rows', eventDays],
    ['event_hours', eventDays === 0 ? 0 : eventDays + LATE_DAYS_MAX],
  ] as const) {
    await dropAgedWeekly(warehouse, table, cluster);
    await keepDays(warehouse, table, days, cluster);
  }
  const duplicateDays = outcomeDays === 0 ? DUPLICATE_DAYS_MAX : Math.min(outcomeDays, DUPLICATE_DAYS_MAX);
  for (const [table, days] of [
    ['delivery_outcomes', outcomeDays],
    ['inventory', outcomeDays],
    ['duplicates', duplicateDays],
  ] as const) {
    await dropAgedWeekly(warehouse, table, cluster);
    await keepDays(warehouse, table, days, cluster);
  }
}

/** Writes merged persons into the rows of events every day at an hour in UTC, until the process stops. */
export function mergeEveryNight(
  { logger, onStop }: Runtime,
  warehouse: Warehouse,
  hour: number,
  cluster: PartsConfig['clickhouseCluster'],
): void {
  const merging = everyNight(
    hour,
    async () => logger.info(await mergeNightly(warehouse, cluster), 'merged persons are written into the rows'),
    (error) => logger.warn({ err: error }, 'merged persons not written into the rows'),
  );
  onStop(async () => merging.stop());
}

/** Looks for events that stand in the table more than once, until the process stops. */
export function lookForRepeats(
  { logger, metrics, onStop }: Runtime,
  warehouse: Warehouse,
  cluster: PartsConfig['clickhouseCluster'],
): void {
  const repeated = metrics.counter(
    'svc_warehouse_repeated_events_total',
    'Events that were found in event_rows more than once; queries count each once',
    [],
  );
  const took = metrics.histogram(
    'svc_warehouse_repeat_check_seconds',
    'Time that looking for events that are stored more than once took',
    [],
    CHECK_SECONDS,
  );
  const watch = watchRepeats({
    warehouse,
    cluster,
    pauseMs: CHECK_PAUSE_MS,
    report(check, seconds) {
      repeated.inc({}, check.repeated);
      took.observe(seconds);
    },
    logger,
    nowMs: monotonicMs,
  });
  onStop(async () => watch.stop());
}
