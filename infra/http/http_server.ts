import type { Server } from 'node:http';
import Fastify, {
  type FastifyHttpOptions,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
} from 'fastify';

import { watchConnections } from './connections.ts';
import { bareAddresses } from './forwarded_for.ts';

export type HttpServer = FastifyInstance;
export type HttpRequestIn = FastifyRequest;
export type HttpReply = FastifyReply;

export interface HttpOptions {
  /** CIDR ranges of proxies whose X-Forwarded-* headers are believed. */
  trustedProxies: string[];
  bodyBytesMax: number;
  /** Longest a request may take to arrive whole. */
  requestTimeoutMs: number;
  /** How long requests that have begun may go on when the server closes. */
  closingMs?: number;
  /** Answers a request whose URL cannot be read; else the server's own answer, which quotes the URL. */
  onBadUrl?: (reply: HttpReply) => void;
}

/** A Fastify server without request logging: URLs may hold keys and personal data. */
export function createHttpServer(options: HttpOptions): HttpServer {
  const { onBadUrl } = options;
  const server: FastifyHttpOptions<Server> = {
    trustProxy: options.trustedProxies.length === 0 ? false : options.trustedProxies,
    bodyLimit: options.bodyBytesMax,
    requestTimeout: options.requestTimeoutMs,
    connectionTimeout: SILENCE_MS_MAX,
    keepAliveTimeout: KEEP_ALIVE_MS,
    http: {
      connectionsCheckingInterval: LATE_CHECK_MS,
      requestTimeout: options.requestTimeoutMs,
      headersTimeout: options.requestTimeoutMs,
    },
    logger: false,
    exposeHeadRoutes: false,
    return503OnClosing: false,
  };
  if (onBadUrl !== undefined) {
    server.frameworkErrors = (_error, _request, reply) => onBadUrl(reply as unknown as HttpReply);
  }
  return withEnd(withAddresses(withHalfOpen(Fastify(server))), options.closingMs ?? CLOSING_MS);
}

const CLOSING_MS = 10_000;
const KEEP_ALIVE_MS = 72_000;
/** A connection on which nothing moves is cut, such as one of a client that does not read its answer. */
const SILENCE_MS_MAX = 120_000;
/** How often Node looks for requests that are late; half a minute by default, by which they would be cut as much later. */
const LATE_CHECK_MS = 1_000;

/**
 * Answers a request whose sender has said that nothing follows, as some proxies and `nc -N` do. By default Node drops the
 * answer then, which is not in its types, and the sender would take what was stored for lost.
 */
function withHalfOpen(app: HttpServer): HttpServer {
  Object.assign(app.server, { httpAllowHalfOpen: true });
  return app;
}

/** Serves what has begun when the server closes, and ends every connection in time. */
function withEnd(app: HttpServer, closingMs: number): HttpServer {
  const connections = watchConnections(app.server);
  app.addHook('onSend', (_request, reply, payload, done) => {
    if (connections.ending) reply.header('connection', 'close');
    done(null, payload);
  });
  app.addHook('preClose', (done) => {
    connections.end(closingMs);
    done();
  });
  return app;
}

const addresses = new WeakMap<HttpRequestIn, string>();

/**
 * The caller's address after trusted proxies, as it was when the request began: the server's own is undefined as soon as
 * the connection is gone.
 */
export function clientAddress(request: HttpRequestIn): string {
  const address = addresses.get(request);
  if (address === undefined) throw new Error('a request that was not begun has no address');
  return address;
}

/**
 * The host that was asked, without its port: as the nearest trusted proxy says in X-Forwarded-Host, else as the Host header
 * does. Nobody but a trusted proxy can set the former. Empty where there is neither.
 */
export function requestHost(request: HttpRequestIn): string {
  const { host } = request as { host: string | undefined };
  return (host ?? '').replace(/:\d*$/, '');
}

/** A request whose sender is gone before it begins has no address and nobody to be answered: it is not taken up. */
function withAddresses(app: HttpServer): HttpServer {
  // Asked for while the connection is new, as the system forgets the address of one that was reset.
  app.server.on('connection', (socket) => void socket.remoteAddress);
  app.addHook('onRequest', (request, reply, done) => {
    const { headers } = request.raw;
    const forwarded = headers['x-forwarded-for'];
    // The server compares what stands there with the trusted proxies, and answers with it, as it is.
    if (typeof forwarded === 'string') headers['x-forwarded-for'] = bareAddresses(forwarded);
    const { ip } = request as { ip: string | undefined };
    if (ip === undefined) {
      reply.hijack();
      request.raw.destroy();
      return;
    }
    addresses.set(request, ip);
    done();
  });
  return app;
}

/** Whether the server itself refuses a request, by a code of its own with a status of 4xx: the caller's fault, not ours. */
export function isRefusal(error: unknown): boolean {
  const { code, statusCode } = (error ?? {}) as { code?: unknown; statusCode?: unknown };
  if (typeof code !== 'string' || !code.startsWith('FST_ERR_')) return false;
  return typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500;
}

/** The server asks a QUERY for its content type before it looks for a route; there is none with that method. */
export const QUERY_WITHOUT_TYPE = 'FST_ERR_ROUTE_MISSING_CONTENT_TYPE';

/** Listens and answers the port taken. */
export async function listen(server: HttpServer, host: string, port: number): Promise<number> {
  await server.listen({ host, port });
  const address = server.server.address();
  if (address === null || typeof address === 'string') throw new Error('server has no port');
  return address.port;
}
