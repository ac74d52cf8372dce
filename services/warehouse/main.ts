import { monotonicMs } from '#infra/concurrency/time_limits.ts';
import { warehouseConfig } from '#infra/config/stage_config.ts';
import { runSink } from '#infra/kafka/block_sink.ts';
import { FETCH_BYTES_MIN } from '#infra/kafka/consumer/consumption.ts';
import { TOPICS } from '#infra/kafka/topics.ts';
import { createEventBatchReader } from '#infra/registry/codec.ts';
import { viewsIn } from '#services/stage/batches.ts';
import { openProducer } from '#services/stage/runtime.ts';
import { consumerOptions, runStage } from '#services/stage/stage.ts';
import { openDeadLetters } from './dead_letters.ts';
import { traceInserts } from './insert.ts';
import { openRows } from './open_rows.ts';
import { countStored, type Row } from './tables.ts';
import { openWarehouse } from './upkeep.ts';

const EVENT_TOPICS: ReadonlySet<string> = new Set([TOPICS.identified, TOPICS.redeliverWarehouse]);

/**
 * Reads `events.identified`, `again.warehouse`, `identity.links`, `quota.usage`, `delivery.outcomes`, `inventory` and
 * `dedup.duplicates`, gathers their rows into blocks, announces each block in the metadata of its offsets, inserts it into
 * ClickHouse, then commits the offsets behind it; a record that cannot be read goes to `dead.warehouse` before its offset is
 * committed.
 */
runStage('warehouse', warehouseConfig, async (runtime, config) => {
  const { session, registry, metrics, tracer } = runtime;
  const { warehouse, personReloader, settings } = await openWarehouse(runtime, config);
  const { smallPartitions } = session.config;
  const deadLetters = await openDeadLetters(registry, await openProducer(runtime), metrics, smallPartitions);
  const { tables, sink, waits } = await openRows(runtime, config, { warehouse, settings, deadLetters });
  runtime.parts.needs('tables', waits.areNone);
  const events = await createEventBatchReader(registry, TOPICS.identified);
  return runSink<Row>({
    ...consumerOptions(runtime),
    admin: session.admin,
    offsetsTopic: TOPICS.stageOffsets,
    topics: tables.topics,
    fetchBytesMin: FETCH_BYTES_MIN,
    blockRowsMax: config.blockRowsMax,
    blockBytesMax: config.blockBytesMax,
    flushIntervalMs: config.flushIntervalMs,
    ...(tracer === null ? sink : traceInserts(tracer, sink, tables.tableOf, Date.now)),
    async deadLetter(topic, partition, { offset, value }) {
      const views = EVENT_TOPICS.has(topic) ? viewsIn(await events.read(value)) : null;
      await deadLetters.writePoisonPill({ topic, partition, offset, value, views, schemaId: events.schemaId });
    },
    committed: countStored(metrics, personReloader.changed),
    nowMs: monotonicMs,
  });
});
