import { afterEach, beforeEach, expect, test } from 'vitest';
import { createMetrics } from '#infra/metrics/metrics.ts';
import { openTracer, type Tracer } from '#infra/tracing/tracer.ts';
import { startCollector } from '#test/harness/collector.ts';
import { until } from '#test/harness/until.ts';

const SERVICE = { name: 'dedup', instance: 'a1b2' };
const PARENT = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7' };
const QUEUED_MAX = 2_048;

let collector: Awaited<ReturnType<typeof startCollector>>;
let tracer: Tracer;
let metrics: ReturnType<typeof createMetrics>;
beforeEach(async () => {
  collector = await startCollector();
  metrics = createMetrics('dedup');
  const opened = await openTracer({ endpoint: `${collector.url}/`, ratio: 0.01 }, SERVICE, metrics);
  if (opened === null) throw new Error('there is no tracer');
  tracer = opened;
});
afterEach(async () => {
  await tracer.stop();
  await collector.close();
});

const facts = { name: 'process t', kind: 'consumer', startMs: 1_000, attributes: { a: 'b' } } as const;
async function dropped(reason: string): Promise<number> {
  const found = (await metrics.text()).match(new RegExp(`svc_trace_spans_dropped_total\\{reason="${reason}".* (\\d+)`));
  return Number(found?.[1]);
}

test('without a collector there is no tracer', async () => {
  expect(await openTracer({ endpoint: null, ratio: 1 }, SERVICE, metrics)).toBeNull();
});

test('what is ended gets to the collector, with its parent, its links and its fault', async () => {
  const child = tracer.start({ ...facts, parent: PARENT });
  const later = tracer.start({ ...facts, parent: null, link: PARENT });
  tracer.start({ ...facts, parent: PARENT });
  expect(child.context.traceId).toBe(PARENT.traceId);
  expect(later.context.traceId).not.toBe(PARENT.traceId);
  child.end(1_500, { n: 7, list: ['x', 'y'] });
  later.end(1_500, {}, 'timeout');
  await tracer.stop();
  const common = { service: 'svc-dedup', name: 'process t' };
  expect(collector.spans).toEqual([
    {
      ...{ ...common, ...child.context, parentSpanId: PARENT.spanId, links: [], failed: false },
      attributes: { a: 'b', n: 7, list: ['x', 'y'] },
    },
    {
      ...{ ...common, ...later.context, parentSpanId: '', links: [PARENT], failed: true },
      attributes: { a: 'b', 'error.type': 'timeout' },
    },
  ]);
});

test('a collector that is away costs spans, which are counted, and holds up nobody', async () => {
  await collector.close();
  for (let at = 0; at < QUEUED_MAX + 5; at++) tracer.start({ ...facts, parent: PARENT }).end(1_001);
  expect(await dropped('queue_full')).toBe(5);
  await until(
    'a batch is given up',
    () => dropped('export_failed'),
    (spans) => spans > 0,
  );
  await collector.open();
  const accounted = async () => collector.spans.length + (await dropped('export_failed'));
  await until('every other span came, or is counted', accounted, (spans) => spans === QUEUED_MAX);
  expect(collector.spans.length).toBeGreaterThan(0);
});
