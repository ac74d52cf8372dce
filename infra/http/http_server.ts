// The HTTP server: limits of parsing, hosts, client addresses behind proxies, and connections at shutdown.

import { type IncomingMessage, type Server, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import type { FastifyHttpOptions, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import Fastify from 'fastify';
import { normaliseIp, writtenAddress } from '#pipelines/privacy/ip_addresses.ts';

export type HttpServer = FastifyInstance;
export type HttpRequestIn = FastifyRequest;
export type HttpReply = FastifyReply;

interface HttpOptions {
  /** CIDR ranges of proxies whose X-Forwarded-* headers are believed. */
  trustedProxies: string[];
  bodyBytesMax: number;
  /** Longest a request may take to arrive whole. */
  requestTimeoutMs: number;
  /** Longest decoded parameter of a path; a longer one finds no route. */
  paramCharactersMax?: number;
  /** How long requests that have begun may go on when the server closes. */
  closingMs?: number;
  /**
   * Answers a request whose URL cannot be read, or that does not say once which host it is for. Without it the server's own
   * answer is sent, which quotes the URL, and to the latter one that says nothing.
   */
  onMalformed?: (reply: HttpReply) => void;
}

/** A Fastify server without request logging: URLs may hold keys and personal data. */
export function createHttpServer(options: HttpOptions): HttpServer {
  const { onMalformed } = options;
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
      // Node's own answer to a request without one has no body.
      requireHostHeader: false,
    },
    logger: false,
    routerOptions: { maxParamLength: options.paramCharactersMax ?? PARAM_CHARACTERS_MAX },
    clientErrorHandler: refuseUnread,
    exposeHeadRoutes: false,
    return503OnClosing: false,
  };
  if (onMalformed !== undefined) {
    server.frameworkErrors = (_error, _request, reply) => onMalformed(reply as unknown as HttpReply);
  }
  const app = Fastify(server);
  // Answers a request whose sender has closed its own side, as some proxies and `nc -N` do. By default Node drops the answer
  // then, and the sender would believe that what was stored is lost. The option is not in Node's types.
  Object.assign(app.server, { httpAllowHalfOpen: true });
  app.server.on('checkExpectation', ({ socket }: IncomingMessage) => refuseSocket(socket, EXPECTS_MORE));
  rememberAddresses(app);
  // What does not say its host is refused before anything of it is used.
  app.addHook('onRequest', (request, reply, done) => {
    if (saysItsHost(request.raw)) done();
    else if (onMalformed !== undefined) onMalformed(reply);
    else reply.code(400).send();
  });
  endInTime(app, options.closingMs ?? CLOSING_MS);
  return app;
}

type Unread = readonly [status: number, code: string, message: string];

/** Why something that came never became a request, by what Node calls it; anything else is no HTTP. */
const UNREAD: Readonly<Record<string, Unread>> = {
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'request_timeout', 'The request did not arrive whole in time.'],
  HPE_HEADER_OVERFLOW: [431, 'headers_too_large', 'The address and the headers of the request are too large.'],
};
const NO_HTTP: Unread = [400, 'request_malformed', 'The request cannot be read.'];
/** RFC 9110, 10.1.1: there is no other expectation. */
const EXPECTS_MORE: Unread = [417, 'expectation_failed', 'Expect may be 100-continue, and nothing else.'];

/** Answers what never became a request in the form that all refusals have. */
function refuseUnread({ code }: Error & { code?: string }, socket: Socket): void {
  if (code !== 'ECONNRESET') refuseSocket(socket, UNREAD[code ?? ''] ?? NO_HTTP);
}

