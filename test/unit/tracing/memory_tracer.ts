import type { SpanAttributes, SpanFacts, Tracer } from '#infra/tracing/tracer.ts';
import type { TraceContext } from '#schemas/trace_context.ts';

/** A span that was ended, with all that was said of it. */
interface EndedSpan extends SpanFacts {
  context: TraceContext;
  endMs: number;
  error?: string;
}

/** Keeps ended spans; the n-th that begins a trace is of trace n, in hexadecimal. */
export function memoryTracer(ratio = 1) {
  const ended: EndedSpan[] = [];
  let traces = 0;
  let spans = 0;
  let leftOut = 0;
  const tracer: Tracer = {
    ratio,
    start(facts) {
      const traceId = facts.parent?.traceId ?? (++traces).toString(16).padStart(32, '0');
      const context = { traceId, spanId: (++spans).toString(16).padStart(16, '0') };
      return {
        context,
        end(endMs, more: SpanAttributes = {}, error) {
          const attributes = { ...facts.attributes, ...more };
          ended.push({ ...facts, attributes, context, endMs, ...(error === undefined ? {} : { error }) });
        },
      };
    },
    leftOut(count) {
      leftOut += count;
    },
    stop: async () => undefined,
  };
  return { tracer, ended, leftOut: () => leftOut };
}
