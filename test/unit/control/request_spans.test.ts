import { afterEach, expect, test } from 'vitest';
import { createHttpServer, type HttpServer, listen } from '#infra/http/http_server.ts';
import { traceRequests } from '#services/control/request_spans.ts';
import { memoryTracer } from '../tracing/memory_tracer.ts';

let app: HttpServer;
afterEach(() => app.close());

test('a share of the requests is traced, by route and not by address, whatever callers say', async () => {
  const { tracer, ended } = memoryTracer(0.5);
  const draws = [0.1, 0.9, 0.1];
  app = createHttpServer({ trustedProxies: [], bodyBytesMax: 1_024, requestTimeoutMs: 5_000 });
  app.get('/v1/admin/sites/:site', (_request, reply) => reply.code(503).send({}));
  const clocks = { nowMs: () => 7, monotonicMs: () => 0, random: () => draws.shift() ?? 1 };
  traceRequests(app, tracer, clocks);
  const url = `http://127.0.0.1:${await listen(app, '127.0.0.1', 0)}`;
  const headers = { traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01` };
  for (const path of ['/v1/admin/sites/secret-shop?token=t', '/v1/admin/sites/other', '/nowhere']) {
    await (await fetch(url + path, { headers })).text();
  }
  await expect.poll(() => ended.length).toBe(2);
  const route = '/v1/admin/sites/:site';
  expect(ended).toMatchObject([
    {
      ...{ name: `GET ${route}`, kind: 'server', parent: null, error: '503' },
      attributes: { 'http.request.method': 'GET', 'http.route': route, 'http.response.status_code': 503 },
    },
    { name: 'GET', attributes: { 'http.response.status_code': 404 } },
  ]);
});
