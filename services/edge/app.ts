import { createHttpServer, type HttpServer } from '#infra/http/http_server.ts';
import type { ConfigAnswer } from '#pipelines/settings/site_config.ts';
import { mountDocs } from '#services/openapi_routes.ts';
import type { RequestErrors } from '#services/request_errors.ts';
import { refuse } from './answer.ts';
import { mountFlags } from './compat/flags.ts';
import { posthog } from './compat/posthog.ts';
import { mountRemoteConfig } from './compat/remote_config.ts';
import { mountDialect } from './compat/routes.ts';
import { segment } from './compat/segment.ts';
import type { ConcurrencyLimiter } from './concurrency_limiter.ts';
import { mountConfig } from './config_route.ts';
import { cors } from './cors.ts';
import { BODY_BYTES_MAX } from './decode.ts';
import { createEdgeContext, type EdgeParts } from './edge_context.ts';
import type { EngageParts } from './engage/engage_parts.ts';
import { mountEngage } from './engage/mount_engage.ts';
import { mountCollect } from './ga4/collect.ts';
import { bringsHit, isCollect } from './ga4/collect_paths.ts';
import { credentialedCors } from './ga4/credentialed_cors.ts';
import { mountMeasurements } from './ga4/measurements.ts';
import { type EdgeHealth, mountHealth } from './health_route.ts';
import { mountIngest } from './ingest.ts';
import { type InventoryIntake, mountInventory } from './inventory.ts';
import { isCollector } from './loaders/collector_paths.ts';
import { mountCollectors } from './loaders/collector_routes.ts';
import { mountLoaders } from './loaders/loader_routes.ts';
import type { ScriptCache } from './loaders/script_cache.ts';
import { answerUnrouted } from './methods.ts';
import { publicDocument } from './openapi.ts';
import { givePermits } from './permits.ts';
import { mountScripts, type TagScripts } from './tag/script_routes.ts';
import { mountScriptStatus } from './tag/script_status.ts';
import { mountVisitor } from './tag/visitor_route.ts';
import { mountTlsCheck } from './tls_check.ts';

/** What the public routes need; a group of routes with parts of its own adds a field here. */
export interface AppOptions extends EdgeParts, EdgeHealth {
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
 * The public routes of the service. Nothing is parsed for a stranger: the key is checked before the body is read. Each
 * group of routes is mounted in a file of its own, by one line here.
 */
export function createApp(options: AppOptions): HttpServer {
  const app = openServer(options.trustedProxies);
  app.addHook('onRequest', async (request, reply) => {
    const takesCookies = isCollect(request) || isCollector(request);
    (takesCookies ? credentialedCors : cors)(request, reply);
  });
  countSuccesses(app, options.errors);
  const context = createEdgeContext(
    options,
    givePermits(
      app,
      options.limiter,
      (request) => bringsHit(request) || (request.method === 'GET' && isCollector(request)),
      options.isExempt,
    ),
  );
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
  for (const dialect of [segment, posthog]) mountDialect(app, dialect, context);
  mountFlags(app, context);
  mountRemoteConfig(app, context);
  mountCollect(app, context, options.identitySecret);
  mountMeasurements(app, context, options.identitySecret);
  return app;
}

function openServer(trustedProxies: string[]): HttpServer {
  return createHttpServer({
    trustedProxies,
    bodyBytesMax: BODY_BYTES_MAX,
    requestTimeoutMs: REQUEST_MS_MAX,
    onMalformed: (reply) => {
      refuse(reply, 'request_malformed');
    },
  });
}

function countSuccesses(app: HttpServer, errors: RequestErrors): void {
  app.addHook('onResponse', (request, reply, done) => {
    if (request.method === 'POST' && reply.statusCode < 400) errors.succeeded();
    done();
  });
}
