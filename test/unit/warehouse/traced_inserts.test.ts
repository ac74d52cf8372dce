import { expect, test } from 'vitest';
import { columnarEvents } from '#infra/clickhouse/inserts/event_columns.ts';
import type { InRecord } from '#infra/kafka/record.ts';
import { createBatchWriter, encodeEvent, noPerson, readBatch } from '#schemas/event_batch.ts';
import { traceHeaders } from '#schemas/trace_context.ts';
import { WIRE_HEADER_BYTES } from '#schemas/wire.ts';
import { traceInserts } from '#services/warehouse/insert.ts';
import type { Row } from '#services/warehouse/tables.ts';
import { testPhoneHmac } from '#test/harness/event_row.ts';
import { sampleEvent } from '#test/unit/schemas/sample_event.ts';
import { memoryTracer } from '../tracing/memory_tracer.ts';

const TOPIC = 'events.identified';
const HOUR_MS = 3_600_000;
const context = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16) };
const old = { traceId: 'c'.repeat(32), spanId: 'd'.repeat(16) };

/** Rows of the events that came by these records of events.raw, two of each. */
function rowsOf(offsets: readonly number[]): Row[] {
  const writer = createBatchWriter(1);
  for (const offset of offsets) {
    for (const index of [0, 1]) writer.add({ partition: 3, offset, index }, noPerson(), encodeEvent(sampleEvent()));
  }
  return columnarEvents(readBatch(writer.finish().subarray(WIRE_HEADER_BYTES)), testPhoneHmac).rows;
}

function world() {
  const { tracer, ended } = memoryTracer();
  const clock = { nowMs: 2 * HOUR_MS, refuses: false };
  const made = [rowsOf([40, 41]), rowsOf([42]), [{ site_id: 'shop' }]];
  const steps = traceInserts(
    tracer,
    {
      toRows: async () => made.shift() ?? [],
      async insert() {
        clock.nowMs += 5;
        if (clock.refuses)
          throw Object.assign(new Error('no'), { name: 'WarehouseError', code: 'warehouse_unavailable' });
      },
    },
    () => 'event_rows',
    () => clock.nowMs,
  );
  const record = (headers: InRecord['headers']): InRecord => ({
    ...{ offset: 7, timestampMs: 0, key: null, value: null },
    headers,
  });
  const traces = [
    { partition: 3, offset: 40, sinceMs: clock.nowMs, context },
    { partition: 3, offset: 42, sinceMs: 0, context: old },
  ];
  return { ended, clock, steps, record, headers: traceHeaders(traces) ?? {} };
}

test('an insert is a span of each trace in the block, and a link to one that is stale', async () => {
  const { steps, record, headers, ended } = world();
  const rows = [
    ...(await steps.toRows(TOPIC, 0, record(headers))),
    ...(await steps.toRows(TOPIC, 1, record(headers))),
    ...(await steps.toRows(TOPIC, 2, record({}))),
  ];
  await steps.insert(TOPIC, 'token', rows, false, () => undefined);
  const common = { name: 'INSERT event_rows', kind: 'client', startMs: 2 * HOUR_MS, endMs: 2 * HOUR_MS + 5 };
  expect(ended).toMatchObject([
    { ...common, parent: context, attributes: { 'db.operation.batch.size': 7, 'db.collection.name': 'event_rows' } },
    { ...common, parent: null, link: old },
  ]);
});

test('one that fails says so, and is tried again as another span', async () => {
  const { steps, record, headers, ended, clock } = world();
  const rows = await steps.toRows(TOPIC, 0, record(headers));
  clock.refuses = true;
  await expect(steps.insert(TOPIC, 'token', rows, false, () => undefined)).rejects.toThrow('no');
  clock.refuses = false;
  await steps.insert(TOPIC, 'token', rows, true, () => undefined);
  expect(ended.map(({ error }) => error)).toEqual(['WarehouseError warehouse_unavailable', undefined]);
});
