import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { createWarehouse, WarehouseError } from '#infra/clickhouse/client.ts';
import type { Environment } from '#infra/config/environment.ts';
import { type WarehouseConfig, warehouseConfig } from '#infra/config/stage_config.ts';
import { membersIn } from '#infra/kafka/client.ts';
import { openOffsetLog } from '#infra/kafka/offset_log.ts';
import { createGroupOffsets, openTopicIds, topicOffsets, topicOffsetsAt } from '#infra/kafka/offsets.ts';
import { readPartitions } from '#infra/kafka/read_topic.ts';
import { declareTopics, REFILL_GROUP, TOPICS } from '#infra/kafka/topics.ts';
import { openSettings, type RefilledMessage, runProcess } from '#services/stage/runtime.ts';
import { joinLeaderElection } from '#services/stage/stage.ts';
import type { DeadLetters } from './dead_letters.ts';
import { createErasedEvents } from './erased_events.ts';
import { openRows } from './open_rows.ts';
import type { Row } from './tables.ts';

/**
 * Fills ClickHouse after a restore, and ends: what the warehouse had committed of its topics from a moment on (the first word, as
 * 2027-01-31T08:00:00Z) is read again, and those rows are inserted that are not there. The warehouse may run meanwhile, as it inserts
 * what comes after. Interrupted, it is run again. A second one waits for the first, as two would insert the same rows; whoever started it
 * is told when all is there.
 */
const sinceMs = momentOf(process.argv[2] ?? '');
const PROGRESS_LINES = 100;
const RETRY_MS = 3_000;
const SETTLED_MS = 5_000;

/** Beside a warehouse on the same host, whose port it is. */
const configOf = (env: Environment): WarehouseConfig => ({ ...warehouseConfig(env), metricsPort: 0 });

runProcess('refill', configOf, async (runtime, config) => {
  const { session, logger, onStop } = runtime;
  const warehouse = createWarehouse(config.parts.clickhouseUrl);
  onStop(() => warehouse.close());
  const { log, offsets } = await openOffsets();
  onStop(() => log.close());
  let leftOut = 0;
  const erased = createErasedEvents();
  const { tables, sink } = await openRows(runtime, config, {
    ...{ warehouse, settings: await openSettings(runtime), deadLetters: leavingOut(() => leftOut++) },
    onErased: erased.note,
  });
  const election = await join();
  onStop(() => election.stop());
  const run = randomUUID();
  runtime.ready();
  // Events come first: of those that are left out nothing is filled in that was noted about them.
  for (const topic of tables.topics) await fill(topic);
  logger.info({ leftOut }, 'refill done');
  process.send?.({ kind: 'refilled', leftOut } satisfies RefilledMessage);
  // Ends as by a supervisor: what is open is closed in order.
  process.kill(process.pid, 'SIGTERM');

  /** Two that start at once are told apart by the group, which may change its mind while they join. */
  async function join() {
    const members = (): Promise<number> => membersIn(session, REFILL_GROUP);
    if ((await members()) > 0) logger.warn('another refill is under way, waiting for its end');
    while ((await members()) > 0) await sleep(RETRY_MS);
    const joined = await joinLeaderElection(runtime, REFILL_GROUP, TOPICS.stageOffsets);
    await sleep(SETTLED_MS);
    return joined;
  }

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
        for (const record of ours) {
          const made = await sink.toRows(topic, partition, record);
          rows.push(...made.filter((row) => !erased.isAbout(row)));
        }
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

  /** What waits for ClickHouse, for a table, or for Kafka to say that nobody else fills, is tried again: begun anew all would be looked through once more. */
  async function untilInserted(insert: () => Promise<void>): Promise<void> {
    for (;;) {
      try {
        while (!election.isLeader()) await sleep(RETRY_MS);
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
    const lows = new Map(
      (await topicOffsets(session.admin, topic)).map(({ partition, low }) => [partition, Number(low)]),
    );
    const short: number[] = [];
    for (const { partition, offset } of await topicOffsetsAt(session.admin, topic, sinceMs)) {
      const end = (await offsets.of({ topic, partition }))?.offset ?? 0;
      const first = Number(offset);
      const low = lows.get(partition) ?? 0;
      if (low > 0 && first <= low) short.push(partition);
      if (first >= 0 && first < end) spans.set(partition, { first, end });
    }
    if (short.length > 0 && sinceMs < Date.now() - keptMs(topic)) {
      const facts = { topic, partitions: short, since: new Date(sinceMs).toISOString() };
      logger.warn(facts, 'retention has deleted records, maybe also of since then: rows of these cannot be filled in');
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

/** For how long records of a topic are kept, if its configuration was left as it is declared; milliseconds. */
function keptMs(topic: string): number {
  const declared = declareTopics([]).find(({ name }) => name === topic);
  return Number(declared?.config['retention.ms'] ?? Number.POSITIVE_INFINITY);
}

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
