import type { Warehouse } from '#infra/clickhouse/client.ts';
import { keepDays } from '#infra/clickhouse/maintenance.ts';
import { mergeNightly } from '#infra/clickhouse/merge_persons.ts';
import type { PartsConfig } from '#infra/config/service_config.ts';
import type { WarehouseConfig } from '#infra/config/stage_config.ts';
import type { Runtime } from '#services/runtime.ts';
import { everyNight } from './nightly.ts';

/** Sets how long tables keep their rows, where that is configured. @throws WarehouseError */
export async function applyRetention(
  warehouse: Warehouse,
  { eventDays, outcomeDays }: Pick<WarehouseConfig, 'eventDays' | 'outcomeDays'>,
  cluster: PartsConfig['clickhouseCluster'],
): Promise<void> {
  for (const table of ['event_rows', 'event_hours'] as const) {
    if (eventDays !== null) await keepDays(warehouse, table, eventDays, cluster);
  }
  for (const table of ['delivery_outcomes', 'inventory', 'duplicates'] as const) {
    if (outcomeDays !== null) await keepDays(warehouse, table, outcomeDays, cluster);
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
