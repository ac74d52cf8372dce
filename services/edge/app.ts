import {
  clientAddress,
  createHttpServer,
  type HttpReply,
  type HttpRequestIn,
  type HttpServer,
} from '#infra/http/http_server.ts';
import type { ConfigAnswer } from '#pipelines/settings/site_config.ts';
import type { SettingsTable } from '#pipelines/settings/table.ts';
import { mountDocs } from '#services/openapi_routes.ts';
import type { RequestErrors } from '#services/request_errors.ts';
import type { Acceptor, IngestCaller } from './accept.ts';
import { type Answer, limitedAnswer, refusal, sendAnswer } from './answer.ts';
import { checkCaller } from './caller.ts';
import { mountFlags } from './compat/flags.ts';
import { posthog } from './compat/posthog.ts';
import { mountRemoteConfig } from './compat/remote_config.ts';
import { type CompatOptions, mountDialect } from './compat/routes.ts';
import { segment } from './compat/segment.ts';
import type { ConcurrencyLimiter, Permit } from './concurrency_limiter.ts';
import { cors } from './cors.ts';
import { BODY_BYTES_MAX } from './decode.ts';
import type { EdgeErrorCode } from './errors.ts';
import { faultHandler } from './faults.ts';
import { createIngest } from './ingest.ts';
import { watchMethods } from './methods.ts';
import { publicDocument } from './openapi.ts';
import { payloadReader } from './payload.ts';
import type { Strangers } from './strangers.ts';
import { mountTlsCheck } from './tls_check.ts';

export interface AppOptions {
  table: SettingsTable;
  trustedProxies: string[];
  limiter: ConcurrencyLimiter;
  acceptor: Acceptor;
  inventory(request: HttpRequestIn, caller: IngestCaller): Promise<Answer>;
  /** Whether limits are counted together with the other edges. */
  sharesLimits(): boolean;
  configOf(siteId: string): ConfigAnswer | undefined;
  /** Called with the hash of every key that was let in. */
  onKeyUsed(keyHash: string): void;
  /** Whether an event could be accepted now. */
  healthy(): boolean;
  nowMs(): number;
  errors: RequestErrors;
  strangers: Strangers;
}

const INGEST = '/v1/ingest';
const REQUEST_MS_MAX = 30_000;
const CONFIG_CACHE = 'public, max-age=60, stale-while-revalidate=300';

