import { monotonicMs } from '#infra/concurrency/time_limits.ts';
import { warehouseConfig } from '#infra/config/stage_config.ts';
import { runSink } from '#infra/kafka/block_sink.ts';
import { FETCH_BYTES_MIN } from '#infra/kafka/consumer/consumption.ts';
import { TOPICS } from '#infra/kafka/topics.ts';
import { databasesOf, openPlaces } from '#infra/places/places.ts';
import { createEventBatchReader } from '#infra/registry/codec.ts';
import { phoneHmac } from '#pipelines/identity/identity.ts';
import { keptPlaces } from '#pipelines/warehouse/visitor.ts';
import { viewsIn } from '#services/stage/batches.ts';
import { openProducer, openSuppressionList } from '#services/stage/runtime.ts';
import { consumerOptions, runStage } from '#services/stage/stage.ts';
import { openDeadLetters } from './dead_letters.ts';
import { createInsert, createTableWaits, traceInserts } from './insert.ts';
import { countStored, createRowReader, createTables, type Row } from './tables.ts';
import { openWarehouse } from './upkeep.ts';

const EVENT_TOPICS: ReadonlySet<string> = new Set([TOPICS.identified, TOPICS.redeliverWarehouse]);

/**
 * Reads `events.identified`, `again.warehouse`, `identity.links`, `quota.usage`, `delivery.outcomes`, `inventory` and
 * `dedup.duplicates`, gathers their rows into blocks, announces each block in the metadata of its offsets, inserts it into
 * ClickHouse, then commits the offsets behind it; a record that cannot be read goes to `dead.warehouse` before its offset is
 * committed.
 */
runStage('warehouse', warehouseConfig, async (runtime, config) => {
  const { session, registry, metrics, tracer, logger, onStop } = runtime;
  const { warehouse, personReloader, settings } = await openWarehouse(runtime, config);
  const { identitySecret } = config;
  const places = await openPlaces(databasesOf(config.placeDatabases), logger);
  onStop(async () => places.stop());
  const tables = await createTables(
    registry,
    (siteId, sha256) => phoneHmac(identitySecret, siteId, sha256),
    await openSuppressionList(runtime, identitySecret),
    metrics.dropped,
    {
      placeOf: places.placeOf,
      get version() {
        return places.version;
      },
      ofSite: (siteId) => keptPlaces(settings.table.site(siteId)),
    },
  );
  const { smallPartitions } = session.config;
  const deadLetters = await openDeadLetters(registry, await openProducer(runtime), metrics, smallPartitions);
  const waits = createTableWaits(metrics, logger, monotonicMs);
  runtime.parts.needs('tables', waits.areNone);
  const eventSchemaId = await registry.idOf(TOPICS.identified, 'event_batch');
  const events = await createEventBatchReader(registry, TOPICS.identified);
  const { dedupWindowMs } = config;
  const sink = {
    toRows: await createRowReader(registry, tables, deadLetters),
    // Of an event that is older than the claims dedup has, the table is asked first: it may have passed dedup before.
    insert: createInsert({
      warehouse,
      cluster: config.parts.clickhouseCluster,
      tables,
      waits,
      deadLetters,
      eventSchemaId,
      metrics,
      logger,
      dedupWindowMs,
    }),
  };
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
      await deadLetters.writePoisonPill({ topic, partition, offset, value, views, schemaId: eventSchemaId });
    },
    committed: countStored(metrics, personReloader.changed),
    nowMs: monotonicMs,
  });
});
