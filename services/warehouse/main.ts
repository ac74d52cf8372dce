import { createWarehouse } from '#infra/clickhouse/client.ts';
import { ColumnarEvent } from '#infra/clickhouse/event_columns.ts';
import { watchWarehouse } from '#infra/clickhouse/health_probe.ts';
import { insertBlockAgain, insertBlockFirst } from '#infra/clickhouse/insert_again.ts';
import { keepDays, mergePersons } from '#infra/clickhouse/maintenance.ts';
import { createReloader, PERSON_DICTIONARIES } from '#infra/clickhouse/reloader.ts';
import { warehouseConfig } from '#infra/config/stage_config.ts';
import { runSink } from '#infra/kafka/block_sink/block_sink.ts';
import { GATHERING } from '#infra/kafka/consumer/consume.ts';
import { createKeyedProducer } from '#infra/kafka/producer/keyed_producer.ts';
import type { InRecord } from '#infra/kafka/record.ts';
import { deadTopic, TOPICS } from '#infra/kafka/topics.ts';
import { createCodec } from '#infra/registry/codec.ts';
import { placeOf } from '#pipelines/warehouse/block.ts';
import { isLate } from '#pipelines/warehouse/late.ts';
import type { DeadLetter } from '#schemas/records.ts';
import { showLag } from '#services/lag.ts';
import { isNotForeseen, kindOf } from '#services/poison_pills.ts';
import { runProcess } from '#services/runtime.ts';
import { batchOf, createDeadLetters } from './dead_letters.ts';
import { everyNight } from './nightly.ts';
import { insertWithoutRefused } from './refused_rows.ts';
import { createTables, type Row, textOf } from './tables.ts';

/** events.identified and the changelogs -> ClickHouse, each record's rows once. */
runProcess('warehouse', warehouseConfig, async (runtime, config) => {
  const { session, registry, metrics, logger } = runtime;
  const warehouse = createWarehouse(runtime.config.parts.clickhouseUrl);
  runtime.onStop(() => warehouse.close());
  const probe = watchWarehouse(runtime.config.parts.clickhouseUrl);
  runtime.onStop(() => probe.stop());
  runtime.ableWhen('clickhouse', probe.isAlive);
  const overrides = createReloader(warehouse, PERSON_DICTIONARIES, logger);
  runtime.onStop(async () => overrides.stop());
  const { eventDays, outcomeDays, claimWindowMs } = config;
  const { clickhouseCluster: cluster } = runtime.config.parts;
  for (const table of ['event_rows', 'event_hours'] as const) {
    if (eventDays !== null) await keepDays(warehouse, table, eventDays, cluster);
  }
  for (const table of ['delivery_outcomes', 'inventory'] as const) {
    if (outcomeDays !== null) await keepDays(warehouse, table, outcomeDays, cluster);
  }
  const merging = everyNight(
    config.personMergeHour,
    async () =>
      logger.info({ rows: await mergePersons(warehouse, cluster) }, 'merged persons are written into the rows'),
    (error) => logger.warn({ err: error }, 'merged persons not written into the rows'),
  );
  runtime.onStop(async () => merging.stop());
  const tables = await createTables(registry);
  const dead = await createCodec<DeadLetter>(registry, deadTopic('warehouse'), 'dead_letter');
  const producer = await createKeyedProducer(session.kafka, session.config.watchdogMs);
  runtime.onStop(() => producer.stop());

  const eventSchemaId = await registry.idOf(TOPICS.identified, 'event_batch');
  const letters = createDeadLetters(producer, dead, metrics);

  async function toRows(topic: string, partition: number, record: InRecord): Promise<Row[]> {
    const at = { topic, partition, offset: record.offset, index: -1 };
    try {
      const read = await tables.rowsOf(topic, record.value);
      if (!read.ok) {
        await letters.bury(at, read.reason, '', record.value);
        return [];
      }
      for (const { view, index, error } of read.value.poisonPills) {
        await letters.bury({ ...at, index }, 'transform_failed', kindOf(error), batchOf(eventSchemaId, view));
      }
      return read.value.rows;
    } catch (error) {
      if (!isNotForeseen(error)) throw error;
      await letters.bury(at, 'transform_failed', kindOf(error), record.value);
      return [];
    }
  }

  const mayBeStored = (row: object): boolean => row instanceof ColumnarEvent && isLate(row, claimWindowMs);

  async function insert(
    topic: string,
    token: string,
    rows: readonly Row[],
    again: boolean,
    progressed: () => void,
  ): Promise<void> {
    const table = tables.tableOf(topic);
    const poisonPills = await insertWithoutRefused(rows, token, async (part, some) => {
      const { sentAgain, gone } = await (again
        ? insertBlockAgain(warehouse, table, part, some, progressed)
        : insertBlockFirst(warehouse, table, part, some, mayBeStored, progressed));
      // They are among what is committed, too.
      metrics.in(sentAgain);
      metrics.dropped('stored_before', sentAgain);
      if (gone > 0) logger.warn({ token: part, rows: gone }, 'rows of a block that was taken up did not stay');
    });
    for (const { item, error } of poisonPills) {
      const at = { topic, ...placeOf(token), index: -1 };
      await letters.bury(at, 'warehouse_refused', kindOf(error), textOf(item));
    }
  }

  const consumption = await runSink<Row>({
    kafka: session.kafka,
    admin: session.admin,
    groupId: session.groupOf('warehouse'),
    topics: tables.topics,
    sessionTimeoutMs: session.config.sessionTimeoutMs,
    watchdogMs: session.config.watchdogMs,
    concurrency: session.config.eventPartitions,
    fetchBytesMin: GATHERING.fetchBytesMin,
    toRows,
    bury: (topic, partition, { offset, value }) =>
      letters.bury({ topic, partition, offset, index: -1 }, 'poison_pill', '', value),
    insert,
    blockRowsMax: config.blockRowsMax,
    blockBytesMax: config.blockBytesMax,
    blockPaceMs: config.flushIntervalMs,
    committed(topic, _partition, rows) {
      metrics.in(rows.length);
      metrics.passed(rows.length);
      if (topic === TOPICS.links) overrides.changed();
      const [oldest] = rows;
      if (oldest instanceof ColumnarEvent) metrics.ageSeconds((Date.now() - oldest.received_at) / 1000);
    },
    nowMs: Date.now,
    logger,
    onSkipped: metrics.skipped,
    onFatal: runtime.fatal,
  });
  runtime.onStop(() => consumption.stop());
  showLag(runtime, 'warehouse', consumption);
  runtime.ready();
});
