import { type HttpRequestIn, requestHost } from '#infra/http/http_server.ts';
import type { SettingsTable } from '#pipelines/settings/table.ts';
import { canonicalDomain } from '#pipelines/settings/web_names.ts';
import type { Site } from '#schemas/setting.ts';
import type { EdgeErrorCode } from './errors.ts';

/** The site whose verified domain a request calls: by its Host, or by what a trusted proxy says that was. */
export type ServedSite = { ok: true; site: Site; host: string } | { ok: false; code: EdgeErrorCode };

export function servedSite(table: SettingsTable, request: HttpRequestIn): ServedSite {
  const host = canonicalDomain(requestHost(request));
  const site = host === null ? undefined : table.siteServedAt(host);
  return host === null || site === undefined
    ? { ok: false, code: unservedCode(table, host) }
    : { ok: true, site, host };
}

/** Why nothing is served under a name, in lower-case punycode. */
export function unservedCode(table: SettingsTable, domain: string | null): EdgeErrorCode {
  const isClaimed = domain !== null && table.siteByDomain(domain) !== undefined;
  return isClaimed ? 'domain_unverified' : 'domain_unclaimed';
}
