import { clientAddress, type HttpRequestIn } from '#infra/http/http_server.ts';
import { readPageAddress } from '#pipelines/delivery/url_pattern.ts';
import type { Look } from '#pipelines/engage/decide.ts';
import { visitorId } from '#pipelines/engage/engage_event.ts';
import type { SentVisitor } from '#pipelines/engage/engage_request.ts';
import { cleanDistinctId } from '#pipelines/intake/distinct_id.ts';
import { readShortText } from '#pipelines/intake/short_text.ts';
import { networkOf } from '#pipelines/privacy/network.ts';
import type { Site } from '#schemas/setting.ts';

/**
 * The visitor's id as events have it; null for an anonymous visitor, whom nobody remembers, and on a site in offline mode,
 * which keeps no ids.
 */
export function rememberedId(visitor: SentVisitor, site: Site, identitySecret: Buffer): string | null {
  const sent = site.mode === 'offline' ? null : readShortText(visitorId(visitor));
  return sent === null ? null : cleanDistinctId(sent, identitySecret, site).distinctId;
}

/** Who looks at which page; null where the page's address is none. */
export function lookOf(
  request: HttpRequestIn,
  { url, visitor, site, distinctId }: { url: string; visitor: SentVisitor; site: Site; distinctId: string | null },
  nowMs: number,
): Look | null {
  const page = readPageAddress(url);
  if (page === null) return null;
  const refusesAds = request.headers['sec-gpc'] === '1';
  return {
    page,
    device: visitor.device ?? null,
    locale: visitor.locale ?? null,
    country: countryOf(visitor),
    consent: { analytics: visitor.consent?.analytics === true, ads: visitor.consent?.ads === true && !refusesAds },
    anonymous: site.mode === 'offline',
    shareId: distinctId ?? `${networkOf(clientAddress(request))} ${request.headers['user-agent'] ?? ''}`,
    nowMs,
  };
}

/** What the browser says, else the region of its language: the edge knows no country of an address. */
function countryOf({ country, locale }: SentVisitor): string | null {
  if (country !== undefined) return country.toUpperCase();
  return /^[a-z]{2,3}(?:-[A-Z][a-z]{3})?-([A-Z]{2})\b/.exec(locale ?? '')?.[1] ?? null;
}
