// Spans of requests. What a caller says of traces is not heard: anybody can call.
import type { HttpRequestIn, HttpServer } from '#infra/http/http_server.ts';
import { createSampling, startRequestSpan, type Tracer } from '#infra/tracing/tracer.ts';

/** Has a share of the requests of a server traced, by method, route and status. */
export function traceRequests(
  app: HttpServer,
  tracer: Tracer,
  { nowMs, monotonicMs, random }: { nowMs(): number; monotonicMs(): number; random(): number },
): void {
  const sampling = createSampling({ ratio: tracer.ratio, random, nowMs: monotonicMs });
  const spans = new WeakMap<HttpRequestIn, ReturnType<typeof startRequestSpan>>();
  app.addHook('onRequest', (request, _reply, done) => {
    const decided = sampling.decide(undefined);
    if (decided !== null) spans.set(request, startRequestSpan(tracer, request, nowMs(), decided));
    done();
  });
  app.addHook('onResponse', (request, { statusCode }, done) => {
    spans.get(request)?.end(nowMs(), statusCode);
    done();
  });
}
