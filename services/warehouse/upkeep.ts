// ClickHouse beside the inserts: retention, nightly merges, duplicate checks, person dictionaries.
import { setTimeout as sleep } from 'node:timers/promises';
import { createWarehouse, type Warehouse, WarehouseError, watchWarehouse } from '#infra/clickhouse/client.ts';
import { watchDuplicates } from '#infra/clickhouse/inserts/duplicate_check.ts';
import { mergeNightly } from '#infra/clickhouse/merge_persons.ts';
import {
  BASE_DICTIONARY,
  createPersonReloader,
  type PersonReloader,
  RECENT_DICTIONARY,
  type ReloadReport,
} from '#infra/clickhouse/person_dictionaries.ts';
import {
  type AgingTable,
  dropAgedOfSites,
  dropAgedWeekly,
  keepDays,
  type SiteDays,
} from '#infra/clickhouse/retention.ts';
import { tellServers, watchServerHealth } from '#infra/clickhouse/server_health.ts';
import { monotonicMs } from '#infra/concurrency/time_limits.ts';
import type { PartsConfig } from '#infra/config/service_config.ts';
import type { WarehouseConfig } from '#infra/config/stage_config.ts';
import type { Logger } from '#infra/log/logger.ts';
import type { Metrics } from '#infra/metrics/metrics.ts';
import type { FollowedSettings } from '#infra/settings/follow_settings.ts';
import type { Site } from '#schemas/setting.ts';
import { openSettings, type Runtime } from '#services/stage/runtime.ts';

/** ClickHouse as the warehouse writes to it: connected, watched, and with the upkeep of its tables under way. */
export async function openWarehouse(
  runtime: Runtime,
  config: WarehouseConfig,
): Promise<{ warehouse: Warehouse; personReloader: PersonReloader; settings: FollowedSettings }> {
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
  await onceAvailable(() => applyRetention(warehouse, config, clickhouseCluster), logger);
  const settings = await openSettings(runtime);
  everyNight(runtime, config.personMergeHour, [
    ['rewrite of merged persons', () => mergeNightly(warehouse, clickhouseCluster)],
    ['deletion of old rows of sites', () => deleteAged(warehouse, settings.table.sites(), clickhouseCluster)],
  ]);
  lookForRepeats(runtime, warehouse, clickhouseCluster);
  const stopHealth = watchServerHealth(warehouse, clickhouseCluster, metrics, logger);
  onStop(async () => stopHealth());
  tellServers(warehouse, metrics);
  return { warehouse, personReloader, settings };
}

const CHECK_PAUSE_MS = 10_000;
const CHECK_SECONDS = [0.05, 0.1, 0.5, 1, 5, 10, 60, 300];

/** Copies are for the trace of an event, which few look at later. */
const DUPLICATE_DAYS_MAX = 30;

const AWAY_PAUSE_MS = 2_000;

/** Ended by an error the process would be started again, by many supervisors ever later. @throws WarehouseError but for a server that is away */
async function onceAvailable(work: () => Promise<void>, logger: Pick<Logger, 'warn'>): Promise<void> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof WarehouseError && error.code === 'warehouse_unavailable')) throw error;
      logger.warn({ err: error }, 'ClickHouse does not answer, waiting for it');
      await sleep(AWAY_PAUSE_MS);
    }
  }
}

/** Sets how long tables keep their rows, in days; 0: for ever. @throws WarehouseError */
async function applyRetention(
  warehouse: Warehouse,
  { eventDays, outcomeDays }: Pick<WarehouseConfig, 'eventDays' | 'outcomeDays'>,
  cluster: PartsConfig['clickhouseCluster'],
): Promise<void> {
  const duplicateDays = outcomeDays === 0 ? DUPLICATE_DAYS_MAX : Math.min(outcomeDays, DUPLICATE_DAYS_MAX);
  for (const [table, days] of [
    ['event_rows', eventDays],
    ['delivery_outcomes', outcomeDays],
    ['inventory', outcomeDays],
    ['duplicates', duplicateDays],
  ] as const) {
    await dropAgedWeekly(warehouse, table, cluster);
    await keepDays(warehouse, table, days, cluster);
  }
}

