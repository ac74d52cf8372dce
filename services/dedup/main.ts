import { type DedupConfig, dedupConfig } from '#infra/config/stage_config.ts';
import { openTopicIds } from '#infra/kafka/offsets.ts';
import { TOPICS } from '#infra/kafka/topics.ts';
import { createEventBatchReader } from '#infra/registry/codec.ts';
import type { Deduplicated, RawEntry } from '#pipelines/dedup/dedup.ts';
import { runEventStage } from '#services/stage/event_stage.ts';
import { openDedupIndex } from './claims.ts';
import { createRawTopicId, openCounts, openDuplicates, passedEvents, rawEvents } from './records.ts';

/** Bounds the transactions to four a second: one costs about the same for ten events and for a thousand. */
const LINGER_MS = 250;

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
        ...passedEvents(passed, reader.schemaId, eventPartitions),
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
