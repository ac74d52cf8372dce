// The spans of a batch: one for each sampled trace that it holds events of.
import type { InBatch } from '#infra/kafka/consumer/consumption.ts';
import type { OpenSpan, SpanAttributes, SpanFacts, Tracer } from '#infra/tracing/tracer.ts';
import {
  type CarriedTrace,
  indexTraces,
  readTraceHeaders,
  TRACES_MAX,
  type TraceIndex,
} from '#schemas/trace_context.ts';

/** Traces as they go on from this stage: the context of each is the stage's own span. */
export interface BatchSpans extends TraceIndex<CarriedTrace> {
  readonly all: readonly CarriedTrace[];
  /** Begins a span of a step within the stage. */
  start: Tracer['start'];
  /**
   * Ends the spans, once what they stand for is committed.
   *
   * @param attributesOf More of a span; null: it is not told of, as the batch was nothing to its events.
   */
  end(endMs: number, attributesOf?: (trace: CarriedTrace) => SpanAttributes | null): void;
}

interface BatchSpansOptions {
  groupId: string;
  /** Milliseconds since 1970 UTC. */
  startMs: number;
  /** Whether somebody had the batch's events sent again. */
  isReplay?: boolean;
}

/** What waited longer, in an outage or on a retry topic, is a trace of its own, with a link to the one it comes from. */
const STALE_MS = 3_600_000;

/** Whether a span goes on with a trace, or begins one of its own. */
export function originOf(
  { context, sinceMs }: CarriedTrace,
  startMs: number,
  isReplay = false,
): Pick<SpanFacts, 'parent' | 'link'> {
  return isReplay || startMs - sinceMs > STALE_MS ? { parent: null, link: context } : { parent: context };
}

/** Null where nothing of a batch is traced. */
export function beginBatchSpans(
  tracer: Tracer | null,
  { topic, partition, records }: Pick<InBatch, 'topic' | 'partition' | 'records'>,
  { groupId, startMs, isReplay = false }: BatchSpansOptions,
): BatchSpans | null {
  if (tracer === null) return null;
  // One request may have a record of several in the batch, each named by all its events.
  const found = new Map<string, CarriedTrace>();
  for (const record of records) {
    for (const trace of readTraceHeaders(record.headers, { ...record, partition })) {
      found.set(`${trace.partition}/${trace.offset}`, trace);
    }
  }
  if (found.size === 0) return null;
  if (found.size > TRACES_MAX) tracer.leftOut(found.size - TRACES_MAX);
  const attributes = {
    'messaging.system': 'kafka',
    'messaging.operation.name': 'process',
    'messaging.operation.type': 'process',
    'messaging.destination.name': topic,
    'messaging.destination.partition.id': String(partition),
    'messaging.consumer.group.name': groupId,
    'messaging.batch.message_count': records.length,
  };
  const spans = new Map<CarriedTrace, OpenSpan>();
  for (const trace of [...found.values()].slice(0, TRACES_MAX)) {
    const origin = originOf(trace, startMs, isReplay);
    const span = tracer.start({ name: `process ${topic}`, kind: 'consumer', startMs, attributes, ...origin });
    spans.set({ ...trace, sinceMs: startMs, context: span.context }, span);
  }
  const all = [...spans.keys()];
  return {
    start: tracer.start,
    all,
    of: indexTraces(all).of,
    end(endMs, attributesOf = () => ({})) {
      for (const [trace, span] of spans) {
        const more = attributesOf(trace);
        if (more !== null) span.end(endMs, more);
      }
    },
  };
}