function refuseSocket(socket: Socket, [status, name, message]: Unread): void {
  if (socket.destroyed) return;
  const body = JSON.stringify({ error: { code: name, message } });
  const head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Length: ${body.length}\r\nContent-Type: application/json`;
  if (socket.writable) socket.write(`${head}\r\nConnection: close\r\n\r\n${body}`);
  socket.destroy();
}

const CLOSING_MS = 10_000;
const PARAM_CHARACTERS_MAX = 100;
const KEEP_ALIVE_MS = 72_000;
/** A connection on which nothing moves is cut, such as one of a client that does not read its answer. */
const SILENCE_MS_MAX = 120_000;
/** How often Node looks for late requests. Its default is 30 s, so that they would be cut up to 30 s too late. */
const LATE_CHECK_MS = 1_000;

/**
 * When the server closes: ends idle connections at once, and the others as soon as they are answered, at the latest after
 * `closingMs`. Node's own `close` leaves connections that never sent a byte, and once it was called no slow sender is cut any
 * more.
 */
function endInTime(app: HttpServer, closingMs: number): void {
  /** Requests of each connection that are not answered yet, and bytes that had been read when the last answer was sent. */
  const uses = new Map<Socket, { open: number; readBytes: number }>();
  let ending = false;
  app.server.on('connection', (socket) => {
    uses.set(socket, { open: 0, readBytes: 0 });
    socket.once('close', () => uses.delete(socket));
  });
  app.server.prependListener('request', ({ socket }, response) => {
    const use = uses.get(socket);
    if (use === undefined) return;
    use.open += 1;
    response.once('close', () => {
      use.open -= 1;
      use.readBytes = socket.bytesRead;
      if (ending && use.open === 0) socket.destroySoon();
    });
  });
  app.addHook('onSend', (_request, reply, payload, done) => {
    if (ending) reply.header('connection', 'close');
    done(null, payload);
  });
  app.addHook('preClose', (done) => {
    ending = true;
    for (const [socket, { open, readBytes }] of uses) {
      if (open === 0 && socket.bytesRead === readBytes) socket.destroy();
    }
    const endAll = (): void => {
      for (const socket of uses.keys()) socket.destroy();
    };
    setTimeout(endAll, closingMs).unref();
    done();
  });
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Read by `clientAddress`. */
    knownAddress: string;
  }
}

/**
 * The caller's address after trusted proxies, in its one spelling, as it was when the request began: the server's own is
 * undefined as soon as the connection is gone.
 */
export function clientAddress(request: HttpRequestIn): string {
  const address = request.knownAddress;
  if (address === '') throw new Error('a request that was not begun has no address');
  return address;
}

/**
 * The host that the request is for, without its port: from the X-Forwarded-Host of the nearest trusted proxy, else from the
 * Host header. Only a trusted proxy can set the former. Empty if both are absent.
 */
export function requestHost(request: HttpRequestIn): string {
  const { host } = request as { host: string | undefined };
  return (host ?? '').replace(/:\d*$/, '');
}

/** A request whose sender has left before it begins has no address and nobody to answer, so it is not handled. */
function rememberAddresses(app: HttpServer): void {
  // Read while the connection is new: the system forgets the address of a connection that was reset.
  app.server.on('connection', (socket) => void socket.remoteAddress);
  app.decorateRequest('knownAddress', '');
  /** By the connection's address and the header. */
  const read = new Map<string, { forwarded: string | null; address: string }>();
  app.addHook('onRequest', (request, reply, done) => {
    const { headers, socket } = request.raw;
    const sent = headers['x-forwarded-for'];
    const text = typeof sent === 'string' && sent.length <= FORWARDED_CHARACTERS_MAX ? sent : null;
    const key = text === null || socket.remoteAddress === undefined ? null : `${socket.remoteAddress}\n${text}`;
    const known = key === null ? undefined : read.get(key);
    if (known !== undefined) {
      forwardedAs(headers, known.forwarded);
      request.knownAddress = known.address;
      done();
      return;
    }
    // The server compares this text with the trusted proxies, and returns it unchanged as the address. Without one it is
    // that of the proxy, so that what a proxy passes on in place of an address does not count as somebody of its own.
    const forwarded = typeof sent === 'string' ? knownAddresses(sent) : null;
    forwardedAs(headers, forwarded);
    const { ip } = request as { ip: string | undefined };
    if (ip === undefined) {
      reply.hijack();
      request.raw.destroy();
      return;
    }
    const address = normaliseIp(ip) ?? ip;
    request.knownAddress = address;
    if (key !== null) {
      if (read.size >= ADDRESSES_MAX) read.clear();
      read.set(key, { forwarded, address });
    }
    done();
  });
}

const ADDRESSES_MAX = 10_000;
const FORWARDED_CHARACTERS_MAX = 200;

function forwardedAs(headers: IncomingMessage['headers'], forwarded: string | null): void {
  if (forwarded === null) delete headers['x-forwarded-for'];
  else headers['x-forwarded-for'] = forwarded;
}

/**
 * Answers 304. Of a HEAD the server would say that what was asked for is 0 bytes long, except where it is a stream, whose
 * length nobody knows (RFC 9110, 15.4.5: a length, where there is one, is that of the 200).
 */
export function sendNotModified(request: HttpRequestIn, reply: HttpReply): HttpReply {
  reply.code(304);
  return request.method === 'HEAD' ? reply.send(Readable.from([])) : reply.send();
}

/** Whether the server itself refuses the request with a 4xx code of its own: the caller's fault, not ours. */
export function isRefusal(error: unknown): boolean {
  const { code, statusCode } = (error ?? {}) as { code?: unknown; statusCode?: unknown };
  if (typeof code !== 'string' || !code.startsWith('FST_ERR_')) return false;
  return typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500;
}

/** The server checks the content type of a QUERY before it looks for a route, and no route has that method. */
export const QUERY_WITHOUT_TYPE = 'FST_ERR_ROUTE_MISSING_CONTENT_TYPE';

/** Listens, and resolves to the port. */
export async function listen(server: HttpServer, host: string, port: number): Promise<number> {
  await server.listen({ host, port });
  const address = server.server.address();
  if (address === null || typeof address === 'string') throw new Error('server has no port');
  return address.port;
}

/**
 * What X-Forwarded-For says for certain, each address in its one spelling: ports and brackets, as some proxies write them,
 * zones, capitals and leading zeros go. Of a text that is no address nobody knows what stands before it, so that only
 * what was added after the last of these counts; null where that is nothing.
 */
function knownAddresses(header: string): string | null {
  const addresses = header.split(',').map(writtenAddress);
  const known = addresses.slice(addresses.lastIndexOf(null) + 1);
  return known.length === 0 ? null : known.join(', ');
}

/** A name or an address, IPv6 in brackets, and a port (RFC 9110, 7.2); nothing is where a URL names no host. */
const HOST = /^(?:\[[0-9a-f:.]{2,45}\]|[^\s/?#@\\,[\]:]*)(?::(?<port>\d{0,5}))?$/i;
const PORT_MAX = 65_535;

/** Whether a request says once and readably which host it is for, as HTTP/1.1 asks of it (RFC 9112, 3.2). */
function saysItsHost({ httpVersion, headers: { host }, rawHeaders, url = '' }: IncomingMessage): boolean {
  // A target in absolute form has a host of its own, which would have to be taken in place of the header (RFC 9112, 3.2.2).
  if (!url.startsWith('/') && targetHost(url) !== host?.toLowerCase()) return url === '*';
  if (host === undefined) return httpVersion === '1.0';
  // Of two such headers Node shows the first alone.
  return isReadable(host) && hostHeaders(rawHeaders) <= 1;
}

function hostHeaders(rawHeaders: readonly string[]): number {
  let count = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) if (isHost(rawHeaders[at] as string)) count += 1;
  return count;
}

/** A port that there is not is refused with the rest: an address with it is none, whatever reads it later. */
function isReadable(host: string): boolean {
  const read = HOST.exec(host);
  return read !== null && Number(read.groups?.['port'] ?? '') <= PORT_MAX;
}

/** The host, and the port, of a request target in absolute form; undefined of anything else. */
const targetHost = (target: string): string | undefined => /^https?:\/\/([^/?#]*)/i.exec(target)?.[1]?.toLowerCase();

const isHost = (name: string): boolean => name.length === 4 && name.toLowerCase() === 'host';

export function sentPath({ url }: HttpRequestIn): string {
  return url.split('?', 1)[0] ?? '';
}

/** The query of a request as it was sent, without the question mark. */
export function sentQuery({ url }: HttpRequestIn): string {
  const at = url.indexOf('?');
  return at < 0 ? '' : url.slice(at + 1);
}

/** Codes of errors that are answered with one status, each with its message. */
export function withStatus<Code extends string>(status: number, messages: Readonly<Record<Code, string>>) {
  const entries = Object.entries<string>(messages).map(([code, message]) => [code, { status, message }]);
  return Object.fromEntries(entries) as Record<Code, { status: number; message: string }>;
}
