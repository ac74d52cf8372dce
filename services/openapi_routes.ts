import type { HttpServer } from '#infra/http/http_server.ts';
import { docsPage } from '#pipelines/openapi/page.ts';

/** The pages run nothing and load nothing. */
const PAGE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'";

/** Serves an OpenAPI document: at /docs for people, at /docs/openapi.json for programs. Neither needs a key. */
export function mountDocs(app: HttpServer, document: Record<string, unknown>): void {
  const page = docsPage(document);
  app.get('/docs', (_request, reply) =>
    reply.type('text/html; charset=utf-8').header('content-security-policy', PAGE_POLICY).send(page),
  );
  app.get('/docs/openapi.json', (_request, reply) => reply.send(document));
}
