// Inserts a block: again where it failed, without the rows that ClickHouse refuses, and with the time a table keeps others waiting; with
// spans, one for each sampled trace that the block holds events of.
import { type Warehouse, WarehouseError } from '#infra/clickhouse/client.ts';
import type { Cluster } from '#infra/clickhouse/cluster.ts';
import { insertBlockFirst, retryInsert } from '#infra/clickhouse/inserts/deduplicated_insert.ts';
import { ColumnarEvent } from '#infra/clickhouse/inserts/event_columns.ts';
import type { createUuidTexts } from '#infra/clickhouse/inserts/uuid_texts.ts';
import type { SinkOptions } from '#infra/kafka/block_sink.ts';
import type { Logger } from '#infra/log/logger.ts';
import type { Metrics } from '#infra/metrics/metrics.ts';
import type { Tracer } from '#infra/tracing/tracer.ts';
import { isolate, type PoisonPill } from '#pipelines/stage.ts';
import { isLate, placeOf } from '#pipelines/warehouse/block.ts';
import { type CarriedTrace, indexTraces, readTraceHeaders, TRACES_MAX } from '#schemas/trace_context.ts';
import { originOf } from '#services/stage/batch_spans.ts';
import { kindOf } from '#services/stage/batches.ts';
import { batchOf, type DeadLetters } from './dead_letters.ts';
import type { Row, Tables } from './tables.ts';

interface InsertOptions {
  warehouse: Warehouse;
  cluster: Cluster | null;
  tables: Pick<Tables, 'tableOf'>;
  waits: TableWaits;
  deadLetters: DeadLetters;
  /** Under which a dead letter keeps an event, so that it can be sent in again. */
  eventSchemaId: number;
  metrics: Pick<Metrics, 'in' | 'dropped'>;
  logger: Logger;
  /** An event older than this may be in the table, under a claim that was forgotten; milliseconds. */
  dedupWindowMs: number;
  /** Which of some events may be in the table with another form of their ids. */
  uuidTexts: ReturnType<typeof createUuidTexts>;
}

/** How long a table is at fault that refuses all rows of a block for one reason of theirs; then the rows are. */
const TABLE_FAULT_MS = 300_000;

/**
 * Inserts blocks, each once under its token. Rows that ClickHouse will never take become dead letters, and the others of
 * the block are in. A block whose table is at fault waits.
 */
export function createInsert(options: InsertOptions): SinkOptions<Row>['insert'] {
  const { warehouse, cluster, tables, waits, deadLetters, eventSchemaId, metrics, logger } = options;
  const { dedupWindowMs, uuidTexts } = options;
  /** An event as it can be sent in again; of other rows their text. */
  const bytesOf = (row: Row): Buffer =>
    row instanceof ColumnarEvent ? batchOf(eventSchemaId, row.view) : Buffer.from(JSON.stringify(row));
  return async (topic, token, rows, again, progressed) => {
    const table = tables.tableOf(topic);
    const events = rows.filter((row) => row instanceof ColumnarEvent);
    let hasText: (event: ColumnarEvent) => boolean = () => false;
    const mayBeStored = (row: object): boolean =>
      row instanceof ColumnarEvent && (isLate(row, dedupWindowMs) || hasText(row));
    const insert = async (part: string, some: readonly Row[]): Promise<void> => {
      const { sentAgain, gone } = await (again
        ? retryInsert(warehouse, table, part, some, progressed, cluster)
        : insertBlockFirst(warehouse, table, part, some, mayBeStored, progressed));
      // They are among what is committed, too.
      metrics.in(sentAgain);
      metrics.dropped('stored_before', sentAgain);
      if (gone > 0) logger.warn({ token: part, rows: gone }, 'recovered block: rows expired by TTL');
    };
    const isTableFault = (reason: string): boolean => waits.waitedMs(table, reason) >= TABLE_FAULT_MS;
    await waits.watch(table, async () => {
      if (!again) hasText = await uuidTexts(events);
      for (const { item, error } of await insertWithoutRefused(rows, token, insert, isTableFault)) {
        const at = { topic, ...placeOf(token), index: -1 };
        await deadLetters.write(at, 'warehouse_refused', kindOf(error), bytesOf(item));
      }
    });
  };
}

interface PlacedRow {
  row: Row;
  /** Its place in the block. */
  at: number;
}

/**
 * Inserts a block once. Where ClickHouse says that it will never take it, the rows are halved until those are found that
 * are to blame, and the others are in. A part of a block has a token of its own, which means the same rows each time the
 * block is formed again.
 *
 * More rows than can be bad by themselves, or several that are all there is and are all refused for one reason, say that
 * the table is at fault: `warehouse_mismatch`. Of the latter `blamesAll` may say that the rows are.
 */
