import { type DedupConfig, dedupConfig } from '#infra/config/stage_config.ts';
import { failpoint } from '#infra/failpoint.ts';
import { openTopicIds } from '#infra/kafka/offsets.ts';
import { TOPICS } from '#infra/kafka/topics.ts';
import { createDedupIndex, type DedupIndex } from '#infra/redis/indexes/dedup_index.ts';
import { createEventBatchReader, type EventBatchReader } from '#infra/registry/codec.ts';
import { type Deduplicated, deduplicate, type RawEntry, storedKeys } from '#pipelines/dedup/dedup.ts';
import { type IndexRebuild, openStageIndex, runEventStage } from '#services/stage/event_stage.ts';
import type { Runtime } from '#services/stage/runtime.ts';
import { createRawTopicId, openCounts, openDuplicates, passedEvents, rawEvents } from './records.ts';

/** Bounds the transactions to four a second: one costs about the same for ten events and for a thousand. */
const LINGER_MS = 250;
/** Of a rebuild. */
const CLAIMS_PER_CALL = 5_000;

/**
 * Reads `events.raw`, claims each event's id in Redis, then commits one Kafka transaction with the first event of each id on
 * `events.unique`, how many passed and how many were duplicates on `quota.counts`, the duplicates themselves on
 * `dedup.duplicates`, and the offset; a record that cannot be read goes to `dead.dedup` in the same transaction.
 */
runEventStage<DedupConfig, RawEntry, Deduplicated>('dedup', dedupConfig, async (runtime, config) => {
  // Reads event batches of any topic, and has the schema id under which those of events.unique are written.
  const reader = await createEventBatchReader(runtime.registry, TOPICS.unique);
  const claims = await openDedupIndex(runtime, config, reader);
  const ids = await openTopicIds(runtime.session.kafka);
  runtime.onStop(() => ids.close());
  const counts = await openCounts(runtime.registry, createRawTopicId(ids));
  const duplicates = await openDuplicates(runtime.registry);
  const { eventPartitions } = runtime.session.config;
  return {
    reads: [TOPICS.raw],
    reader,
    lingerMs: LINGER_MS,
    eventsOf: rawEvents,
    decide: claims.deduplicate,
    async write(decisions, batchRead) {
      const passed = decisions.flatMap((decision) => decision.passed);
      const dropped = decisions.flatMap((decision) => decision.dropped);
      return [
        ...passedEvents(passed, reader.schemaId, eventPartitions, batchRead.spans),
        await counts.of(batchRead, passed),
        ...duplicates.of(batchRead.batch, dropped),
      ];
    },
    writeBesideDeadLetter: async (batch) => [await counts.ofUnread(batch)],
    count: (decisions) => ({
      passed: decisions.reduce((sum, { passed }) => sum + passed.length, 0),
      dropped: { duplicate: decisions.reduce((sum, { dropped }) => sum + dropped.length, 0) },
    }),
  };
});

/** The claims in Redis, made again from `events.unique` where Redis has lost them: resolves when they are whole. */
async function openDedupIndex(runtime: Runtime, config: DedupConfig, reader: EventBatchReader) {
  const { parts, dedupWindowMs: windowMs, dedupBucketChars } = config;
  const { index, use } = await openStageIndex<DedupIndex>(runtime, parts, {
    name: 'claims',
    reads: [TOPICS.raw],
    open: (redis) => createDedupIndex(redis, { windowMs, bucketChars: dedupBucketChars, cluster: redis.isCluster }),
    rebuild,
  });
  const fillHelp =
    'Mean fill of the buckets of event ids, of what Redis packs: beyond 1 an id takes five times the memory';
  runtime.metrics.read('svc_dedup_bucket_fill_ratio', fillHelp, [], () =>
    // That Redis is away, or may not be asked that yet, is told by others.
    index.bucketFill().then(
      (ratio) => [[{}, ratio]],
      () => [],
    ),
  );

  /**
   * Makes the claims again of all that passed: events.unique holds each event that passed with its coordinate. Where somebody
   * was interrupted at it, it goes on from there.
   */
  async function rebuild(claims: DedupIndex, { sinceMs, nowMs, read, count }: IndexRebuild): Promise<void> {
    const attempt = await claims.attempt();
    if (attempt.passed.size > 0) {
      runtime.logger.warn({ index: 'claims' }, 'resuming an interrupted index rebuild');
    }
    await read(TOPICS.unique, {
      sinceMs: Math.max(nowMs - windowMs, sinceMs ?? 0),
      passed: attempt.passed,
      async onRecords(records, partition) {
        let waiting: ReturnType<typeof storedKeys> = [];
        const restore = async (): Promise<void> => {
          await claims.restore(waiting);
          count(waiting.length);
          waiting = [];
        };
        for (const record of records) {
          const batch = await reader.read(record.value);
          // What cannot be read went to the dead letters of whoever reads the topic.
          if (batch.ok) waiting.push(...storedKeys(batch.value, claims.bucketChars(), record.timestampMs));
          if (waiting.length >= CLAIMS_PER_CALL) await restore();
        }
        await restore();
        const last = records.at(-1);
        if (last !== undefined) await attempt.pass(partition, last.offset + 1);
        failpoint('dedup.rebuilding');
      },
    });
  }

  return {
    async deduplicate(events: readonly RawEntry[]): Promise<Deduplicated> {
      const decided = await use(() => deduplicate(events, index, index.bucketChars()));
      failpoint('dedup.after_claim');
      return decided;
    },
  };
}
