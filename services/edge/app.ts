// The routes of the edge, in the order in which they are mounted, and their CORS: with credentials for the tags that send them.

import {
  createHttpServer,
  type HttpReply,
  type HttpRequestIn,
  type HttpServer,
  sendNotModified,
} from '#infra/http/http_server.ts';
import { mountDocs } from '#infra/http/static_files.ts';
import { canonicalDomain } from '#pipelines/settings/domains.ts';
import type { ConfigAnswer } from '#pipelines/settings/site_config.ts';
import type { SettingsTable } from '#pipelines/settings/table.ts';
import { BODY_BYTES_MAX } from './body.ts';
import { type ConcurrencyLimiter, givePermits } from './concurrency_limiter.ts';
import { createEdgeContext, type EdgeContext, type EdgeParts } from './edge_context.ts';
import { mountEngage } from './engage/routes.ts';
import type { EngageParts } from './engage/submission.ts';
import { answerUnrouted, type EdgeErrorCode, refuse } from './errors.ts';
import { mountIngest } from './ingest.ts';
import { type InventoryIntake, mountInventory } from './inventory.ts';
import { mountLoaders, type ScriptCache } from './loaders/routes.ts';
import { publicDocument } from './openapi.ts';
import { mountProtocol } from './protocols/compat.ts';
import { isCollect, mountGa4Collect, mountMeasurements } from './protocols/ga4.ts';
import { isCollector, mountCollectors } from './protocols/pixels.ts';
import { mountFlags, mountRemoteConfig, posthog } from './protocols/posthog.ts';
import { segment } from './protocols/segment.ts';
import { mountScriptStatus, mountScripts, mountVisitor, type TagScripts } from './tag_files/routes.ts';

/** What the public routes need; a group of routes with parts of its own adds a field here. */
interface AppOptions extends EdgeParts {
  /** Whether an event could be accepted now. */
  healthy(): boolean;
  /** Whether limits are counted together with the other edges. */
  sharesLimits(): boolean;
  trustedProxies: string[];
  limiter: ConcurrencyLimiter;
  /** Whether the limits do not hold for an address. */
  isExempt(clientIp: string): boolean;
  /** Secret for the digests that are ids of hits. */
  identitySecret: Buffer;
  inventory: InventoryIntake;
  configOf(siteId: string): ConfigAnswer | undefined;
  tag: TagScripts;
  engage: EngageParts;
  vendorScripts: ScriptCache;
}

const REQUEST_MS_MAX = 30_000;

/**
 * The public routes of the service. Nothing is parsed for an anonymous caller: the key is checked before the body is read. Each
 * group of routes is mounted in a file of its own, by one line here.
 */
export function createApp(options: AppOptions): HttpServer {
  const app = createHttpServer({
    trustedProxies: options.trustedProxies,
    bodyBytesMax: BODY_BYTES_MAX,
    requestTimeoutMs: REQUEST_MS_MAX,
    onMalformed: (reply) => void refuse(reply, 'request_malformed'),
  });
  app.addHook('onRequest', (request, reply, done) => {
    const takesCookies = isCollect(request) || isCollector(request);
    (takesCookies ? credentialedCors : cors)(request, reply);
    done();
  });
  app.addHook('onResponse', (request, reply, done) => {
    if (request.method === 'POST' && reply.statusCode < 400) options.errors.succeeded();
    done();
  });
  const bringsEvents = (request: HttpRequestIn): boolean =>
    request.method === 'POST' || (request.method === 'GET' && (isCollect(request) || isCollector(request)));
  givePermits(app, options.limiter, bringsEvents, options.isExempt);
  const context = createEdgeContext(options, app);
  context.collectBodies(app, ['application/json', 'text/plain'], BODY_BYTES_MAX);
  // Before any route: it has to be told of all of them.
  answerUnrouted(app, options.errors);

  mountIngest(app, context);
  mountInventory(app, context, options.inventory);
  mountConfig(app, context, options.configOf);
  mountEngage(app, context, options.engage);
  mountHealth(app, options);
  mountTlsCheck(app, context);
  mountScripts(app, context, options.tag);
  mountScriptStatus(app, options.tag);
  mountVisitor(app, context);
  mountLoaders(app, context, options.vendorScripts);
  mountCollectors(app, context, options.identitySecret);
  mountDocs(app, publicDocument);
  for (const protocol of [segment, posthog]) mountProtocol(app, protocol, context);
  mountFlags(app, context);
  mountRemoteConfig(app, context);
  mountGa4Collect(app, context, options.identitySecret);
  mountMeasurements(app, context, options.identitySecret);
  return app;
}

