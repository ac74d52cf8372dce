import { warehouseConfig } from '#infra/config/stage_config.ts';
import { runSink } from '#infra/kafka/block_sink/block_sink.ts';
import { GATHERING } from '#infra/kafka/consumer/consume_options.ts';
import { openProducer } from '#services/open_parts.ts';
import { consumerOptions, runStage } from '#services/stage.ts';
import { createCommitted } from './committed.ts';
import { openDeadLetters } from './dead_letters.ts';
import { createInsert } from './insert.ts';
import { openWarehouse } from './open_warehouse.ts';
import { createRowReader } from './row_reader.ts';
import { createTables, type Row } from './tables.ts';

/** events.identified and the changelogs -> ClickHouse, each record's rows once. */
runStage('warehouse', warehouseConfig, async (runtime, config) => {
  const { session, registry, metrics, logger } = runtime;
  const { warehouse, persons } = await openWarehouse(runtime, config);
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
