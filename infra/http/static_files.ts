// Files and API documentation, compressed once and cached by entity tag.

import { hash } from 'node:crypto';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { docsPage } from '#pipelines/openapi.ts';
import { type Coding, chooseCoding, isKnown } from '#pipelines/tag/http.ts';
import { type HttpReply, type HttpRequestIn, type HttpServer, sendNotModified } from './http_server.ts';

/** A file made ahead in every coding, to be served from memory. */
export type CodedFile = Awaited<ReturnType<typeof codeFile>>;

/** How long a cache may use a file whose name has a digest of its content. */
export const FOR_EVER = 'public, max-age=31536000, immutable';

const DIGEST_CHARACTERS = 27;
const EFFORTS = { well: { brotli: constants.BROTLI_MAX_QUALITY, level: 9 }, quickly: { brotli: 5, level: 6 } };
const gzipped = promisify(gzip);
const brotlied = promisify(brotliCompress);

/** A file in every coding; `quickly` for what is made while somebody waits, a little larger. */
export async function codeFile(bytes: Buffer, effort: 'well' | 'quickly') {
  /** Of its content, for paths under which it never changes. */
  const digest = hash('sha256', bytes, 'base64url').slice(0, DIGEST_CHARACTERS);
  const { brotli, level } = EFFORTS[effort];
  const [br, gz] = await Promise.all([
    brotlied(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: brotli } }),
    gzipped(bytes, { level }),
  ]);
  /** With the strong entity tags of exactly these bytes, in their quotes. */
  const bodies: Readonly<Record<Coding, { bytes: Buffer; etag: string }>> = {
    identity: { bytes, etag: `"${digest}"` },
    gzip: { bytes: gz, etag: `"${digest}-gzip"` },
    br: { bytes: br, etag: `"${digest}-br"` },
  };
  return { digest, bodies };
}

/** Sends a file in the coding that the client likes best, or that it has it already. */
export function sendFile(request: HttpRequestIn, reply: HttpReply, { bodies }: CodedFile, type: string): HttpReply {
  const coding = chooseCoding(request.headers['accept-encoding']);
  const { bytes, etag } = bodies[coding];
  reply.header('x-content-type-options', 'nosniff').header('etag', etag).header('vary', 'Accept-Encoding');
  if (isKnown(request.headers['if-none-match'], etag)) return sendNotModified(request, reply);
  if (coding !== 'identity') reply.header('content-encoding', coding);
  return reply.type(type).send(bytes);
}

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
