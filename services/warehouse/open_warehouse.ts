import { createWarehouse, type Warehouse } from '#infra/clickhouse/client.ts';
import { watchWarehouse } from '#infra/clickhouse/health_probe.ts';
import { createPersonReloader, type PersonReloader } from '#infra/clickhouse/person_reloader.ts';
import { monotonicMs } from '#infra/concurrency/monotonic_clock.ts';
import type { WarehouseConfig } from '#infra/config/stage_config.ts';
import type { Runtime } from '#services/runtime.ts';
import { personReport } from './person_report.ts';
import { applyRetention, lookForRepeats, mergeEveryNight } from './table_upkeep.ts';

/** ClickHouse as the warehouse writes to it: connected, watched, and with the upkeep of its tables under way. */
export async function openWarehouse(
  runtime: Runtime,
  config: WarehouseConfig,
): Promise<{ warehouse: Warehouse; personReloader: PersonReloader }> {
  const { logger, metrics, onStop } = runtime;
  const { clickhouseUrl, clickhouseCluster } = config.parts;
  const warehouse = createWarehouse(clickhouseUrl);
  onStop(() => warehouse.close());
  const probe = watchWarehouse(clickhouseUrl);
  onStop(() => probe.stop());
  runtime.parts.needs('clickhouse', probe.isAlive);
  const personReloader = createPersonReloader({
    warehouse,
    cluster: clickhouseCluster,
    report: personReport(metrics),
    logger,
    nowMs: monotonicMs,
  });
  onStop(async () => personReloader.stop());
  await applyRetention(warehouse, config, clickhouseCluster);
  mergeEveryNight(runtime, warehouse, config.personMergeHour, clickhouseCluster);
  lookForRepeats(runtime, warehouse, clickhouseCluster);
  return { warehouse, personReloader };
}