/** The public routes of the service. Nothing is parsed for a stranger: the key is checked before the body is read. */
export function createApp(options: AppOptions): HttpServer {
  const app = createHttpServer({
    trustedProxies: options.trustedProxies,
    bodyBytesMax: BODY_BYTES_MAX,
    requestTimeoutMs: REQUEST_MS_MAX,
    onBadUrl: (reply) => {
      refuse(reply, 'request_malformed');
    },
  });
  const callers = new WeakMap<HttpRequestIn, IngestCaller>();

  const permits = new WeakMap<HttpRequestIn, Permit>();
  const methods = watchMethods(app);

  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    ['application/json', 'text/plain'],
    payloadReader(BODY_BYTES_MAX, (request) => permits.get(request)),
  );
  app.addHook('onRequest', async (request, reply) => {
    cors(request, reply);
    if (request.method !== 'POST') return undefined;
    const permit = options.limiter.acquire();
    if (permit === null) return refuse(reply, 'overloaded');
    permits.set(request, permit);
    return undefined;
  });
  // Not when the connection ends: what it sent is held until its handler is done, and a response that waits behind
  // another one is never told of the end.
  app.addHook('onSend', (request, _reply, payload, done) => {
    permits.get(request)?.release();
    done(null, payload);
  });
  app.addHook('onResponse', (request, reply, done) => {
    if (request.method === 'POST' && reply.statusCode < 300) options.errors.succeeded();
    done();
  });
  app.options('*', (request, reply) => {
    const allowed = methods.of(pathOf(request));
    if (allowed !== undefined) reply.header('allow', allowed.join(', '));
    return reply.code(204).send();
  });
  const unrouted = (request: HttpRequestIn, reply: HttpReply): HttpReply => {
    const allowed = methods.of(pathOf(request));
    if (allowed === undefined) return refuse(reply, 'not_found');
    return refuse(reply.header('allow', allowed.join(', ')), 'method_not_allowed');
  };
  app.setNotFoundHandler(unrouted);
  app.setErrorHandler(
    faultHandler(options.errors, refuse, async (code, request, reply) => {
      if (code === 'method_not_allowed') return unrouted(request, reply);
      const known = callers.get(request);
      if (code === 'overloaded' || known === undefined || request.routeOptions.url !== INGEST)
        return refuse(reply, code);
      return refuseCounted(request, reply, code);
    }),
  );

  const { acceptor } = options;
  const ingest = createIngest(acceptor);
  const keyed = async (request: HttpRequestIn, reply: HttpReply): Promise<HttpReply | undefined> => {
    const check = checkCaller(options.table, request, options.nowMs());
    if (!check.ok) return refuse(reply, check.code);
    callers.set(request, check);
    options.onKeyUsed(check.key.key_hash);
    return undefined;
  };
  const sized = async (request: HttpRequestIn, reply: HttpReply): Promise<HttpReply | undefined> =>
    Number(request.headers['content-length'] ?? 0) > BODY_BYTES_MAX ? refuse(reply, 'body_too_large') : undefined;
  const callerOf = (request: HttpRequestIn): IngestCaller => callers.get(request) as IngestCaller;

  /** Who is known to be limited is told before the body is read. */
  const rated = async (request: HttpRequestIn, reply: HttpReply): Promise<HttpReply | undefined> => {
    const known = acceptor.limited(clientAddress(request), callerOf(request));
    return known === null ? undefined : sendAnswer(reply, limitedAnswer(known));
  };
  /** Refuses for the content, unless the rate is exceeded: the request counts all the same. */
  const refuseCounted = async (request: HttpRequestIn, reply: HttpReply, code: EdgeErrorCode): Promise<HttpReply> => {
    const known = await acceptor.countRefused(clientAddress(request), callerOf(request));
    return sendAnswer(reply, known === null ? refusal(code) : limitedAnswer(known));
  };

  app.post(INGEST, { onRequest: [keyed, rated] }, async (request, reply) => {
    if (request.body === undefined || request.body === null) {
      return refuseCounted(request, reply, 'content_type_unsupported');
    }
    return sendAnswer(reply, await ingest(request, callerOf(request)));
  });
  app.post('/v1/inventory', { onRequest: [keyed, sized] }, async (request, reply) => {
    if (request.body === undefined || request.body === null) return refuse(reply, 'content_type_unsupported');
    return sendAnswer(reply, await options.inventory(request, callerOf(request)));
  });
  app.get('/v1/config', { onRequest: keyed, exposeHeadRoute: true }, (request, reply) => {
    const answer = options.configOf(callerOf(request).site.site_id);
    if (answer === undefined) return refuse(reply, 'not_found');
    reply.header('etag', answer.etag).header('cache-control', CONFIG_CACHE).header('vary', 'Origin, X-Svc-Key');
    if (request.headers['if-none-match'] === answer.etag) return reply.code(304).send();
    return reply.type('application/json; charset=utf-8').send(answer.body);
  });
  app.get('/v1/health', { exposeHeadRoute: true }, (_request, reply) => {
    const ok = options.healthy();
    return reply
      .code(ok ? 200 : 503)
      .header('cache-control', 'no-store')
      .send({ ok, ratelimit: options.sharesLimits() ? 'redis' : 'memory' });
  });
  mountTlsCheck(app, options.table, refuse);
  mountDocs(app, publicDocument());
  const compat: CompatOptions = {
    ...options,
    collectBodies: (scope, bytesMax) =>
      scope.addContentTypeParser(
        '*',
        payloadReader(bytesMax, (request) => permits.get(request)),
      ),
  };
  for (const dialect of [segment, posthog]) mountDialect(app, dialect, compat);
  mountFlags(app, compat);
  mountRemoteConfig(app, compat);
  return app;
}

function refuse(reply: HttpReply, code: EdgeErrorCode): HttpReply {
  return sendAnswer(reply, refusal(code));
}

function pathOf(request: HttpRequestIn): string {
  return request.url.split('?', 1)[0] ?? '';
}
