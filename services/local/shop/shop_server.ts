import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { createHttpServer } from '#infra/http/http_server.ts';
import { layout, STUB, type TagPlace } from './layout.ts';
import { pageAt } from './pages.ts';

export interface ShopServer {
  url: string;
  stop(): Promise<void>;
}

const HOST = '127.0.0.1';
const BODY_BYTES_MAX = 1_024;
const REQUEST_MS_MAX = 10_000;

const FILES = [
  { path: '/shop.css', type: 'text/css; charset=utf-8' },
  { path: '/shop.js', type: 'text/javascript; charset=utf-8' },
].map((file) => ({ ...file, body: readFileSync(new URL(`./files${file.path}`, import.meta.url)) }));

const STUB_HASH = `sha256-${hash('sha256', STUB, 'base64')}`;

/** Serves the demo shop on loopback. */
export async function startShop(port: number, tag: TagPlace): Promise<ShopServer> {
  const app = createHttpServer({
    trustedProxies: [],
    bodyBytesMax: BODY_BYTES_MAX,
    requestTimeoutMs: REQUEST_MS_MAX,
    closingMs: 0,
  });
  for (const { path, type, body } of FILES) {
    app.get(path, (_request, reply) => reply.type(type).header('cache-control', 'no-cache').send(body));
  }
  app.get('/*', (request, reply) => {
    const page = pageAt(new URL(request.url, 'http://shop'), tag);
    reply.type('text/html; charset=utf-8').header('content-security-policy', policy(tag));
    if (page !== undefined) return reply.send(layout(page, tag));
    const missing = { title: 'Not found', path: '', body: '<h1>There is no such page</h1>' };
    return reply.code(404).send(layout(missing, tag));
  });
  await app.listen({ port, host: HOST });
  return { url: `http://${HOST}:${(app.server.address() as AddressInfo).port}`, stop: () => app.close() };
}

/**
 * As strict as a careful shop's, but for scripts: those of the shop and of the edge only. With a nonce, which the tag hands
 * on, or 'strict-dynamic' it would load the platforms' own scripts, and a demo must call nobody outside this machine with
 * pixel ids that are invented.
 */
function policy({ edge }: TagPlace): string {
  return [
    "default-src 'none'",
    `script-src 'self' '${STUB_HASH}' ${edge}`,
    "style-src 'self'",
    "img-src 'self' data:",
    `connect-src ${edge}`,
    // Without scripts a form goes to the edge itself.
    `form-action 'self' ${edge}`,
    "base-uri 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    'trusted-types svc',
  ].join('; ');
}
