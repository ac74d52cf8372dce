import type { AddressInfo } from 'node:net';
import { createHttpServer, type HttpReply, type HttpRequestIn } from '#infra/http/http_server.ts';
import { cors } from '#services/edge/app.ts';

/** How the stand-in answers a POST: takes the events, refuses, or never answers. */
type StandinAnswer = { kind: 'take' } | { kind: 'refuse'; status: number; retryAfterS?: number } | { kind: 'stall' };

/** A request as it came in. */
interface StandinRequest {
  method: string;
  /** With the query. */
  url: string;
  headers: Record<string, string>;
  body: string;
  /** On the clock of performance.now(). */
  atMs: number;
}

/** An edge that does as a test says, with the CORS of the real one. */
export interface StandinEdge {
  /** `http://127.0.0.1:PORT`. */
  url: string;
  /** All requests in order, preflights included. */
  requests: StandinRequest[];
  /** The POSTs to /v1/ingest. */
  posts(): StandinRequest[];
  /** The events of those that were taken. */
  taken: Record<string, unknown>[];
  answer: StandinAnswer;
  /** What a POST is answered that is taken, by path; else how many events it had. */
  replies: Record<string, object>;
  /** What GET answers, by path: scripts, the configuration. */
  files: Record<string, { type: string; body: string | Buffer }>;
  close(): Promise<void>;
}

const BODY_BYTES_MAX = 1_048_576;
const REQUEST_MS_MAX = 60_000;

/** Starts a stand-in edge on loopback that takes everything until it is told otherwise. */
export async function startStandinEdge(files: StandinEdge['files'] = {}): Promise<StandinEdge> {
  const app = createHttpServer({
    trustedProxies: [],
    bodyBytesMax: BODY_BYTES_MAX,
    requestTimeoutMs: REQUEST_MS_MAX,
    closingMs: 0,
  });
  const requests: StandinRequest[] = [];
  const standin: Omit<StandinEdge, 'url'> = {
    requests,
    taken: [],
    answer: { kind: 'take' },
    replies: {},
    files,
    posts: () => requests.filter(({ method, url }) => method === 'POST' && url.startsWith('/v1/ingest')),
    close: () => app.close(),
  };
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => done(null, body));
  app.all('/*', (request, reply) => {
    cors(request, reply);
    requests.push(received(request));
    if (request.method === 'OPTIONS') return reply.code(204).send();
    return request.method === 'POST' ? answered(standin, request, reply) : served(files, request, reply);
  });
  await app.listen({ port: 0, host: '127.0.0.1' });
  return Object.assign(standin, { url: `http://127.0.0.1:${(app.server.address() as AddressInfo).port}` });
}

function received(request: HttpRequestIn): StandinRequest {
  return {
    method: request.method,
    url: request.url,
    headers: Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)])),
    body: typeof request.body === 'string' ? request.body : '',
    atMs: performance.now(),
  };
}

function answered(
  { answer, taken, replies }: Omit<StandinEdge, 'url'>,
  request: HttpRequestIn,
  reply: HttpReply,
): HttpReply {
  if (answer.kind === 'stall') return reply.hijack();
  if (answer.kind === 'refuse') {
    if (answer.retryAfterS !== undefined) reply.header('retry-after', String(answer.retryAfterS));
    return reply.code(answer.status).send({ error: { code: 'standin', message: 'as the test says' } });
  }
  const told = replies[pathOf(request)];
  if (told !== undefined) return reply.send(told);
  const { events = [] } = JSON.parse(String(request.body)) as { events?: Record<string, unknown>[] };
  taken.push(...events);
  return reply.send({ accepted: events.length });
}

function served(files: StandinEdge['files'], request: HttpRequestIn, reply: HttpReply): HttpReply {
  const file = files[pathOf(request)];
  return file === undefined ? reply.code(404).send() : reply.type(file.type).send(file.body);
}

const pathOf = ({ url }: HttpRequestIn): string => new URL(url, 'http://edge').pathname;
