import { type DedupConfig, dedupConfig } from '#infra/config/stage_config.ts';
import { GATHERING } from '#infra/kafka/consumer/consume_options.ts';
import { TOPICS } from '#infra/kafka/topics.ts';
import { createBatchReader } from '#infra/registry/codec.ts';
import type { Deduplicated, RawEntry } from '#pipelines/dedup/dedup.ts';
import { runEventStage } from '#services/event_stage.ts';
import { openClaims } from './claims.ts';
import { openCounts } from './counts_record.ts';
import { passedEvents, withCoordinates } from './events.ts';

/** events.raw -> events.unique: the first event of each id passes, the rest are counted and dropped. */
runEventStage<DedupConfig, RawEntry, Deduplicated>('dedup', dedupConfig, async (runtime, config) => {
  const reader = await createBatchReader(runtime.registry, TOPICS.unique);
  const claims = await openClaims(runtime, config, reader);
  const counts = await openCounts(runtime.registry);
  const { eventPartitions } = runtime.session.config;
  return {
    reads: [TOPICS.raw],
    reader,
    batching: GATHERING,
    eventsOf: withCoordinates,
    decide: claims.deduplicate,
    write(decisions, read) {
      const passed = decisions.flatMap((decision) => decision.passed);
      return [...passedEvents(passed, reader.schemaId, eventPartitions), counts.of(read, passed)];
    },
    writeDead: (batch) => [counts.of({ batch, records: [] }, [])],
    count: (decisions) => ({
      passed: decisions.reduce((sum, { passed }) => sum + passed.length, 0),
      dropped: { duplicate: decisions.reduce((sum, { duplicates }) => sum + duplicates, 0) },
    }),
  };
});
