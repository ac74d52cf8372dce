import type { HttpServer } from '#infra/http/http_server.ts';
import type { SettingsTable } from '#pipelines/settings/table.ts';
import { canonicalDomain } from '#pipelines/settings/web_names.ts';
import type { EdgeContext } from './edge_context.ts';
import type { EdgeErrorCode } from './errors.ts';

/**
 * Whether a certificate may be had for a domain, as Caddy's `on_demand_tls ask` wants to know: exactly the claimed
 * domains that are verified, and none below or above them. Null: it may. A look into the settings in memory: nothing is
 * asked and nothing kept for a stranger's name.
 */
function tlsRefusal(table: SettingsTable, domain: unknown): EdgeErrorCode | null {
  const canonical = typeof domain === 'string' ? canonicalDomain(domain) : null;
  if (canonical === null) return 'domain_malformed';
  return table.siteServedAt(canonical) === undefined ? 'domain_unverified' : null;
}

/** GET /v1/tls-check: no key and no rate limit, as every call comes from the one proxy. */
export function mountTlsCheck(app: HttpServer, { table, refuse }: EdgeContext): void {
  app.get('/v1/tls-check', { exposeHeadRoute: true }, (request, reply) => {
    const refusal = tlsRefusal(table, (request.query as Record<string, unknown>)['domain']);
    reply.header('cache-control', 'no-store');
    return refusal === null ? reply.send({ allowed: true }) : refuse(reply, refusal);
  });
}
