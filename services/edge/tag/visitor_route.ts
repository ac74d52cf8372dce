import type { HttpServer } from '#infra/http/http_server.ts';
import { renewedCookie, visitorOf } from '#pipelines/tag/visitor_cookie.ts';
import type { EdgeContext } from '../edge_context.ts';
import { servedSite } from '../served_site.ts';

/**
 * GET /v1/visitor: on a verified domain of an online site the visitor's cookie is set again, as long as browsers let it. The
 * tag asks for it while the visitor allows that; with what a browser fetches by itself, as a script, a cookie would come back
 * that a refusal had removed. No key, and no rate limit: an answer is a look into memory.
 */
export function mountVisitor(app: HttpServer, { table, refuse }: EdgeContext): void {
  app.get('/v1/visitor', (request, reply) => {
    reply.header('cache-control', 'no-store').header('cross-origin-resource-policy', 'same-site');
    const served = servedSite(table, request);
    if (!served.ok) return refuse(reply, served.code);
    const visitor = served.site.mode === 'online' ? visitorOf(request.headers.cookie) : null;
    const cookie = visitor === null ? null : renewedCookie(visitor, served.host);
    if (cookie !== null) reply.header('set-cookie', cookie);
    return reply.code(204).send();
  });
}
