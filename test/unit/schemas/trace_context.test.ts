import { describe, expect, test } from 'vitest';
import {
  indexTraces,
  movedTraceHeaders,
  readTraceHeaders,
  readTraceparent,
  requestTraceHeaders,
  TRACES_MAX,
  traceHeaders,
  writeTraceparent,
} from '#schemas/trace_context.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';
const CONTEXT = { traceId: TRACE, spanId: SPAN };
const RECORD = { partition: 3, offset: 70, timestampMs: 1_000 };

describe('a traceparent', () => {
  test.each([
    [`00-${TRACE}-${SPAN}-01`, true],
    [`00-${TRACE}-${SPAN}-00`, false],
    // Flags that are not known yet say nothing of this one.
    [`00-${TRACE}-${SPAN}-ff`, true],
    // A later version may have more behind.
    [`cc-${TRACE}-${SPAN}-01-what-the-future-will-be-like`, true],
  ])('%s is read', (text, isSampled) => {
    expect(readTraceparent(text)).toEqual({ context: CONTEXT, isSampled });
  });

  test.each([
    '',
    `ff-${TRACE}-${SPAN}-01`,
    `00-${TRACE}-${SPAN}-01-more`,
    `00-${TRACE}-${SPAN}-01.`,
    `00-${TRACE.toUpperCase()}-${SPAN}-01`,
    `00-${'0'.repeat(32)}-${SPAN}-01`,
    `00-${TRACE}-${'0'.repeat(16)}-01`,
    `00-${TRACE}-${SPAN}`,
    `cc-${TRACE}-${SPAN}-01-${'x'.repeat(600)}`,
  ])('%s is none', (text) => {
    expect(readTraceparent(text)).toBeNull();
  });

  test('what is written is read again', () => {
    expect(readTraceparent(writeTraceparent(CONTEXT))).toEqual({ context: CONTEXT, isSampled: true });
  });
});

describe('headers of records', () => {
  const one = { partition: 3, offset: 70, sinceMs: 900, context: CONTEXT };
  const other = { partition: 0, offset: 70, sinceMs: 950, context: { ...CONTEXT, spanId: 'b'.repeat(16) } };

  test('of one request: its trace is of all events of the record, since the record was written', () => {
    const headers = requestTraceHeaders(CONTEXT);
    expect(headers).toEqual({ traceparent: `00-${TRACE}-${SPAN}-01` });
    expect(readTraceHeaders(headers, RECORD)).toEqual([{ partition: 3, offset: 70, sinceMs: 1_000, context: CONTEXT }]);
  });

  test('of many: each trace is named by the record of events.raw that its events came by', () => {
    const headers = traceHeaders([one, other]) ?? {};
    const asRead = Object.fromEntries(Object.entries(headers).map(([name, text]) => [name, Buffer.from(text)]));
    expect(readTraceHeaders(asRead, RECORD)).toEqual([one, other]);
    expect(movedTraceHeaders(asRead)).toEqual(headers);
  });

  test('none where nothing is traced', () => {
    expect(traceHeaders([])).toBeUndefined();
    expect(movedTraceHeaders({})).toBeUndefined();
    expect(readTraceHeaders({ account: 'a', hold: '' }, RECORD)).toEqual([]);
  });

  test('a trace that is not sampled, and what cannot be read, say nothing', () => {
    expect(readTraceHeaders({ traceparent: `00-${TRACE}-${SPAN}-00` }, RECORD)).toEqual([]);
    const traces = `x,${traceHeaders([one])?.['traces']},3/71/900=nonsense,3/72=00-${TRACE}-${SPAN}-01`;
    expect(readTraceHeaders({ traces }, RECORD)).toEqual([one]);
    expect(readTraceHeaders({ traces: ['twice', 'twice'] }, RECORD)).toEqual([]);
  });

  test('no more traces than a bound are written, or read', () => {
    const many = Array.from({ length: TRACES_MAX + 1 }, (_, offset) => ({ ...one, offset }));
    const { traces = '' } = traceHeaders(many) ?? {};
    expect(readTraceHeaders({ traces }, RECORD)).toHaveLength(TRACES_MAX);
    expect(readTraceHeaders({ traces: `${traces},${traces}` }, RECORD)).toHaveLength(TRACES_MAX);
  });

  test('events are found by their source positions', () => {
    const { of } = indexTraces([one, other]);
    expect(of({ partition: 3, offset: 70 })).toBe(one);
    expect(of({ partition: 0, offset: 70 })).toBe(other);
    expect([of({ partition: 1, offset: 70 }), of({ partition: 3, offset: 71 }), of(null)]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });
});