export async function insertWithoutRefused(
  rows: readonly Row[],
  token: string,
  insert: (token: string, rows: readonly Row[]) => Promise<void>,
  isTableFault: (reason: string) => boolean = () => false,
): Promise<PoisonPill<Row>[]> {
  const placed = rows.map((row, at): PlacedRow => ({ row, at }));
  const work = (some: readonly PlacedRow[]): Promise<void> => {
    const part = some.length === rows.length ? token : `${token}/rows ${some[0]?.at}-${some.at(-1)?.at}`;
    return insert(
      part,
      some.map(({ row }) => row),
    );
  };
  const { poisonPills } = await isolate(placed, work, isRefusal).catch((error: unknown) => {
    throw isRefusal(error) ? new WarehouseError('warehouse_mismatch', error.message) : error;
  });
  const [reason, ...others] = new Set(poisonPills.map(({ error }) => (error as WarehouseError).message));
  const isOfAll = poisonPills.length === rows.length && rows.length > 1 && others.length === 0;
  if (reason !== undefined && isOfAll && !isTableFault(reason)) throw new WarehouseError('warehouse_mismatch', reason);
  return poisonPills.map(({ item, error }) => ({ item: item.row, error }));
}

function isRefusal(error: unknown): error is WarehouseError {
  return error instanceof WarehouseError && error.code === 'warehouse_refused';
}

type TableWaits = ReturnType<typeof createTableWaits>;

/**
 * The tables that take no rows for now, for a reason that is no row's. Says once, loudly, that a table is waited for, and once that
 * it is well.
 *
 * @param nowMs Monotonic milliseconds.
 */
export function createTableWaits(
  metrics: Pick<Metrics, 'gauge'>,
  logger: Pick<Logger, 'error' | 'info'>,
  nowMs: () => number,
) {
  const waits = new Map<string, { reason: string; sinceMs: number }>();
  const waiting = metrics.gauge('svc_warehouse_waiting', 'Whether a table takes no rows, so that they wait for it', [
    'table',
  ]);
  return {
    /** Inserts into a table, and notes whether it waits. */
    async watch(table: string, insert: () => Promise<void>): Promise<void> {
      try {
        await insert();
        if (!waits.delete(table)) return;
        waiting.set({ table }, 0);
        logger.info({ table }, 'table schema matches again, inserts resumed');
      } catch (error) {
        if (!(error instanceof WarehouseError && error.code === 'warehouse_mismatch')) throw error;
        const reason = error.message;
        if (waits.get(table)?.reason !== reason) {
          waits.set(table, { reason, sinceMs: nowMs() });
          waiting.set({ table }, 1);
          logger.error({ table, reason }, 'table schema mismatch, inserts paused');
        }
        throw error;
      }
    },
    /** How long a table has waited for this reason. */
    waitedMs(table: string, reason: string): number {
      const wait = waits.get(table);
      return wait?.reason === reason ? nowMs() - wait.sinceMs : 0;
    },
    areNone: (): boolean => waits.size === 0,
  };
}

type Steps = Pick<SinkOptions<Row>, 'toRows' | 'insert'>;

/** The steps of a sink, with a span for each insert that is tried. */
export function traceInserts(
  tracer: Tracer,
  { toRows, insert }: Steps,
  tableOf: (topic: string) => string,
  nowMs: () => number,
): Steps {
  /** Rows that are given up, as their partition is another's by now, take their traces with them. */
  const traceOf = new WeakMap<Row, CarriedTrace>();

  function beginSpans(topic: string, rows: readonly Row[]) {
    const traces = new Set(rows.map((row) => traceOf.get(row)).filter((trace) => trace !== undefined));
    if (traces.size > TRACES_MAX) tracer.leftOut(traces.size - TRACES_MAX);
    const [table, startMs] = [tableOf(topic), nowMs()];
    const attributes = {
      'db.system.name': 'clickhouse',
      'db.operation.name': 'INSERT',
      'db.collection.name': table,
      'db.operation.batch.size': rows.length,
    };
    return [...traces].slice(0, TRACES_MAX).map((trace) => {
      const facts = {
        name: `INSERT ${table}`,
        kind: 'client',
        startMs,
        attributes,
        ...originOf(trace, startMs),
      } as const;
      return tracer.start(facts);
    });
  }

  return {
    async toRows(topic, partition, record) {
      const rows = await toRows(topic, partition, record);
      const traces = readTraceHeaders(record.headers, { ...record, partition });
      if (traces.length === 0) return rows;
      const { of } = indexTraces(traces);
      for (const row of rows) {
        if (!(row instanceof ColumnarEvent)) continue;
        const trace = of({ partition: row.raw_partition, offset: row.raw_offset });
        if (trace !== undefined) traceOf.set(row, trace);
      }
      return rows;
    },
    async insert(topic, token, rows, again, progressed) {
      const spans = beginSpans(topic, rows);
      try {
        await insert(topic, token, rows, again, progressed);
        for (const span of spans) span.end(nowMs());
      } catch (error) {
        for (const span of spans) span.end(nowMs(), {}, kindOf(error));
        throw error;
      }
    },
  };
}
