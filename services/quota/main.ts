import { randomUUID } from 'node:crypto';
import { processConfig } from '#infra/config/service_config.ts';
import { failpoint } from '#infra/failpoint/failpoint.ts';
import { consume, endOf, type InBatch } from '#infra/kafka/consumer/consume.ts';
import { committed, committedOffset } from '#infra/kafka/consumer/group_offsets.ts';
import { count, emptyTally, publish } from '#infra/kafka/counting.ts';
import { createKeyedProducer } from '#infra/kafka/producer/keyed_producer.ts';
import { topicOffsets } from '#infra/kafka/reader/topic_offsets.ts';
import { deadTopic, SMALL_PARTITIONS, TOPICS } from '#infra/kafka/topics.ts';
import { createRedis } from '#infra/redis/client.ts';
import { createQuotaStore } from '#infra/redis/quota.ts';
import { createCodec } from '#infra/registry/codec.ts';
import { followSettings } from '#infra/settings/follow.ts';
import { isClosed, openMonths } from '#pipelines/quota/month.ts';
import { type AccountMonth, countedEvents, settlementsOf } from '#pipelines/quota/settle.ts';
import type { DeadLetter, QuotaCounts, QuotaUsage } from '#schemas/records.ts';
import { deadRecords } from '#services/batches.ts';
import { showLag } from '#services/lag.ts';
import { runProcess } from '#services/runtime.ts';
import { watchReservationLeases } from './lease_watch.ts';
import { createPartitions } from './partitions.ts';
import { readCounts } from './read_counts.ts';
import { createUsageReader } from './usage_facts.ts';
import { usageRecords } from './usage_records.ts';

const CHECK_MS = 1_000;
/**
 * Least time between two settlements of a partition. Nothing waits for one: what an edge reserved counts against the month
 * until it is settled.
 */
const SETTLE_EVERY_MS = 1_000;

/** quota.counts -> counters: settles what dedup let pass against the account's month, and publishes usage. */
runProcess('quota', processConfig, async (runtime) => {
  const { session, registry, metrics, logger } = runtime;
  const groupId = session.groupOf('quota');
  const counts = await createCodec<QuotaCounts>(registry, TOPICS.counts, 'quota_counts');
  const usage = await createCodec<QuotaUsage>(registry, TOPICS.usage, 'quota_usage');
  const dead = await createCodec<DeadLetter>(registry, deadTopic('quota'), 'dead_letter');
  const settings = await followSettings(session, registry, logger, runtime.fatal);
  runtime.onStop(() => settings.stop());
  const redis = createRedis(runtime.config.parts.redisUrl, logger);
  runtime.onStop(async () => redis.disconnect());
  const store = createQuotaStore(redis);
  const producer = await createKeyedProducer(session.kafka, session.config.watchdogMs);
  runtime.onStop(() => producer.stop());
  const settledEvents = metrics.counter('svc_quota_settled_total', 'Unique events settled against an allowance', []);
  const released = metrics.counter('svc_quota_released_total', 'Reserved events that were released', ['reason']);
  // The former name is there for one version, so that dashboards can be changed first.
  const givenBack = metrics.counter('svc_quota_given_back_total', 'Former name of svc_quota_released_total', [
    'reason',
  ]);
  const release = (reason: string, events: number): void => {
    for (const counter of [released, givenBack]) counter.inc({ reason }, events);
  };
  const restored = metrics.counter('svc_quota_restored_total', 'Partitions whose lost counters were put back', []);

  const hasClosed = (month: string): boolean => isClosed(month, Date.now());
  const partitions = createPartitions({
    newGeneration: randomUUID,
    store,
    readFacts: createUsageReader({ session, codec: usage, logger, isClosed: hasClosed, onFatal: runtime.fatal }),
    committedOffset: async (partition) => {
      const found = await committed(session.admin, groupId, { topic: TOPICS.counts, partition });
      return Number(found?.metadata ?? 0);
    },
    isClosed: hasClosed,
    onRestored: () => restored.inc(),
    logger,
  });

  async function process(batch: InBatch): Promise<undefined> {
    const startedMs = Date.now();
    if (batch.records.length === 0) return undefined;
    const read = await readCounts(batch, counts, startedMs);
    const events = countedEvents(read.counts);
    const settlements = settlementsOf(read.counts);
    const settledOffset = read.counts.at(-1)?.next_offset ?? 0;
    const tally = emptyTally();
    const letters = deadRecords('quota', read.dead, dead, tally, SMALL_PARTITIONS);
    const checkpointed = await partitions.settle(batch.partition, settlements, settledOffset, async (settled) => {
      failpoint('quota.after_settle');
      await producer.send([...letters, ...usageRecords(settlements, settled, usage)]);
      failpoint('quota.after_usage');
    });
    await consumption.commit(batch, endOf(batch), String(checkpointed));
    failpoint('quota.after_commit');
    tally.in += events.unique;
    tally.passed = events.unique - events.nobodys;
    if (events.nobodys > 0) count(tally.dropped, 'no_account', events.nobodys);
    settledEvents.inc(tally.passed);
    if (events.duplicate > 0) release('duplicate', events.duplicate);
    publish(metrics, tally, startedMs, Date.now());
    return undefined;
  }

  const consumption = await consume({
    kafka: session.kafka,
    groupId,
    topics: [TOPICS.counts],
    sessionTimeoutMs: session.config.sessionTimeoutMs,
    watchdogMs: session.config.watchdogMs,
    concurrency: session.config.eventPartitions,
    paceMs: SETTLE_EVERY_MS,
    handlers: {
      async acquire(at) {
        // In this order what is known of usage is never older than where settling begins.
        const start = await committedOffset(session.admin, groupId, at);
        await partitions.take(at.partition);
        return start;
      },
      process,
    },
    logger,
    onSkipped: metrics.skipped,
    onFatal: runtime.fatal,
  });
  runtime.onStop(() => consumption.stop());
  showLag(runtime, 'quota', consumption);

  const stopWatch = await watchReservationLeases({
    store,
    rawEnds: async () => {
      const ends = await topicOffsets(session.admin, TOPICS.raw);
      return new Map(
        ends.map(({ partition, low, high }) => [partition, Number(high) > Number(low) ? Number(high) : 0]),
      );
    },
    months: (): AccountMonth[] =>
      settings.table
        .accounts()
        .flatMap(({ account_id }) => openMonths(Date.now()).map((month) => ({ accountId: account_id, month }))),
    onGivenBack: (events) => release('never_arrived', events),
    check: () => partitions.check(consumption.assigned().map(({ partition }) => partition)),
    everyMs: CHECK_MS,
    logger,
  });
  runtime.onStop(stopWatch);
  runtime.ready();
});
