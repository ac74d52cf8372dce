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
  // One code for all: whether somebody has claimed a name is nobody's to ask.
  return host === null || site === undefined ? { ok: false, code: 'domain_unverified' } : { ok: true, site, host };
}
