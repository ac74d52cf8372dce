import { describe, expect, test } from 'vitest';
import { readTraceHeaders, requestTraceHeaders, TRACES_MAX, traceHeaders } from '#schemas/trace_context.ts';
import { beginBatchSpans } from '#services/stage/batch_spans.ts';
import { packBatches } from '#services/stage/batches.ts';
import { memoryTracer } from './memory_tracer.ts';

const HOUR_MS = 3_600_000;
const NOW_MS = 10 * HOUR_MS;
const context = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16) };
const other = { traceId: 'c'.repeat(32), spanId: 'd'.repeat(16) };

const recordAt = (offset: number, headers: Record<string, string>, timestampMs = NOW_MS) => ({
  ...{ offset, timestampMs, headers },
  key: null,
  value: Buffer.alloc(0),
});
const batchOf = (...records: ReturnType<typeof recordAt>[]) => ({ topic: 'events.raw', partition: 2, records });
const options = { groupId: 'svc.dedup', startMs: NOW_MS };

test('a batch without traces, or a process without a tracer, has no spans', () => {
  const { tracer } = memoryTracer();
  expect(beginBatchSpans(tracer, batchOf(recordAt(1, { account: 'a' })), options)).toBeNull();
  expect(beginBatchSpans(null, batchOf(recordAt(1, requestTraceHeaders(context))), options)).toBeNull();
});

test('each trace of a batch has a span, which is told of when it ends', () => {
  const { tracer, ended } = memoryTracer();
  const records = [recordAt(1, requestTraceHeaders(context)), recordAt(2, {}), recordAt(3, requestTraceHeaders(other))];
  const spans = beginBatchSpans(tracer, batchOf(...records), options);
  expect(ended).toEqual([]);
  spans?.end(NOW_MS + 5, ({ offset }) => (offset === 1 ? { more: 1 } : null));
  expect(ended).toEqual([
    {
      ...{ name: 'process events.raw', kind: 'consumer', startMs: NOW_MS, endMs: NOW_MS + 5, parent: context },
      context: spans?.of({ partition: 2, offset: 1 })?.context,
      attributes: {
        'messaging.system': 'kafka',
        'messaging.operation.name': 'process',
        'messaging.operation.type': 'process',
        'messaging.destination.name': 'events.raw',
        'messaging.destination.partition.id': '2',
        'messaging.consumer.group.name': 'svc.dedup',
        'messaging.batch.message_count': 3,
        more: 1,
      },
    },
  ]);
});

describe('a trace that is stale is not gone on with, but linked', () => {
  const begin = (sinceMs: number, isReplay: boolean) => {
    const { tracer, ended } = memoryTracer();
    const headers = traceHeaders([{ partition: 0, offset: 9, sinceMs, context }]) ?? {};
    // The record itself is new, as one that was moved on a retry topic is.
    beginBatchSpans(tracer, batchOf(recordAt(1, headers)), { ...options, isReplay })?.end(NOW_MS);
    return ended.map(({ parent, link }) => ({ parent, link }));
  };

  test.each([
    ['within the hour', NOW_MS - HOUR_MS, false, { parent: context, link: undefined }],
    ['beyond the hour', NOW_MS - HOUR_MS - 1, false, { parent: null, link: context }],
    ['replayed', NOW_MS, true, { parent: null, link: context }],
  ])('%s', (_name, sinceMs, isReplay, expected) => {
    expect(begin(sinceMs, isReplay)).toEqual([expected]);
  });
});

test('what is packed again names the traces of its own events alone, each once', () => {
  const { tracer } = memoryTracer();
  const records = [recordAt(1, requestTraceHeaders(context)), recordAt(3, requestTraceHeaders(other)), recordAt(4, {})];
  const spans = beginBatchSpans(tracer, batchOf(...records), options);
  const entry = (partition: number, offset: number, index: number) => ({
    ...{ partition, coordinate: { partition: 2, offset, index } },
    personBytes: Buffer.from([0]),
    eventBytes: Buffer.from('event'),
  });
  const entries = [entry(0, 1, 0), entry(0, 1, 1), entry(1, 3, 0), entry(1, 1, 2), entry(5, 4, 0)];
  const named = packBatches('events.unique', 1, entries, spans).map(({ partition, headers = {} }) => [
    partition,
    readTraceHeaders(headers, { partition, offset: 0, timestampMs: 0 }),
  ]);
  const first = spans?.of({ partition: 2, offset: 1 });
  const second = spans?.of({ partition: 2, offset: 3 });
  expect(named).toEqual([
    [0, [first]],
    [1, [second, first]],
    [5, []],
  ]);
  expect(first).toMatchObject({ partition: 2, offset: 1, sinceMs: NOW_MS });
  expect(packBatches('events.unique', 1, entries, null).every((record) => !('headers' in record))).toBe(true);
});

test('traces beyond a bound are left out, and counted', () => {
  const { tracer, ended, leftOut } = memoryTracer();
  const records = Array.from({ length: TRACES_MAX + 3 }, (_, offset) => recordAt(offset, requestTraceHeaders(context)));
  beginBatchSpans(tracer, batchOf(...records), options)?.end(NOW_MS);
  expect([ended.length, leftOut()]).toEqual([TRACES_MAX, 3]);
});
