import type { HttpServer } from '#infra/http/http_server.ts';

/** How the edge is. */
export interface EdgeHealth {
  /** Whether an event could be accepted now. */
  healthy(): boolean;
  /** Whether limits are counted together with the other edges. */
  sharesLimits(): boolean;
}

/** GET /v1/health, which needs no key. */
export function mountHealth(app: HttpServer, { healthy, sharesLimits }: EdgeHealth): void {
  app.get('/v1/health', { exposeHeadRoute: true }, (_request, reply) => {
    const ok = healthy();
    return reply
      .code(ok ? 200 : 503)
      .header('cache-control', 'no-store')
      .send({ ok, ratelimit: sharesLimits() ? 'redis' : 'memory' });
  });
}
