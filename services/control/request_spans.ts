// Spans of requests. What a caller says of traces is not heard: anybody can call.
import type { HttpRequestIn, HttpServer } from '#infra/http/http_server.ts';
import { createSampling, type OpenSpan, type Tracer } from '#infra/tracing/tracer.ts';

const SERVER_ERROR = 500;

/** Has a share of the requests of a server traced, by method, route and status. */
export function traceRequests(
  app: HttpServer,
  tracer: Tracer,
  { nowMs, monotonicMs, random }: { nowMs(): number; monotonicMs(): number; random(): number },
): void {
  const sampling = createSampling({ ratio: tracer.ratio, random, nowMs: monotonicMs });
  const spans = new WeakMap<HttpRequestIn, OpenSpan>();
  app.addHook('onRequest', (request, _reply, done) => {
    const decided = sampling.decide(undefined);
    if (decided !== null) {
      const { method, routeOptions } = request;
      const route = routeOptions.url ?? '';
      const attributes = { 'http.request.method': method, 'http.route': route };
      const name = `${method} ${route}`.trimEnd();
      spans.set(request, tracer.start({ name, kind: 'server', startMs: nowMs(), attributes, ...decided }));
    }
    done();
  });
  app.addHook('onResponse', (request, { statusCode }, done) => {
    const error = statusCode >= SERVER_ERROR ? String(statusCode) : undefined;
    spans.get(request)?.end(nowMs(), { 'http.response.status_code': statusCode }, error);
    done();
  });
}
