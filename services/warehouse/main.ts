import { createWarehouse } from '#infra/clickhouse/client.ts';
import { watchWarehouse } from '#infra/clickhouse/health_probe.ts';
import { createReloader, PERSON_DICTIONARIES } from '#infra/clickhouse/reloader.ts';
import { warehouseConfig } from '#infra/config/stage_config.ts';
import { runSink } from '#infra/kafka/block_sink/block_sink.ts';
import { GATHERING } from '#infra/kafka/consumer/consume_options.ts';
import { openProducer } from '#services/open_parts.ts';
import { consumerOptions, runStage } from '#services/stage.ts';
import { createCommitted } from './committed.ts';
import { openDeadLetters } from './dead_letters.ts';
import { createInsert } from './insert.ts';
import { createRowReader } from './row_reader.ts';
import { applyRetention, mergeEveryNight } from './table_upkeep.ts';
import { createTables, type Row } from './tables.ts';

/** events.identified and the changelogs -> ClickHouse, each record's rows once. */
runStage('warehouse', warehouseConfig, async (runtime, config) => {
  const { session, registry, metrics, logger, onStop } = runtime;
  const { clickhouseUrl, clickhouseCluster } = runtime.config.parts;
  const warehouse = createWarehouse(clickhouseUrl);
  onStop(() => warehouse.close());
  const probe = watchWarehouse(clickhouseUrl);
  onStop(() => probe.stop());
  runtime.ableWhen('clickhouse', probe.isAlive);
  const persons = createReloader(warehouse, PERSON_DICTIONARIES, logger);
  onStop(async () => persons.stop());
  await applyRetention(warehouse, config, clickhouseCluster);
  mergeEveryNight(runtime, warehouse, config.personMergeHour, clickhouseCluster);

  const tables = await createTables(registry);
  const letters = await openDeadLetters(registry, await openProducer(runtime), metrics);
  return runSink<Row>({
    ...consumerOptions(runtime),
    admin: session.admin,
    topics: tables.topics,
    fetchBytesMin: GATHERING.fetchBytesMin,
    blockRowsMax: config.blockRowsMax,
    blockBytesMax: config.blockBytesMax,
    flushIntervalMs: config.flushIntervalMs,
    toRows: await createRowReader(registry, tables, letters),
    deadLetter: (topic, partition, { offset, value }) =>
      letters.write({ topic, partition, offset, index: -1 }, 'poison_pill', '', value),
    insert: createInsert({ warehouse, tables, letters, metrics, logger, claimWindowMs: config.claimWindowMs }),
    committed: createCommitted(metrics, persons.changed),
    nowMs: Date.now,
  });
});