/** Which rows are older than their site keeps them, by table. */
export function siteRetention(sites: readonly Pick<Site, 'site_id' | 'event_days' | 'outcome_days'>[]) {
  const daysOf = (of: 'event_days' | 'outcome_days'): SiteDays[] =>
    sites.flatMap((site) => {
      const days = site[of] ?? null;
      return days === null ? [] : [{ siteId: site.site_id, days }];
    });
  return new Map<AgingTable, SiteDays[]>([
    ['event_rows', daysOf('event_days')],
    ['delivery_outcomes', daysOf('outcome_days')],
    ['inventory', daysOf('outcome_days')],
    ['duplicates', daysOf('outcome_days')],
  ]);
}

/** Resolves to how many rows of each table there were. @throws WarehouseError */
async function deleteAged(
  warehouse: Warehouse,
  sites: Parameters<typeof siteRetention>[0],
  cluster: PartsConfig['clickhouseCluster'],
): Promise<Record<string, number>> {
  const deleted: Record<string, number> = {};
  for (const [table, some] of siteRetention(sites)) {
    deleted[table] = await dropAgedOfSites(warehouse, table, some, cluster);
  }
  return deleted;
}

/** Does tasks one after the other every day at an hour in UTC, until the process stops. */
function everyNight(
  { logger, onStop }: Runtime,
  hour: number,
  tasks: readonly (readonly [name: string, task: () => Promise<object>])[],
): void {
  let timer: NodeJS.Timeout;
  const work = async (): Promise<void> => {
    for (const [name, task] of tasks) {
      try {
        logger.info(await task(), `nightly ${name} done`);
      } catch (error) {
        logger.warn({ err: error }, `nightly ${name} failed`);
      }
    }
    wait();
  };
  const wait = (): void => {
    timer = setTimeout(() => void work(), untilHourMs(Date.now(), hour));
  };
  wait();
  onStop(async () => clearTimeout(timer));
}

/** Looks for events that stand in the table more than once, until the process stops. */
function lookForRepeats(
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
  const watch = watchDuplicates({
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

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

/** Milliseconds until an hour of the day begins next, in UTC. */
export function untilHourMs(nowMs: number, hour: number): number {
  const atMs = nowMs - (nowMs % DAY_MS) + hour * HOUR_MS;
  return atMs > nowMs ? atMs - nowMs : atMs + DAY_MS - nowMs;
}

const SECONDS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120];

const LABEL_OF = { [BASE_DICTIONARY]: 'base', [RECENT_DICTIONARY]: 'recent' } as const;

function personReport(metrics: Pick<Metrics, 'gauge' | 'histogram'>): ReloadReport {
  const took = metrics.histogram(
    'svc_persons_reload_seconds',
    'Time that loading a dictionary of merged persons took',
    ['dictionary'],
    SECONDS,
  );
  const delay = metrics.histogram(
    'svc_persons_delay_seconds',
    'From when links of persons were stored until queries know them',
    [],
    SECONDS,
  );
  const rows = metrics.gauge('svc_persons_dictionary_rows', 'Merged persons in a dictionary', ['dictionary']);
  const bytes = metrics.gauge('svc_persons_dictionary_bytes', 'Memory of a dictionary of merged persons', [
    'dictionary',
  ]);
  return {
    reloaded: (name, seconds) => took.observe({ dictionary: LABEL_OF[name] }, seconds),
    delayed: (seconds) => delay.observe(seconds),
    holds(figures) {
      for (const { name, rows: held, bytes: size } of figures) {
        rows.set({ dictionary: LABEL_OF[name] }, held);
        bytes.set({ dictionary: LABEL_OF[name] }, size);
      }
    },
  };
}
