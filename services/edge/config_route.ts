import { type HttpServer, sendNotModified } from '#infra/http/http_server.ts';
import type { ConfigAnswer } from '#pipelines/settings/site_config.ts';
import type { EdgeContext } from './edge_context.ts';

const CACHE = 'public, max-age=60, stale-while-revalidate=300';

/** GET /v1/config: the published configuration of the key's site. */
export function mountConfig(
  app: HttpServer,
  { keyed, callerOf, refuse }: EdgeContext,
  configOf: (siteId: string) => ConfigAnswer | undefined,
): void {
  app.get('/v1/config', { onRequest: keyed, exposeHeadRoute: true }, (request, reply) => {
    const answer = configOf(callerOf(request).site.site_id);
    if (answer === undefined) return refuse(reply, 'not_found');
    reply.header('etag', answer.etag).header('cache-control', CACHE).header('vary', 'Origin, X-Svc-Key');
    if (request.headers['if-none-match'] === answer.etag) return sendNotModified(request, reply);
    return reply.type('application/json; charset=utf-8').send(answer.body);
  });
}
