import { randomUUID } from 'node:crypto';
import { dedupConfig } from '#infra/config/stage_config.ts';
import { failpoint } from '#infra/failpoint/failpoint.ts';
import { GATHERING, type InBatch } from '#infra/kafka/consumer/consume.ts';
import { count, emptyTally, publish } from '#infra/kafka/counting.ts';
import { deadTopic, SMALL_PARTITIONS, TOPICS } from '#infra/kafka/topics.ts';
import { type HopResult, runHop } from '#infra/kafka/transactional_stage/transactional_stage.ts';
import { createClaimStore } from '#infra/redis/claims.ts';
import { createRedis } from '#infra/redis/client.ts';
import { keepIndex } from '#infra/redis/rebuildable_index.ts';
import { createBatchReader, createCodec } from '#infra/registry/codec.ts';
import { deduplicate, type RawEntry } from '#pipelines/dedup/dedup.ts';
import { memoize } from '#pipelines/memoize.ts';
import { noPerson } from '#schemas/event_batch.ts';
import { visitorPartition } from '#schemas/partition.ts';
import type { DeadLetter, QuotaCounts } from '#schemas/records.ts';
import { buriedRecord, deadRecords, packBatches, readRecords } from '#services/batches.ts';
import { showLag } from '#services/lag.ts';
import { withoutCulprits } from '#services/poison_pills.ts';
import { runProcess } from '#services/runtime.ts';
import { countsRecord } from './counts_record.ts';
import { rebuildClaims } from './rebuild.ts';

/** events.raw -> events.unique: the first event of each id passes, the rest are counted and dropped. */
runProcess('dedup', dedupConfig, async (runtime, { claimWindowMs, claimBucketChars }) => {
  const { session, registry, metrics, logger } = runtime;
  const reader = await createBatchReader(registry, TOPICS.unique);
  const dead = await createCodec<DeadLetter>(registry, deadTopic('dedup'), 'dead_letter');
  const counts = await createCodec<QuotaCounts>(registry, TOPICS.counts, 'quota_counts');
  const redis = createRedis(runtime.config.parts.redisUrl, logger);
  runtime.onStop(async () => redis.disconnect());
  const claims = createClaimStore(redis, {
    windowMs: claimWindowMs,
    bucketChars: claimBucketChars,
    cluster: runtime.config.parts.redisCluster,
  });
  const groupId = session.groupOf('dedup');
  const partitions = session.config.eventPartitions;
  const rebuild = { session, groupId, reader, claims, windowMs: claimWindowMs, bucketChars: claimBucketChars };
  const index = keepIndex({
    name: 'claims',
    redis,
    epoch: claims.epoch,
    rebuild: (sinceMs) => rebuildClaims({ ...rebuild, logger, nowMs: Date.now }, sinceMs),
    token: randomUUID(),
    logger,
    nowMs: Date.now,
  });
  runtime.ableWhen('redis', index.isReady);
  await index.await();

  async function transform(batch: InBatch): Promise<HopResult> {
    const startedMs = Date.now();
    const read = await readRecords('dedup', batch, batch.records, reader, startedMs);
    const entries = read.records.flatMap(({ offset, views }): RawEntry[] =>
      views.map((view, index) => ({
        view,
        // One that was sent in again comes with its own, by which it may hold its claim already.
        coordinate: view.coordinate ?? { partition: batch.partition, offset, index },
        recordOffset: offset,
      })),
    );
    const work = { stage: 'dedup', batch, schemaId: reader.schemaId, nowMs: startedMs } as const;
    const { results, dead: culprits } = await withoutCulprits(
      work,
      entries,
      (entry) => entry,
      (some) => index.use(() => deduplicate(some, claims, claimBucketChars, startedMs)),
    );
    const passed = results.flatMap((result) => result.passed);
    const duplicates = results.reduce((sum, result) => sum + result.duplicates, 0);
    failpoint('dedup.after_claim');
    const tally = emptyTally();
    const partitionIn = memoize((siteId: string) =>
      memoize((distinctId: string) => visitorPartition(siteId, distinctId, partitions)),
    );
    const outputs = packBatches(
      TOPICS.unique,
      reader.schemaId,
      passed.map(({ view, coordinate }) => ({
        partition: partitionIn(view.siteId)(view.distinctId),
        coordinate,
        personBytes: noPerson(),
        eventBytes: view.eventBytes,
      })),
    );
    outputs.push(countsRecord(batch, read.records, passed, counts));
    outputs.push(...deadRecords('dedup', [...read.dead, ...culprits], dead, tally, SMALL_PARTITIONS));
    tally.in += entries.length - culprits.length;
    tally.passed = passed.length;
    if (duplicates > 0) count(tally.dropped, 'duplicate', duplicates);
    tally.oldestMs = entries[0]?.view.receivedAtMs ?? null;
    return { outputs, committed: () => publish(metrics, tally, startedMs, Date.now()) };
  }

  const consumption = await runHop({
    kafka: session.kafka,
    admin: session.admin,
    groupId,
    topics: [TOPICS.raw],
    sessionTimeoutMs: session.config.sessionTimeoutMs,
    watchdogMs: session.config.watchdogMs,
    concurrency: partitions,
    ...GATHERING,
    partitionsTogether: session.config.partitionGroupSize,
    transform,
    bury(batch) {
      const { outputs, committed } = buriedRecord('dedup', batch, dead, metrics);
      return { outputs: [...outputs, countsRecord(batch, [], [], counts)], committed };
    },
    logger,
    onSkipped: metrics.skipped,
    onFatal: runtime.fatal,
  });
  runtime.onStop(() => consumption.stop());
  showLag(runtime, 'dedup', consumption);
  runtime.ready();
});
