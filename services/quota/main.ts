import { failpoint } from '#infra/failpoint/failpoint.ts';
import { consume, type InBatch } from '#infra/kafka/consume.ts';
import { emptyTally, publish } from '#infra/kafka/counting.ts';
import { committedOffset } from '#infra/kafka/hop.ts';
import { createKeyedProducer } from '#infra/kafka/keyed_producer.ts';
import { deadTopic, SMALL_PARTITIONS, TOPICS } from '#infra/kafka/topics.ts';
import { createRedis } from '#infra/redis/client.ts';
import { createQuotaStore } from '#infra/redis/quota.ts';
import { createBatchReader, createCodec } from '#infra/registry/codec.ts';
import { followSettings } from '#infra/settings/follow.ts';
import { type SettledUsage, type Settlement, settlementsOf } from '#pipelines/quota/settle.ts';
import { partitionOf } from '#schemas/partition.ts';
import type { DeadLetter, QuotaUsage } from '#schemas/records.ts';
import { deadRecords, readRecords } from '#services/batches.ts';
import { runProcess } from '#services/runtime.ts';

/** events.unique -> counters: settles what dedup let pass against the account's month, and publishes usage. */
runProcess('quota', async (runtime) => {
  const { session, registry, metrics, logger } = runtime;
  const groupId = session.groupOf('quota');
  const reader = await createBatchReader(registry, TOPICS.unique);
  const usage = await createCodec<QuotaUsage>(registry, TOPICS.usage, 'quota_usage');
  const dead = await createCodec<DeadLetter>(registry, deadTopic('quota'), 'dead_letter');
  const settings = await followSettings(session, registry, logger, runtime.fatal);
  runtime.onStop(() => settings.stop());
  const redis = createRedis(runtime.config.parts.redisUrl, logger);
  runtime.onStop(async () => redis.disconnect());
  const store = createQuotaStore(redis);
  const producer = await createKeyedProducer(session.kafka);
  runtime.onStop(() => producer.stop());

  async function process(batch: InBatch): Promise<undefined> {
    const startedMs = Date.now();
    const last = batch.records.at(-1);
    if (last === undefined) return undefined;
    const read = await readRecords('quota', batch, batch.records, reader, startedMs);
    const accountOf = (siteId: string): string | undefined => settings.table.site(siteId)?.account_id;
    const settlements = settlementsOf(read.records, batch.partition, accountOf);
    const settled = await store.settle(settlements);
    failpoint('quota.after_settle');
    const tally = emptyTally();
    const letters = deadRecords('quota', read.dead, dead, tally, SMALL_PARTITIONS);
    const facts = settlements.map((settlement, index) => usageOf(settlement, settled[index] as SettledUsage));
    await producer.send([
      ...letters,
      ...facts.map((fact) => {
        const key = `${fact.account_id}/${fact.month}/${fact.partition}`;
        return { topic: TOPICS.usage, partition: partitionOf(key, SMALL_PARTITIONS), key, value: usage.encode(fact) };
      }),
    ]);
    failpoint('quota.after_usage');
    await consumption.commit(batch, last.offset + 1, '');
    failpoint('quota.after_commit');
    const events = read.records.reduce((sum, { views }) => sum + views.length, 0);
    const counted = settlements.reduce(
      (sum, { records }) => sum + records.reduce((all, { count }) => all + count, 0),
      0,
    );
    tally.in += events;
    tally.passed = counted;
    if (events > counted) tally.dropped.set('no_account', events - counted);
    publish(metrics, tally, batch, startedMs, Date.now());
    return undefined;
  }

  const consumption = await consume({
    kafka: session.kafka,
    groupId,
    topics: [TOPICS.unique],
    sessionTimeoutMs: session.config.sessionTimeoutMs,
    concurrency: session.config.eventPartitions,
    handlers: { acquire: (at) => committedOffset(session.admin, groupId, at), process },
    logger,
    onFatal: runtime.fatal,
  });
  runtime.onStop(() => consumption.stop());
  runtime.ready();
});

function usageOf(settlement: Settlement, settled: SettledUsage): QuotaUsage {
  return {
    account_id: settlement.accountId,
    month: settlement.month,
    partition: settlement.partition,
    used: settled.used,
    settled_offset: settled.settledOffset,
    settled_at: settlement.newestMs,
  };
}