const CACHE = 'public, max-age=60, stale-while-revalidate=300';

/** GET /v1/config: the published configuration of the key's site. */
function mountConfig(
  app: HttpServer,
  { requireApiKey, callerOf, refuse }: EdgeContext,
  configOf: (siteId: string) => ConfigAnswer | undefined,
): void {
  app.get('/v1/config', { onRequest: requireApiKey, exposeHeadRoute: true }, (request, reply) => {
    const answer = configOf(callerOf(request).site.site_id);
    if (answer === undefined) return refuse(reply, 'not_found');
    reply.header('etag', answer.etag).header('cache-control', CACHE).header('vary', 'Origin, X-Svc-Key');
    if (request.headers['if-none-match'] === answer.etag) return sendNotModified(request, reply);
    return reply.type('application/json; charset=utf-8').send(answer.body);
  });
}

/** GET /v1/health, which needs no key. */
function mountHealth(app: HttpServer, { healthy, sharesLimits }: AppOptions): void {
  app.get('/v1/health', { exposeHeadRoute: true }, (_request, reply) => {
    const ok = healthy();
    return reply
      .code(ok ? 200 : 503)
      .header('cache-control', 'no-store')
      .send({ ok, ratelimit: sharesLimits() ? 'redis' : 'memory' });
  });
}

/**
 * Whether a certificate may be had for a domain, as Caddy's `on_demand_tls ask` wants to know: exactly the claimed
 * domains that are verified, and none below or above them. Null: it may. A look into the settings in memory: nothing is
 * asked and nothing kept for a foreign name.
 */
function tlsRefusal(table: SettingsTable, domain: unknown): EdgeErrorCode | null {
  const canonical = typeof domain === 'string' ? canonicalDomain(domain) : null;
  if (canonical === null) return 'domain_malformed';
  return table.siteServedAt(canonical) === undefined ? 'domain_unverified' : null;
}

/** GET /v1/tls-check: no key and no rate limit, as every call comes from the one proxy. */
function mountTlsCheck(app: HttpServer, { table, refuse }: EdgeContext): void {
  app.get('/v1/tls-check', { exposeHeadRoute: true }, (request, reply) => {
    const refusal = tlsRefusal(table, (request.query as Record<string, unknown>)['domain']);
    reply.header('cache-control', 'no-store');
    return refusal === null ? reply.send({ allowed: true }) : refuse(reply, refusal);
  });
}

const EXPOSED_HEADERS = 'Retry-After, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, ETag';
const PREFLIGHT_S = 86_400;

/**
 * CORS is open: who may call is decided by the key's allow-list, not by the browser. No credentials are
 * asked for, so the star holds for headers and origins alike; Authorization must be named beside it.
 */
export function cors(request: HttpRequestIn, reply: HttpReply): void {
  reply.header('access-control-allow-origin', '*');
  reply.header('access-control-expose-headers', EXPOSED_HEADERS);
  if (request.method !== 'OPTIONS') return;
  reply.header('access-control-allow-methods', 'GET, HEAD, POST, OPTIONS');
  reply.header('access-control-allow-headers', 'Content-Type, Content-Encoding, X-Svc-Key, Authorization, *');
  reply.header('access-control-max-age', String(PREFLIGHT_S));
}

const HEADER_NAMES = /^[A-Za-z0-9-]+(?:\s*,\s*[A-Za-z0-9-]+)*$/;
const HEADER_NAMES_CHARACTERS_MAX = 1_000;

/**
 * CORS for GA4's tags, which send with credentials where `server_container_url` is set: a browser then takes no star, so the
 * origin is echoed. Whether it may send is decided by the site's keys, as everywhere.
 */
function credentialedCors({ method, headers }: HttpRequestIn, reply: HttpReply): void {
  reply.header('vary', 'Origin');
  if (headers.origin === undefined) return;
  reply.header('access-control-allow-origin', headers.origin);
  reply.header('access-control-allow-credentials', 'true');
  reply.header('access-control-expose-headers', EXPOSED_HEADERS);
  if (method !== 'OPTIONS') return;
  reply.header('access-control-allow-methods', 'GET, POST, OPTIONS');
  reply.header('access-control-max-age', String(PREFLIGHT_S));
  const asked = headers['access-control-request-headers'];
  if (asked === undefined || asked.length > HEADER_NAMES_CHARACTERS_MAX || !HEADER_NAMES.test(asked)) return;
  reply.header('vary', 'Origin, Access-Control-Request-Headers');
  reply.header('access-control-allow-headers', asked);
}
