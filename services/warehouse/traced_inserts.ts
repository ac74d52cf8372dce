// Spans of inserts: one for each sampled trace that a block holds events of.
import { ColumnarEvent } from '#infra/clickhouse/event_columns.ts';
import type { SinkOptions } from '#infra/kafka/block_sink.ts';
import type { Tracer } from '#infra/tracing/tracer.ts';
import { type CarriedTrace, indexTraces, readTraceHeaders, TRACES_MAX } from '#schemas/trace_context.ts';
import { originOf } from '#services/stage/batch_spans.ts';
import { kindOf } from '#services/stage/batches.ts';
import type { Row } from './tables.ts';

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
