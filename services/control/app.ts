import {
  createHttpServer,
  type HttpReply,
  type HttpRequestIn,
  type HttpServer,
  isRefusal,
  QUERY_WITHOUT_TYPE,
} from '#infra/http/http_server.ts';
import { mountDocs } from '#infra/http/static_files.ts';
import { framesOf } from '#pipelines/settings/share_links.ts';
import {
  authenticate,
  type Caller,
  CSRF_HEADER,
  hasCsrfHeader,
  isCrossOrigin,
  isOwnHost,
  type RequestFacts,
} from './auth.ts';
import { mountDashboard } from './dashboard_files.ts';
import { CONTROL_ERRORS, type ControlErrorCode, refuse } from './errors.ts';
import { answer, type ControlOptions } from './request_handler.ts';
import type { Route } from './route.ts';
import { controlDocument, ROUTES } from './routes.ts';

const BODY_BYTES_MAX = 1024 * 1024;
/** Of somebody who has not shown who he is: many may send at once, and a sign-in is short. */
const STRANGERS_BODY_BYTES_MAX = 16 * 1024;
const REQUEST_MS_MAX = 30_000;
/** An event's id has up to 200; what is longer is judged by the route's schema, up to here. */
const PARAM_CHARACTERS_MAX = 500;
/** Beside these the server knows no others; HEAD and OPTIONS have no routes here either. */
const HEALTH = '/v1/admin/health';
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'QUERY'] as const;
/**
 * The routes of the control service. Nothing is parsed for anonymous callers: host, origin and who asks are checked before the
 * body is read.
 */
export function createControlApp(options: ControlOptions): HttpServer {
  const app = createHttpServer({
    trustedProxies: [...options.trustedProxies],
    bodyBytesMax: BODY_BYTES_MAX,
    requestTimeoutMs: REQUEST_MS_MAX,
    paramCharactersMax: PARAM_CHARACTERS_MAX,
    onMalformed: (reply) => {
      refuse(reply, 'request_malformed');
    },
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  app.addHook('onRequest', async (_request, reply) => {
    reply.header('cache-control', 'no-store').header('x-content-type-options', 'nosniff');
  });
  app.addHook('onRequest', async (request, reply) => {
    // Probes of machines name the service as they find it; the answer says nothing of anybody.
    if (request.routeOptions.url === HEALTH || isOwnHost(request.headers.host, options.ownNames)) return undefined;
    return refuse(reply, 'host_unknown');
  });
  app.setNotFoundHandler((_request, reply) => refuse(reply, 'not_found'));
  app.setErrorHandler((error, request, reply) => {
    const code = codeOf(error, request);
    if (code === 'method_not_allowed') {
      reply.header('allow', (METHODS_OF.get(request.routeOptions.url ?? '') ?? ['GET']).join(', '));
    }
    if (code === null) options.errors.record(error, request.routeOptions.url);
    return refuse(reply, code ?? 'internal');
  });
  app.addHook('onResponse', (request, reply, done) => {
    if (reply.statusCode < 300 && callers.has(request)) options.errors.succeeded();
    done();
  });

  const callers = new WeakMap<HttpRequestIn, Caller>();
  const admit = (route: Route) => async (request: HttpRequestIn, reply: HttpReply) => {
    const refusal = await refusalOf(options, route, request, callers);
    return refusal === null ? undefined : refuse(reply, refusal);
  };
  for (const route of ROUTES) {
    app.route({
      method: route.method,
      url: fastifyPath(route.path),
      onRequest: admit(route),
      bodyLimit: route.access === 'open' ? STRANGERS_BODY_BYTES_MAX : BODY_BYTES_MAX,
      handler: (request, reply) => answer(options, route, callers.get(request) ?? null, request, reply),
    });
  }
  for (const [url, methods] of METHODS_OF) {
    app.route({
      method: METHODS.filter((method) => !methods.includes(method)),
      url,
      handler: (_request, reply) => refuse(reply.header('allow', methods.join(', ')), 'method_not_allowed'),
    });
  }
  publicRoutes(app, options);
  return app;
}

/** Why nothing more of a request is looked at; else null, and who sent it is known where the route needs somebody. */
async function refusalOf(
  options: ControlOptions,
  route: Route,
  request: HttpRequestIn,
  callers: WeakMap<HttpRequestIn, Caller>,
): Promise<ControlErrorCode | null> {
  const facts = factsOf(request);
  if (route.access === 'shared') return isCrossOrigin(facts, options.ownNames) ? 'origin_foreign' : null;
  if (route.access === 'open') {
    if (isCrossOrigin(facts, options.ownNames)) return 'origin_foreign';
    return hasCsrfHeader(facts, options.ownNames) ? null : 'csrf_missing';
  }
  const { authorization, cookie: cookies } = request.headers;
  const found = await authenticate(options, { ...facts, authorization, cookies });
  if (!found.ok) return found.code;
  callers.set(request, found.caller);
  return null;
}

function factsOf({ method, headers }: HttpRequestIn): RequestFacts {
  const { host, origin } = headers;
  return { method, host, origin, fetchSite: header(headers, 'sec-fetch-site'), csrf: header(headers, CSRF_HEADER) };
}

function header(headers: HttpRequestIn['headers'], name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'string' ? value : undefined;
}

function publicRoutes(app: HttpServer, options: ControlOptions): void {
  mountDocs(app, controlDocument);
  mountDashboard(app, options.dashboard, refuse, (linkId) =>
    framesOf(options.journal.view().table, linkId, options.nowMs()),
  );
  app.get(HEALTH, (_request, reply) => {
    const ok = options.healthy();
    return reply.code(ok ? 200 : 503).send({ ok });
  });
}

const fastifyPath = (path: string): string => path.replaceAll(/\{(\w+)\}/g, ':$1');

/** The methods of each path as the router knows it. */
const METHODS_OF: ReadonlyMap<string, string[]> = new Map(
  [...Map.groupBy([{ path: HEALTH, method: 'GET' }, ...ROUTES], ({ path }) => fastifyPath(path))].map(
    ([url, routes]) => [url, routes.map(({ method }) => method)],
  ),
);

/** What errors are answered with whose own code is none of this service's: the caller's fault, or a part that is away. */
const ANSWERED: Readonly<Record<string, ControlErrorCode>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: 'body_too_large',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'content_type_unsupported',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'request_malformed',
  FST_ERR_BAD_URL: 'request_malformed',
  [QUERY_WITHOUT_TYPE]: 'method_not_allowed',
  redis_unavailable: 'tag_health_unavailable',
  warehouse_unavailable: 'query_unavailable',
  warehouse_mismatch: 'query_unavailable',
  warehouse_refused: 'query_unavailable',
};

/** The code that an error is answered with; null: nobody foresaw it. */
function codeOf(error: unknown, request: HttpRequestIn): ControlErrorCode | null {
  // The connection is gone, or what came is not HTTP.
  if (error !== null && request.raw.errored === error) return 'request_malformed';
  const { code } = (error ?? {}) as { code?: unknown };
  if (typeof code === 'string' && Object.hasOwn(ANSWERED, code)) return ANSWERED[code] ?? null;
  if (typeof code === 'string' && Object.hasOwn(CONTROL_ERRORS, code)) return code as ControlErrorCode;
  // A refusal that a later version of the server brings must not end the process.
  return isRefusal(error) ? 'request_malformed' : null;
}
