import { clientAddress, type HttpRequestIn } from '#infra/http/http_server.ts';
import { readPageAddress } from '#pipelines/delivery/url_pattern.ts';
import type { Look } from '#pipelines/engage/decide.ts';
import { visitorId } from '#pipelines/engage/engage_event.ts';
import type { SentVisitor } from '#pipelines/engage/engage_request.ts';
import { basePersonId } from '#pipelines/identity/resolve.ts';
import { cleanDistinctId } from '#pipelines/intake/distinct_id.ts';
import { readShortText } from '#pipelines/intake/short_text.ts';
import { networkOf } from '#pipelines/privacy/network.ts';
import { isNobodysId } from '#pipelines/privacy/placeholder_id.ts';
import type { Site } from '#schemas/setting.ts';
import type { IngestCaller } from '../accept.ts';

type Caller = Pick<IngestCaller, 'site' | 'key'>;

/** A visitor's ids; null for an anonymous visitor, and on a site in offline mode, which keeps no ids. */
export interface VisitorIds {
  /** As events have it. */
  distinctId: string | null;
  /**
   * The one under which anything is remembered, and known. An e-mail address or phone number is none for a browser: its
   * key is public, so that anybody could ask what became of the person whose address they know.
   */
  rememberedId: string | null;
}

export function idsOf(visitor: SentVisitor, { site, key }: Caller, identitySecret: Buffer): VisitorIds {
  const sent = site.mode === 'offline' ? null : readShortText(visitorId(visitor));
  if (sent === null || isNobodysId(sent)) return { distinctId: null, rememberedId: null };
  const { distinctId } = cleanDistinctId(sent, identitySecret, site);
  return { distinctId, rememberedId: key.caller === 'browser' && distinctId !== sent ? null : distinctId };
}

/** What stands for a visitor of whom no person is remembered in drawing shares: an anonymous one is their network and device. */
export function shareIdOf(request: HttpRequestIn, { site_id: siteId }: Site, { distinctId }: VisitorIds): string {
  if (distinctId !== null) return basePersonId(siteId, distinctId);
  return `${networkOf(clientAddress(request))} ${request.headers['user-agent'] ?? ''}`;
}

/** Who looks at which page; null where the page's address is none. */
export function lookOf(
  request: HttpRequestIn,
  { url, visitor, site }: { url: string; visitor: SentVisitor; site: Site },
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
    nowMs,
  };
}

/** What the browser says, else the region of its language: the edge knows no country of an address. */
function countryOf({ country, locale }: SentVisitor): string | null {
  if (country !== undefined) return country.toUpperCase();
  return /^[a-z]{2,3}(?:-[A-Z][a-z]{3})?-([A-Z]{2})\b/.exec(locale ?? '')?.[1] ?? null;
}
