import { processConfig } from '#infra/config/service_config.ts';
import { consume } from '#infra/kafka/consumer/consume.ts';
import { committedOffset } from '#infra/kafka/consumer/group_offsets.ts';
import { TOPICS } from '#infra/kafka/topics.ts';
import { createQuotaStore } from '#infra/redis/quota.ts';
import { createCodec } from '#infra/registry/codec.ts';
import type { QuotaUsage } from '#schemas/records.ts';
import { openProducer, openRedis, openSettings } from '#services/open_parts.ts';
import { consumerOptions, runStage } from '#services/stage.ts';
import { lookAfterCounters } from './counters.ts';
import { openPartitions } from './open_partitions.ts';
import { createQuotaMetrics } from './quota_metrics.ts';
import { createSettlement } from './settlement.ts';

/**
 * Least time between two settlements of a partition. Nothing waits for one: what an edge reserved counts against the month
 * until it is settled.
 */
const SETTLE_EVERY_MS = 1_000;

/** quota.counts -> counters: settles what dedup let pass against the account's month, and publishes usage. */
runStage('quota', processConfig, async (runtime) => {
  const { session, registry } = runtime;
  const { table } = await openSettings(runtime);
  const metrics = createQuotaMetrics(runtime.metrics);
  const store = createQuotaStore(openRedis(runtime));
  const usage = await createCodec<QuotaUsage>(registry, TOPICS.usage, 'quota_usage');
  const producer = await openProducer(runtime);
  const partitions = openPartitions(runtime, store, usage, metrics.restored);
  const settlement = await createSettlement({ registry, partitions, usage, producer, metrics });
  const options = consumerOptions(runtime);

  const consumption = await consume({
    ...options,
    topics: [TOPICS.counts],
    lingerMs: SETTLE_EVERY_MS,
    handlers: {
      async acquire(at) {
        // In this order what is known of usage is never older than where settling begins.
        const start = await committedOffset(session.admin, options.groupId, at);
        await partitions.take(at.partition);
        return start;
      },
      process: (batch) => settlement.settle(batch, (offset, metadata) => consumption.commit(batch, offset, metadata)),
    },
  });
  await lookAfterCounters(runtime, { store, settings: table, partitions, consumption, metrics });
  return consumption;
});
