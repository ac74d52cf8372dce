import type { HttpServer } from '#infra/http/http_server.ts';
import { docsPage } from '#pipelines/openapi/page.ts';

/** The pages run nothing and load nothing. */
const PAGE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'";

/**
 * Serves an OpenAPI document: at /docs for people, at /docs/openapi.json for programs. Neither needs a key.
 *
 * @param make Makes the document, when it is first asked for: a service begins without it.
 */
export function mountDocs(app: HttpServer, make: () => Record<string, unknown>): void {
  let document: Record<string, unknown> | undefined;
  let page: string | undefined;
  const documentMade = (): Record<string, unknown> => {
    document ??= make();
    return document;
  };
  app.get('/docs', (_request, reply) => {
    page ??= docsPage(documentMade());
    return reply.type('text/html; charset=utf-8').header('content-security-policy', PAGE_POLICY).send(page);
  });
  app.get('/docs/openapi.json', (_request, reply) => reply.send(documentMade()));
}
