// Spans of requests whose caller is known, and of what they produce.
import type { HttpReply, HttpRequestIn } from '#infra/http/http_server.ts';
import { TOPICS } from '#infra/kafka/topics.ts';
import { createSampling, startRequestSpan, type Tracer } from '#infra/tracing/tracer.ts';
import { requestTraceHeaders } from '#schemas/trace_context.ts';
import type { IngestCaller } from './ingest_service.ts';

/** The trace of one request. */
export interface RequestSpan {
  /** Begins the span of records that are sent; what is sent bears its headers. */
  produce(records: number): { headers: Record<string, string>; end(error?: string): void };
  end(reply: HttpReply): void;
}

export type RequestSpans = ReturnType<typeof createRequestSpans>;

/**
 * @param clocks `monotonicMs` bounds how many requests are traced because servers say so; browsers are not heard, as anybody
 *   can be one.
 */
export function createRequestSpans(
  tracer: Tracer,
  { nowMs, monotonicMs, random }: { nowMs(): number; monotonicMs(): number; random(): number },
) {
  const sampling = createSampling({ ratio: tracer.ratio, random, nowMs: monotonicMs });

  function open(span: ReturnType<typeof startRequestSpan>, siteId: string): RequestSpan {
    return {
      produce(records) {
        const sent = tracer.start({
          name: `send ${TOPICS.raw}`,
          kind: 'producer',
          startMs: nowMs(),
          attributes: {
            'messaging.system': 'kafka',
            'messaging.operation.name': 'send',
            'messaging.operation.type': 'send',
            'messaging.destination.name': TOPICS.raw,
            'messaging.batch.message_count': records,
          },
          parent: span.context,
        });
        return { headers: requestTraceHeaders(sent.context), end: (error) => sent.end(nowMs(), {}, error) };
      },
      end({ statusCode }) {
        span.end(nowMs(), statusCode, { 'svc.site': siteId });
      },
    };
  }

  return {
    /** The trace of a request that is now known to be of this caller; null where it is not traced. */
    begin(request: HttpRequestIn, { key, site }: IngestCaller): RequestSpan | null {
      const said = key.caller === 'server' ? request.headers['traceparent'] : undefined;
      const decided = sampling.decide(typeof said === 'string' ? said : undefined);
      return decided === null ? null : open(startRequestSpan(tracer, request, nowMs(), decided), site.site_id);
    },
  };
}
