import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { createWarehouse, WarehouseError } from '#infra/clickhouse/client.ts';
import type { Environment } from '#infra/config/environment.ts';
import { type WarehouseConfig, warehouseConfig } from '#infra/config/stage_config.ts';
import { openOffsetLog } from '#infra/kafka/offset_log.ts';
import { createGroupOffsets, openTopicIds, topicOffsetsAt } from '#infra/kafka/offsets.ts';
import { readPartitions } from '#infra/kafka/read_topic.ts';
import { TOPICS } from '#infra/kafka/topics.ts';
import { openSettings, runProcess } from '#services/stage/runtime.ts';
import type { DeadLetters } from './dead_letters.ts';
import { openRows } from './open_rows.ts';
import type { Row } from './tables.ts';

/**
 * Fills ClickHouse after a restore, and ends: what the warehouse had committed of its topics from a moment on (the first word, as
 * 2027-01-31T08:00:00Z) is read again, and those rows are inserted that are not there. The warehouse may run meanwhile, as it inserts
 * what comes after. Interrupted, it is run again.
 */
const sinceMs = momentOf(process.argv[2] ?? '');
const PROGRESS_LINES = 100;
const RETRY_MS = 3_000;

/** Beside a warehouse on the same host, whose port it is. */
const configOf = (env: Environment): WarehouseConfig => ({ ...warehouseConfig(env), metricsPort: 0 });

runProcess('refill', configOf, async (runtime, config) => {
  const { session, logger, onStop } = runtime;
  const warehouse = createWarehouse(config.parts.clickhouseUrl);
  onStop(() => warehouse.close());
  const { log, offsets } = await openOffsets();
  onStop(() => log.close());
  let leftOut = 0;
  const { tables, sink } = await openRows(runtime, config, {
    ...{ warehouse, settings: await openSettings(runtime), deadLetters: leavingOut(() => leftOut++) },
  });
  const run = randomUUID();
  runtime.ready();
  for (const topic of tables.topics) await fill(topic);
  logger.info({ leftOut }, 'refill done');
  // Ends as by a supervisor: what is open is closed in order.
  process.kill(process.pid, 'SIGTERM');

  async function fill(topic: string): Promise<void> {
    const spans = await spansOf(topic);
    const total = [...spans.values()].reduce((sum, { first, end }) => sum + end - first, 0);
    logger.info({ topic, offsets: total }, 'filling the rows of a topic');
    if (total === 0) return;
    let saidAt = 0;
    await readPartitions({
      ...{ kafka: session.kafka, topic, groupPrefix: session.groupOf('warehouse'), spans },
      async onRecords(records, partition) {
        const end = spans.get(partition)?.end ?? 0;
        const ours = records.filter(({ offset }) => offset < end);
        const [first, last] = [ours[0]?.offset, ours.at(-1)?.offset];
        if (first === undefined || last === undefined) return;
        const rows: Row[] = [];
        for (const record of ours) rows.push(...(await sink.toRows(topic, partition, record)));
        const token = `refill ${run} ${topic}/${partition}/${first}-${last}`;
        if (rows.length > 0) await untilInserted(() => sink.insert(topic, token, rows, true, () => undefined));
      },
      onProgress(done) {
        if (done - saidAt < total / PROGRESS_LINES) return;
        saidAt = done;
        logger.info({ topic, offsets: done, of: total }, 'filling');
      },
    });
  }

  /** What waits for ClickHouse, or for a table, is tried again: begun anew all would be looked through once more. */
  async function untilInserted(insert: () => Promise<void>): Promise<void> {
    for (;;) {
      try {
        return await insert();
      } catch (error) {
        if (!(error instanceof WarehouseError) || error.code === 'warehouse_refused') throw error;
        logger.warn({ err: error }, 'rows not inserted, trying again');
        await sleep(RETRY_MS);
      }
    }
  }

  /** From the moment up to where the warehouse is; what it has never committed it reads from the beginning by itself. */
  async function spansOf(topic: string): Promise<Map<number, { first: number; end: number }>> {
    const spans = new Map<number, { first: number; end: number }>();
    for (const { partition, offset } of await topicOffsetsAt(session.admin, topic, sinceMs)) {
      const end = (await offsets.of({ topic, partition }))?.offset ?? 0;
      const first = Number(offset);
      if (first >= 0 && first < end) spans.set(partition, { first, end });
    }
    return spans;
  }

  async function openOffsets() {
    const groupId = session.groupOf('warehouse');
    const ids = await openTopicIds(session.kafka);
    onStop(() => ids.close());
    const openLog = { kafka: session.kafka, groupId, offsetsTopic: TOPICS.stageOffsets, logger };
    const opened = await openOffsetLog(openLog, ids);
    return { log: opened, offsets: createGroupOffsets(session.admin, groupId, opened, logger) };
  }
});

/** What the warehouse could not store was made a dead letter by it; once is enough. */
function leavingOut(count: () => void): DeadLetters {
  return {
    write: async () => count(),
    writePoisonPill: async () => count(),
  };
}

function momentOf(text: string): number {
  const ms = /^\d{4}-\d\d-\d\dT.*(?:Z|[+-]\d\d:\d\d)$/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(ms)) {
    console.error('usage: refill MOMENT, such as 2027-01-31T08:00:00Z: since when rows may be missing');
    process.exit(2);
  }
  return ms;
}
