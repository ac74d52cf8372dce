import { createWarehouse, insertBlock } from '#infra/clickhouse/client.ts';
import { createReloader } from '#infra/clickhouse/reloader.ts';
import { environment } from '#infra/config/config.ts';
import { warehouseConfig } from '#infra/config/stage_config.ts';
import { createKeyedProducer } from '#infra/kafka/keyed_producer.ts';
import type { InRecord } from '#infra/kafka/record.ts';
import { runSink } from '#infra/kafka/sink.ts';
import { deadTopic, SMALL_PARTITIONS, TOPICS } from '#infra/kafka/topics.ts';
import { createCodec } from '#infra/registry/codec.ts';
import { deadLetter } from '#pipelines/dead_letter.ts';
import type { DeadLetter } from '#schemas/records.ts';
import { runProcess } from '#services/runtime.ts';
import { createTables, type Row } from './tables.ts';

/** events.identified and the changelogs -> ClickHouse, each record's rows once. */
runProcess('warehouse', async (runtime) => {
  const { session, registry, metrics, logger } = runtime;
  const config = warehouseConfig(environment());
  const warehouse = createWarehouse(runtime.config.parts.clickhouseUrl);
  runtime.onStop(() => warehouse.close());
  const overrides = createReloader(warehouse, 'person_overrides', logger);
  runtime.onStop(async () => overrides.stop());
  const tables = await createTables(registry);
  const dead = await createCodec<DeadLetter>(registry, deadTopic('warehouse'), 'dead_letter');
  const producer = await createKeyedProducer(session.kafka);
  runtime.onStop(() => producer.stop());

  async function toRows(topic: string, partition: number, record: InRecord): Promise<Row[]> {
    const rows = await tables.rowsOf(topic, record.value);
    if (rows.ok) return rows.value;
    const place = { stage: 'warehouse', topic, partition, offset: record.offset, index: -1 };
    const letter = deadLetter(place, rows.reason, '', record.value, Date.now());
    await producer.send([
      { topic: deadTopic('warehouse'), partition: partition % SMALL_PARTITIONS, value: dead.encode(letter) },
    ]);
    metrics.in(1);
    metrics.dead(rows.reason, 1);
    return [];
  }

  const consumption = await runSink<Row>({
    kafka: session.kafka,
    admin: session.admin,
    groupId: session.groupOf('warehouse'),
    topics: tables.topics,
    sessionTimeoutMs: session.config.sessionTimeoutMs,
    concurrency: session.config.eventPartitions,
    toRows,
    insert: (topic, token, rows) => insertBlock(warehouse, tables.tableOf(topic), token, rows),
    blockRowsMax: config.blockRowsMax,
    blockAgeMaxMs: config.blockAgeMaxMs,
    committed(topic, partition, rows, lag) {
      metrics.in(rows.length);
      metrics.passed(rows.length);
      metrics.lag(topic, partition, lag);
      if (topic === TOPICS.links) overrides.changed();
      const oldest = rows[0]?.['received_at'];
      if (topic === TOPICS.identified && typeof oldest === 'number') metrics.ageSeconds((Date.now() - oldest) / 1000);
    },
    nowMs: Date.now,
    logger,
    onFatal: runtime.fatal,
  });
  runtime.onStop(() => consumption.stop());
  runtime.ready();
});
