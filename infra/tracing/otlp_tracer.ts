// Spans to a collector by OTLP over HTTP. A collector that is away costs spans, which are counted, and nothing else.
import { setTimeout as sleep } from 'node:timers/promises';
import { ROOT_CONTEXT, SpanKind, SpanStatusCode, TraceFlags, trace } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOnSampler,
  BatchSpanProcessor,
  type SpanExporter,
  type SpanProcessor,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { Metrics } from '#infra/metrics/metrics.ts';
import type { Tracer } from './tracer.ts';

/** Ended spans in memory at the most, those under way to the collector included; about 2 KB each. */
const QUEUED_MAX = 2_048;
const BATCH_MAX = 512;
const BATCH_DELAY_MS = 2_000;
const EXPORT_MS_MAX = 5_000;
/** Calls at the most, those that were given up and still have an answer coming included. */
const CALLS_MAX = (2 * QUEUED_MAX) / BATCH_MAX;
const STOP_MS_MAX = 1_000;

const KINDS = {
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
} as const;

export function createOtlpTracer(
  { endpoint, ratio }: { endpoint: string; ratio: number },
  service: { name: string; instance: string },
  metrics: Pick<Metrics, 'counter'>,
): Tracer {
  const help =
    'Spans that the collector did not get, by why: it was not reached, too many waited, or were of one batch';
  const dropped = metrics.counter('svc_trace_spans_dropped_total', help, ['reason']);
  for (const reason of ['export_failed', 'queue_full', 'batch_full']) dropped.inc({ reason }, 0);
  const url = `${endpoint.replace(/\/$/, '')}/v1/traces`;
  const exporter = new OTLPTraceExporter({ url, timeoutMillis: EXPORT_MS_MAX, concurrencyLimit: CALLS_MAX });
  const provider = new TracerProvider({
    resource: resourceFromAttributes({
      'service.namespace': 'svc',
      'service.name': `svc-${service.name}`,
      'service.instance.id': service.instance,
    }),
    // Who is traced was decided before.
    sampler: new AlwaysOnSampler(),
    spanProcessors: [boundedProcessor(exporter, (reason, spans) => dropped.inc({ reason }, spans))],
  });
  const tracer = provider.getTracer('svc');
  return {
    ratio,
    start({ name, kind, startMs, attributes, parent, link }) {
      const remote = parent && { ...parent, traceFlags: TraceFlags.SAMPLED, isRemote: true };
      const within = remote === null ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, remote);
      const links = link === undefined ? [] : [{ context: { ...link, traceFlags: TraceFlags.SAMPLED } }];
      const span = tracer.startSpan(name, { kind: KINDS[kind], startTime: startMs, attributes, links }, within);
      const { traceId, spanId } = span.spanContext();
      return {
        context: { traceId, spanId },
        end(endMs, more = {}, error) {
          span.setAttributes(more);
          if (error !== undefined) {
            span.setAttribute('error.type', error).setStatus({ code: SpanStatusCode.ERROR });
          }
          span.end(Math.max(startMs, endMs));
        },
      };
    },
    leftOut: (spans) => dropped.inc({ reason: 'batch_full' }, spans),
    stop: () => Promise.race([provider.shutdown().catch(() => undefined), sleep(STOP_MS_MAX)]),
  };
}

/** The batches of the SDK, behind a count of its own: the SDK's bound leaves out those under way, and is not told of. */
function boundedProcessor(exporter: SpanExporter, dropped: (reason: string, spans: number) => void): SpanProcessor {
  let queued = 0;
  const batches = new BatchSpanProcessor({
    exporter: {
      export(spans, told) {
        let isOver = false;
        const end = (result: Parameters<typeof told>[0]): void => {
          if (isOver) return;
          isOver = true;
          clearTimeout(late);
          queued -= spans.length;
          // 0 is the SDK's word for success.
          if (result.code !== 0) dropped('export_failed', spans.length);
          told(result);
        };
        // The exporter's own limit begins anew with every byte of an answer.
        const late = setTimeout(() => end({ code: 1 }), 2 * EXPORT_MS_MAX).unref();
        exporter.export(spans, end);
      },
      shutdown: () => exporter.shutdown(),
    },
    maxQueueSize: QUEUED_MAX,
    maxExportBatchSize: BATCH_MAX,
    scheduledDelayMillis: BATCH_DELAY_MS,
    exportTimeoutMillis: 2 * EXPORT_MS_MAX,
  });
  return {
    onStart: () => undefined,
    onEnd(span) {
      if (queued >= QUEUED_MAX) return dropped('queue_full', 1);
      queued += 1;
      batches.onEnd(span);
    },
    forceFlush: () => batches.forceFlush(),
    shutdown: () => batches.shutdown(),
  };
}
