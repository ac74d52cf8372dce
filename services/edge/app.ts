import { createHttpServer, type HttpReply, type HttpRequestIn, type HttpServer } from '#infra/http/server.ts';
import type { ConfigAnswer } from '#pipelines/settings/site_config.ts';
import type { SettingsTable } from '#pipelines/settings/table.ts';
import { BODY_BYTES_MAX } from './body.ts';
import { checkCaller } from './caller.ts';
import { type EdgeErrorCode, errorAnswer } from './errors.ts';
import { type IngestAnswer, type IngestCaller, sendAnswer } from './ingest.ts';

export interface AppOptions {
  table: SettingsTable;
  trustedProxies: string[];
  ingest(request: HttpRequestIn, caller: IngestCaller): Promise<IngestAnswer>;
  configOf(siteId: string): ConfigAnswer | undefined;
  /** Whether an event could be accepted now. */
  healthy(): boolean;
  nowMs(): number;
  /** An error nobody foresaw: the process must not go on. */
  onFatal(error: unknown): void;
}

const REQUEST_MS_MAX = 30_000;
const CONFIG_CACHE = 'public, max-age=60, stale-while-revalidate=300';

/** The public routes of the service. Nothing is parsed for a stranger: the key is checked before the body is read. */
export function createApp(options: AppOptions): HttpServer {
  const app = createHttpServer({
    trustedProxies: options.trustedProxies,
    bodyBytesMax: BODY_BYTES_MAX,
    requestTimeoutMs: REQUEST_MS_MAX,
  });
  const callers = new WeakMap<HttpRequestIn, IngestCaller>();

  app.removeAllContentTypeParsers();
  app.addContentTypeParser(['application/json', 'text/plain'], { parseAs: 'buffer' }, (_request, body, done) =>
    done(null, body),
  );
  app.addHook('onRequest', async (request, reply) => {
    cors(request, reply);
  });
  app.options('*', (_request, reply) => reply.code(204).send());
  app.setNotFoundHandler((_request, reply) => refuse(reply, 'not_found'));
  app.setErrorHandler((error, _request, reply) => {
    const code = codeOf(error);
    if (code !== null) return refuse(reply, code);
    options.onFatal(error);
    return refuse(reply, 'overloaded');
  });

  const keyed = async (request: HttpRequestIn, reply: HttpReply): Promise<HttpReply | undefined> => {
    const check = checkCaller(options.table, request, options.nowMs());
    if (!check.ok) return refuse(reply, check.code);
    if (Number(request.headers['content-length'] ?? 0) > BODY_BYTES_MAX) return refuse(reply, 'body_too_large');
    callers.set(request, check);
    return undefined;
  };
  const callerOf = (request: HttpRequestIn): IngestCaller => callers.get(request) as IngestCaller;

  app.post('/v1/ingest', { onRequest: keyed }, async (request, reply) => {
    if (request.body === undefined || request.body === null) return refuse(reply, 'content_type_unsupported');
    return sendAnswer(reply, await options.ingest(request, callerOf(request)));
  });
  app.get('/v1/config', { onRequest: keyed }, (request, reply) => {
    const answer = options.configOf(callerOf(request).site.site_id);
    if (answer === undefined) return refuse(reply, 'not_found');
    reply.header('etag', answer.etag).header('cache-control', CONFIG_CACHE).header('vary', 'Origin, X-Svc-Key');
    if (request.headers['if-none-match'] === answer.etag) return reply.code(304).send();
    return reply.type('application/json; charset=utf-8').send(answer.body);
  });
  app.get('/v1/health', (_request, reply) => {
    const ok = options.healthy();
    return reply
      .code(ok ? 200 : 503)
      .header('cache-control', 'no-store')
      .send({ ok, ratelimit: 'memory' });
  });
  return app;
}

function refuse(reply: HttpReply, code: EdgeErrorCode): HttpReply {
  const { status, body } = errorAnswer(code);
  return reply.code(status).send(body);
}

/** CORS is open (SPEC section 5): who may call is decided by the key's allow-list, not by the browser. */
function cors(request: HttpRequestIn, reply: HttpReply): void {
  reply.header('access-control-allow-origin', '*');
  reply.header('access-control-expose-headers', 'Retry-After, ETag');
  if (request.method !== 'OPTIONS') return;
  reply.header('access-control-allow-methods', 'GET, POST, OPTIONS');
  reply.header('access-control-allow-headers', 'Content-Type, Content-Encoding, X-Svc-Key');
  reply.header('access-control-max-age', '86400');
}

/** What of the server's own errors is the caller's fault, by the server's stable codes. */
const CALLER_FAULTS: Record<string, EdgeErrorCode> = {
  FST_ERR_CTP_BODY_TOO_LARGE: 'body_too_large',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'content_type_unsupported',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'request_malformed',
  FST_ERR_CTP_EMPTY_JSON_BODY: 'body_not_json',
  FST_ERR_BAD_URL: 'request_malformed',
  ECONNRESET: 'request_malformed',
  ECONNABORTED: 'request_malformed',
};

function codeOf(error: unknown): EdgeErrorCode | null {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' ? (CALLER_FAULTS[code] ?? null) : null;
}
