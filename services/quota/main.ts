import { monotonicMs, repeatFromNow } from '#infra/concurrency/time_limits.ts';
import { type QuotaConfig, quotaConfig } from '#infra/config/service_config.ts';
import { consume } from '#infra/kafka/consumer/consume.ts';
import { type Consumption, FETCH_BYTES_MIN } from '#infra/kafka/consumer/consumption.ts';
import { committedOffset, topicOffsets } from '#infra/kafka/offsets.ts';
import { deadTopic, TOPICS } from '#infra/kafka/topics.ts';
import { createMonthUseView, createQuotaStore } from '#infra/redis/quota/quota.ts';
import { createCodec } from '#infra/registry/codec.ts';
import { openMonths } from '#pipelines/quota/limits.ts';
import { type AccountMonth, createLostLeases, type QuotaStore } from '#pipelines/quota/settle.ts';
import { nearAllowance } from '#pipelines/quota/usage.ts';
import type { SettingsTable } from '#pipelines/settings/table.ts';
import type { DeadLetter, QuotaCounts, QuotaUsage } from '#schemas/records.ts';
import { openProducer, openRedis, openSettings, type Runtime } from '#services/stage/runtime.ts';
import { consumerOptions, runStage } from '#services/stage/stage.ts';
import {
  createQuotaMetrics,
  createSettlement,
  openPartitions,
  type Partitions,
  type QuotaMetrics,
} from './settlement.ts';

/** Nothing waits for a settlement: what an edge reserved counts against the month until it is settled. */
const LINGER_MS = 1_000;
const FETCH_WAIT_MS = 500;
const CHECK_MS = 1_000;

/**
 * Reads `quota.counts`, settles each batch in Redis, then writes usage to `quota.usage` and each record that cannot be read to
 * `dead.quota`, then commits the offset; a batch that is taken again after a crash counts once, as Redis and `quota.usage`
 * hold up to which offset of `events.raw` each month is settled.
 */
runStage<QuotaConfig>('quota', quotaConfig, async (runtime, config) => {
  const { session, registry } = runtime;
  const { table } = await openSettings(runtime);
  const metrics = createQuotaMetrics(runtime.metrics);
  const { redis, probe } = openRedis(runtime, config.parts);
  runtime.parts.needs('redis', probe.isAlive);
  const store = createQuotaStore(redis);
  const uses = createMonthUseView(redis, runtime.logger, Date.now, monotonicMs);
  const nearHelp = 'Accounts that have used so much of the allowance of the month';
  runtime.metrics.read('svc_accounts_near_allowance', nearHelp, ['used'], async () => {
    await uses.refresh(table.accounts().map(({ account_id }) => account_id));
    return [...nearAllowance(table.accounts(), uses.used)].map(([used, accounts]) => [{ used }, accounts]);
  });
  const usage = await createCodec<QuotaUsage>(registry, TOPICS.usage, 'quota_usage');
  const deadLetters = await createCodec<DeadLetter>(registry, deadTopic('quota'), 'dead_letter');
  const producer = await openProducer(runtime);
  const partitions = openPartitions(runtime, store, usage, metrics.restored);
  const counts = await createCodec<QuotaCounts>(registry, TOPICS.counts, 'quota_counts');
  const options = consumerOptions(runtime);
  const settleThenCommit = createSettlement({
    ...{ partitions, counts, usage, deadLetters, producer, metrics },
    tracer: runtime.tracer,
    groupId: options.groupId,
    smallPartitions: session.config.smallPartitions,
  });

  const consumption = await consume({
    ...options,
    topics: [TOPICS.counts],
    lingerMs: LINGER_MS,
    fetchBytesMin: FETCH_BYTES_MIN,
    fetchWaitMs: FETCH_WAIT_MS,
    handlers: {
      async acquire(at, _generation, progressed) {
        // The offset before the usage: what another process settles between the two is in the usage, and counts once.
        const start = await committedOffset(session.admin, options.groupId, at);
        await partitions.load(at.partition, progressed);
        return start;
      },
      process: (batch) =>
        settleThenCommit(batch, (offset, nextRawOffset) => consumption.commit(batch, offset, nextRawOffset)),
    },
  });
  await startUsageUpkeep(runtime, store, table, partitions, consumption, metrics);
  return consumption;
});

/**
 * Looks every second, until the process stops, for counters that Redis lost, which it restores from quota.usage, and for
 * leases of dead edges, whose reservations it releases. Resolves when it has looked once: until the counters are there edges do
 * not know of each other's reservations.
 */
async function startUsageUpkeep(
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
  async function check(): Promise<void> {
    await partitions.check(consumption.assigned().map(({ partition }) => partition));
    await releaseLost();
  }
  const upkeep = repeatFromNow(check, CHECK_MS, (error) =>
    logger.warn({ err: error }, 'counter maintenance failed, retrying'),
  );
  await upkeep.first;
  onStop(upkeep.stop);
}
