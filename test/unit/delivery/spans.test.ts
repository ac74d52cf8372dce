import { expect, test } from 'vitest';
import { jobRecords } from '#infra/redelivery/replay_topics.ts';
import { createCodec } from '#infra/registry/codec.ts';
import type { Registry } from '#infra/registry/schema_registry.ts';
import type { Answer, EntryOutcome, HttpRequest } from '#pipelines/delivery/contract.ts';
import { diverted, skipped } from '#pipelines/delivery/delivery_run.ts';
import { webhook } from '#pipelines/delivery/destinations/webhook/adapter.ts';
import { createBatchWriter, encodeEvent, noPerson, readBatch } from '#schemas/event_batch.ts';
import type { DeliveryJobRecord } from '#schemas/records.ts';
import { indexTraces, readTraceHeaders, requestTraceHeaders } from '#schemas/trace_context.ts';
import { WIRE_HEADER_BYTES } from '#schemas/wire.ts';
import type { Attempted } from '#services/delivery/attempts.ts';
import { beginCall, outcomesOf } from '#services/delivery/delivery_ports.ts';
import { createDeliveryOutput } from '#services/delivery/output.ts';
import { type BatchSpans, beginBatchSpans } from '#services/stage/batch_spans.ts';
import { memoryTracer } from '../tracing/memory_tracer.ts';
import { entryOf, NOW_MS } from './entries.ts';

const registry: Registry = { register: async () => 1, idOf: async () => 1, typeOf: async () => null };
const context = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16) };
const TRACED = { partition: 3, offset: 8, index: 0 };
const UNTRACED = { partition: 3, offset: 9, index: 0 };

/** A batch in which the events that came by one record are traced. */
function tracedBatch() {
  const { tracer, ended } = memoryTracer();
  const record = { offset: 8, timestampMs: NOW_MS, headers: requestTraceHeaders(context), key: null, value: null };
  const spans = beginBatchSpans(
    tracer,
    { topic: 'events.identified', partition: 3, records: [record] },
    { groupId: 'svc.delivery.webhook', startMs: NOW_MS },
  );
  const own = spans?.of(TRACED);
  if (spans === null || own === undefined) throw new Error('nothing is traced');
  return { spans, own, ended };
}

function attempted(coordinate: typeof TRACED, outcome: EntryOutcome, siteId = 'site_1'): Attempted {
  const entry = { ...entryOf({ site_id: siteId }), coordinate };
  const writer = createBatchWriter(1);
  writer.add(coordinate, noPerson(), encodeEvent(entry.event));
  const [view] = readBatch(writer.finish().subarray(WIRE_HEADER_BYTES));
  if (view === undefined) throw new Error('no event');
  return {
    ...{ siteId, destination: 'webhook', offset: 1, view, entry, outcome, attempt: 1, isMain: true, pausedFor: '' },
    ...{ firstAttemptedAtMs: NOW_MS, attemptedAtMs: NOW_MS },
  };
}

const FAILED = diverted('http_503', '');
const RECORD = { partition: 0, offset: 0, timestampMs: 0 };

test('what is tried again goes on with the trace of this attempt, and names no other', async () => {
  const { spans, own } = tracedBatch();
  const counts = { eventPartitions: 8, smallPartitions: 2 };
  const output = await createDeliveryOutput(
    registry,
    webhook,
    counts,
    () => undefined,
    () => 0,
  );
  const attempts = [attempted(TRACED, FAILED), attempted(UNTRACED, FAILED, 'site_2')];
  const retries = output
    .write(attempts, [], NOW_MS, spans)
    .outputs.filter(({ topic }) => topic.includes('.retry.'))
    .map(({ headers = {} }) => readTraceHeaders(headers, RECORD));
  expect(retries).toEqual([[own], []]);
});

test('what is replayed names the trace that the event had', async () => {
  const { own } = tracedBatch();
  const codec = await createCodec<DeliveryJobRecord>(registry, 'delivery.webhook.replay', 'delivery_job');
  const views = [attempted(TRACED, FAILED), attempted(UNTRACED, FAILED, 'site_2')].map(({ view }) => view);
  const records = jobRecords({ destination: 'webhook', askedAtMs: NOW_MS }, views, codec, 1, 2, indexTraces([own]));
  const named = records.map(([, , [record]]) => readTraceHeaders(record?.headers ?? {}, RECORD));
  expect(named).toEqual([[own], []]);
});

test('the span of a batch says what came of the events of its trace', () => {
  const { spans, own } = tracedBatch();
  const tell = outcomesOf(spans, [
    attempted(TRACED, FAILED),
    attempted({ ...TRACED, index: 1 }, { ...FAILED, outcome: 'delivered', reason: '' }),
    attempted({ ...TRACED, index: 2 }, FAILED),
    attempted(UNTRACED, skipped('consent_denied')),
  ]);
  expect(tell(own)).toEqual({ 'svc.outcomes': ['diverted: http_503', 'delivered'] });
});

test('a batch that is nothing to a destination leaves no span', () => {
  const { spans, ended } = tracedBatch();
  spans.end(NOW_MS, outcomesOf(spans, [attempted(TRACED, skipped('no_destination'))]));
  expect(ended).toEqual([]);
});

const REQUEST: HttpRequest = {
  ...{ method: 'POST', headers: {}, body: '{}', trusted: false },
  url: 'https://user:pw@hooks.example:8443/in/token?key=1',
};

test.for<[string, Answer, number, Record<string, unknown>, string | undefined]>([
  [
    'taken',
    { kind: 'answered', status: 204, headers: {}, body: '' },
    1,
    { 'http.response.status_code': 204 },
    undefined,
  ],
  [
    'refused at the third attempt',
    { kind: 'answered', status: 429, headers: {}, body: '' },
    3,
    { 'http.response.status_code': 429, 'http.request.resend_count': 2 },
    '429',
  ],
  ['not answered', { kind: 'no_answer', reason: 'timeout' }, 1, {}, 'timeout'],
])('a call that is %s is a span without anything secret of its address', ([, answer, attempt, facts, error]) => {
  const { spans, own, ended } = tracedBatch();
  const job = { spans: spans as BatchSpans | null, siteId: 'site_1', destination: 'webhook', attempt };
  const sent = [attempted(TRACED, FAILED), attempted({ ...TRACED, index: 1 }, FAILED), attempted(UNTRACED, FAILED)];
  beginCall(job, REQUEST, sent, NOW_MS)?.(answer, NOW_MS + 30);
  expect(ended).toEqual([
    {
      ...{ name: 'POST', kind: 'client', startMs: NOW_MS, endMs: NOW_MS + 30, parent: own.context },
      context: expect.objectContaining({ traceId: context.traceId }),
      attributes: {
        ...{ 'http.request.method': 'POST', 'server.address': 'hooks.example' },
        ...{ 'svc.destination': 'webhook', 'svc.site': 'site_1', ...facts },
      },
      ...(error === undefined ? {} : { error }),
    },
  ]);
});

test('a call for none of the traced events has no span', () => {
  const { spans } = tracedBatch();
  const job = { spans, siteId: 'site_1', destination: 'webhook', attempt: 1 };
  expect(beginCall(job, REQUEST, [attempted(UNTRACED, FAILED)], NOW_MS)).toBeNull();
  expect(beginCall({ ...job, spans: null }, REQUEST, [], NOW_MS)).toBeNull();
});
