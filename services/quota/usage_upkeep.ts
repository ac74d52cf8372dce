import type { Consumption } from '#infra/kafka/consumer/consumption.ts';
import { topicOffsets } from '#infra/kafka/reader/topic_offsets.ts';
import { TOPICS } from '#infra/kafka/topics.ts';
import { openMonths } from '#pipelines/quota/month.ts';
import type { AccountMonth, QuotaStore } from '#pipelines/quota/settle.ts';
import type { SettingsTable } from '#pipelines/settings/table.ts';
import type { Runtime } from '#services/runtime.ts';
import { watchReservationLeases } from './lease_watch.ts';
import type { Partitions } from './partitions.ts';
import type { QuotaMetrics } from './quota_metrics.ts';

export interface UsageUpkeepOptions {
  store: QuotaStore;
  settings: Pick<SettingsTable, 'accounts'>;
  partitions: Pick<Partitions, 'check'>;
  consumption: Pick<Consumption, 'assigned'>;
  metrics: QuotaMetrics;
}

const CHECK_MS = 1_000;

/**
 * Looks every second, until the process stops, for counters that Redis lost, which it restores from quota.usage, and for
 * leases of dead edges, whose reservations it releases. Resolves when it has looked once.
 */
export async function startUsageUpkeep(runtime: Runtime, options: UsageUpkeepOptions): Promise<void> {
  const { session, logger, onStop } = runtime;
  const { store, settings, partitions, consumption, metrics } = options;
  const stop = await watchReservationLeases({
    store,
    rawEnds: async () => {
      const ends = await topicOffsets(session.admin, TOPICS.raw);
      return new Map(
        ends.map(({ partition, low, high }) => [partition, Number(high) > Number(low) ? Number(high) : 0]),
      );
    },
    months: (): AccountMonth[] =>
      settings
        .accounts()
        .flatMap(({ account_id }) => openMonths(Date.now()).map((month) => ({ accountId: account_id, month }))),
    onGivenBack: (events) => metrics.released('never_arrived', events),
    check: () => partitions.check(consumption.assigned().map(({ partition }) => partition)),
    everyMs: CHECK_MS,
    logger,
  });
  onStop(stop);
}
