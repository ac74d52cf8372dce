import { afterEach, expect, test } from 'vitest';
import { createRequestSpans } from '#services/edge/request_spans.ts';
import { memoryTracer } from '../tracing/memory_tracer.ts';
import { startEdge, type TestEdge, type TestEdgeOptions } from './edge.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const TRACEPARENT = `00-${TRACE}-00f067aa0ba902b7-01`;
const BODY = JSON.stringify({ events: [{ event: 'purchase', uuid: 'order-1', distinct_id: 'buyer' }] });

let edge: TestEdge;
afterEach(() => edge.close());

async function start(ratio: number, options: TestEdgeOptions = {}) {
  const traced = memoryTracer(ratio);
  const clocks = { nowMs: Date.now, monotonicMs: () => 0, random: () => 0.5 };
  const headers: Record<string, string>[] = [];
  const onHeaders = (one: Record<string, string>): void => void headers.push(one);
  edge = await startEdge({ spans: createRequestSpans(traced.tracer, clocks), onHeaders, ...options });
  return { ...traced, headers };
}

const send = (key: string, traceparent?: string) =>
  fetch(`${edge.url}/v1/ingest?key=${key}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(traceparent === undefined ? {} : { traceparent }) },
    body: BODY,
  });

test("a server's trace goes on: the request is a child of its span, and the record one of what was sent", async () => {
  const { ended, headers } = await start(0);
  expect((await send(edge.serverKey, TRACEPARENT)).status).toBe(200);
  await expect.poll(() => ended.map(({ name }) => name)).toEqual(['send events.raw', 'POST /v1/ingest']);
  const [sent, request] = ended;
  expect(request).toMatchObject({
    kind: 'server',
    parent: { traceId: TRACE, spanId: '00f067aa0ba902b7' },
    attributes: {
      'http.request.method': 'POST',
      'http.route': '/v1/ingest',
      'http.response.status_code': 200,
      'svc.site': 'shop',
    },
  });
  expect(sent).toMatchObject({ kind: 'producer', parent: request?.context });
  expect(headers).toEqual([expect.objectContaining({ traceparent: `00-${TRACE}-${sent?.context.spanId}-01` })]);
  expect(JSON.stringify(ended)).not.toContain(edge.serverKey);
});

test('a browser is not heard: nobody can have others traced, or name their traces', async () => {
  const { ended, headers } = await start(0);
  expect((await send(edge.browserKey, TRACEPARENT)).status).toBe(200);
  expect(headers).toEqual([expect.not.objectContaining({ traceparent: expect.anything() })]);
  expect(ended).toEqual([]);
});

test('of a browser that is traced by the share, the trace is a new one', async () => {
  const { ended } = await start(1);
  await send(edge.browserKey, TRACEPARENT);
  await expect.poll(() => ended.length).toBe(2);
  expect(ended[1]).toMatchObject({ name: 'POST /v1/ingest', parent: null });
  expect(ended[1]?.context.traceId).not.toBe(TRACE);
});

test('what is refused says so, and what has no key is not traced', async () => {
  const { ended } = await start(1);
  edge.answers.push(Promise.resolve({ ok: false, code: 'queue_full' }));
  expect((await send(edge.serverKey)).status).toBe(503);
  await expect.poll(() => ended.map(({ error }) => error)).toEqual(['queue_full', '503']);
  expect((await send('svc_sk_unknown')).status).toBe(403);
  expect(ended).toHaveLength(2);
});
