import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What a test page answers with; HTML where nothing else is said. */
interface TestPage {
  body: string | Buffer;
  headers?: Record<string, string>;
}

export interface PageServer {
  /** `http://127.0.0.1:PORT`. */
  url: string;
  /** Requests so far, as `METHOD path`, favicons left out. */
  requests: string[];
  close(): Promise<void>;
}

/** Pages by their path, without the query; or all by a function, which may look at the request. */
export type TestPages = Record<string, TestPage> | ((request: IncomingMessage) => TestPage | undefined);

/** Serves a test's pages on loopback; what is not among them is 404. */
export async function startPageServer(pages: TestPages): Promise<PageServer> {
  const requests: string[] = [];
  const pageFor = typeof pages === 'function' ? pages : (request: IncomingMessage) => pages[pathOf(request)];
  const server = createServer((request, response) => {
    if (pathOf(request) !== '/favicon.ico') requests.push(`${request.method} ${request.url}`);
    const page = pageFor(request);
    if (page === undefined) return void response.writeHead(404).end();
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8', ...page.headers }).end(page.body);
    return undefined;
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    close() {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

function pathOf(request: IncomingMessage): string {
  return new URL(request.url ?? '/', 'http://page').pathname;
}

/** A whole page around what a test puts into it. */
export function html(parts: { head?: string; body?: string; title?: string }): string {
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>${parts.title ?? 'Test page'}</title>${parts.head ?? ''}</head>
<body>${parts.body ?? '<h1>Test page</h1>'}</body>
</html>
`;
}
