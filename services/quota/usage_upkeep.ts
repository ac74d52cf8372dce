// Restores counters that Redis lost, and releases reservations of edges that are gone.
import type { Consumption } from '#infra/kafka/consumer/consumption.ts';
import { topicOffsets } from '#infra/kafka/offsets.ts';
import { TOPICS } from '#infra/kafka/topics.ts';
import { openMonths } from '#pipelines/quota/month.ts';
import { type AccountMonth, createLostLeases, type QuotaStore } from '#pipelines/quota/settle.ts';
import type { SettingsTable } from '#pipelines/settings/table.ts';
import type { Runtime } from '#services/stage/runtime.ts';
import type { Partitions } from './partitions.ts';
import type { QuotaMetrics } from './settlement.ts';

const CHECK_MS = 1_000;

/**
 * Looks every second, until the process stops, for counters that Redis lost, which it restores from quota.usage, and for
 * leases of dead edges, whose reservations it releases. Resolves when it has looked once: until the counters are there edges do
 * not know of each other's reservations.
 */
export async function startUsageUpkeep(
  { session, logger, onStop }: Runtime,
  store: QuotaStore,
  settings: Pick<SettingsTable, 'accounts'>,
  partitions: Pick<Partitions, 'check'>,
  consumption: Pick<Consumption, 'assigned'>,
  metrics: QuotaMetrics,
): Promise<void> {
  /** The months in which something may be held. */
  const months = (): AccountMonth[] =>
    settings
      .accounts()
      .flatMap(({ account_id }) => openMonths(Date.now()).map((month) => ({ accountId: account_id, month })));
  const releaseLost = createLostLeases({
    expiredLeases: () => store.expiredLeases(),
    async rawEnds() {
      const ends = await topicOffsets(session.admin, TOPICS.raw);
      return new Map(
        ends.map(({ partition, low, high }) => [partition, Number(high) > Number(low) ? Number(high) : 0]),
      );
    },
    settled: async () =>
      new Map([...(await store.checkpoints())].map(([partition, checkpoint]) => [partition, checkpoint.nextOffset])),
    async releaseUnused(lease) {
      const events = await store.releaseUnused(months(), lease);
      await store.forgetLease(lease);
      metrics.released('never_arrived', events);
      logger.info({ lease, events }, 'released reservations of an expired edge lease');
    },
  });
  let turn: Promise<void> = Promise.resolve();
  let isStopped = false;
  let timer: NodeJS.Timeout | undefined;

  async function look(): Promise<void> {
    try {
      await partitions.check(consumption.assigned().map(({ partition }) => partition));
      await releaseLost();
    } catch (error) {
      logger.warn({ err: error }, 'counter maintenance failed, retrying');
    }
    if (isStopped) return;
    timer = setTimeout(() => {
      turn = look();
    }, CHECK_MS);
  }
  turn = look();
  await turn;
  onStop(async () => {
    isStopped = true;
    clearTimeout(timer);
    await turn;
  });
}
