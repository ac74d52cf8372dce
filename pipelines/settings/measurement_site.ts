import type { Account, ApiKey, Site } from '#schemas/setting.ts';
import { provenDomains } from './domain_claims.ts';
import { lifetimeRefusal, originRefusal, type RefusedCaller } from './keys.ts';
import { registrableDomain } from './public_suffixes.ts';
import type { SettingsTable } from './table.ts';
import { canonicalDomain } from './web_names.ts';

/** What a request says of its site where it has no key. */
export interface SiteSigns {
  /** The host that was called. */
  host: string;
  measurementId: string | null;
  /** That of the page which sent the request, or null when no page is known to have. */
  origin: string | null;
}

type SiteRefusalCode =
  | 'measurement_id_missing'
  | 'measurement_id_unknown'
  | 'measurement_id_contested'
  | 'measurement_id_unproven'
  | 'browser_key_missing'
  | 'origin_not_allowed';

export type MeasurementSite =
  | {
      ok: true;
      key: ApiKey;
      site: Site;
      account: Account;
      /** Else the host names the site. */
      byMeasurementId: boolean;
    }
  | { ok: false; code: SiteRefusalCode; refused?: RefusedCaller };

/**
 * The site of a hit that comes without a key, as GA4's tags have none: the one that is served at the host, else one whose
 * ga4 destination has the measurement id and which has shown that the page may be its own. Anybody reads a measurement id off a page, so
 * the id alone is no proof. It acts under that browser key of the site which was made first of those that may be used from the
 * origin, as if its page had sent the key.
 *
 * @param nowMs Milliseconds since 1970 UTC.
 */
export function findMeasurementSite(table: SettingsTable, signs: SiteSigns, nowMs: number): MeasurementSite {
  const claimant = claimantOf(table, signs.host);
  const found = claimant ?? siteByMeasurementId(table, signs, nowMs);
  if ('code' in found) return { ok: false, ...found };
  const caller = siteCaller(table, found, signs.origin, nowMs);
  return caller.ok ? { ...caller, byMeasurementId: claimant === undefined } : caller;
}

/** Who acts for a site where no key was sent: its browser key that was made first of those that the origin may use. */
export type SiteCaller =
  | { ok: true; key: ApiKey; site: Site; account: Account }
  | {
      ok: false;
      code: 'measurement_id_unknown' | 'browser_key_missing' | 'origin_not_allowed';
      refused?: RefusedCaller;
    };

/**
 * @param origin That of the page which sent the request, or null when no page is known to have.
 * @param nowMs Milliseconds since 1970 UTC.
 */
export function siteCaller(table: SettingsTable, site: Site, origin: string | null, nowMs: number): SiteCaller {
  const account = table.account(site.account_id);
  if (account === undefined) return { ok: false, code: 'measurement_id_unknown' };
  const keys = browserKeys(table, site, nowMs);
  const refused = { siteId: site.site_id, key: null };
  if (keys.length === 0) return { ok: false, code: 'browser_key_missing', refused };
  const key = keys.find((one) => originRefusal(one, origin) === null);
  return key === undefined ? { ok: false, code: 'origin_not_allowed', refused } : { ok: true, key, site, account };
}

function claimantOf(table: SettingsTable, host: string): Site | undefined {
  const domain = canonicalDomain(host);
  return domain === null ? undefined : table.siteServedAt(domain);
}

type Found = Site | { code: SiteRefusalCode; refused?: RefusedCaller };

/** Of several the one with the best proof; of those whose keys list the origin, which anybody may write, the one that claimed first. */
function siteByMeasurementId(table: SettingsTable, { measurementId, origin }: SiteSigns, nowMs: number): Found {
  if (measurementId === null || measurementId === '') return { code: 'measurement_id_missing' };
  const claimants = table.sitesByMeasurementId(measurementId);
  const [only] = claimants;
  if (only === undefined) return { code: 'measurement_id_unknown' };
  const proven = claimants.filter((site) => isProvenFor(table, site, origin));
  if (proven.length > 1) return { code: 'measurement_id_contested' };
  const listed = claimants.filter((site) => browserKeys(table, site, nowMs).some((key) => isListed(key, origin)));
  const [best] = [...proven, ...listed.toSorted((a, b) => claimedAt(table, a) - claimedAt(table, b))];
  if (best !== undefined) return best;
  if (claimants.length > 1) return { code: 'measurement_id_contested' };
  const keys = browserKeys(table, only, nowMs);
  const hasProof = keys.length === 0 || keys.some((key) => key.allowed_origins.length > 0);
  if (hasProof || isOfThisMachine(origin)) return only;
  return { code: 'measurement_id_unproven', refused: { siteId: only.site_id, key: null } };
}

/** Whether the page is of a domain that the site has verified, or of one beside it. Where no page is known, any will do. */
function isProvenFor(table: SettingsTable, site: Site, origin: string | null): boolean {
  const domains = provenDomains(site, table.domainProofs(site.site_id));
  if (origin === null) return domains.length > 0;
  const host = canonicalDomain(URL.parse(origin)?.hostname ?? '');
  const registered = host === null ? null : registrableDomain(host);
  return registered !== null && domains.some((domain) => registrableDomain(domain) === registered);
}

/** A key without a list says nothing of whose a page is. */
const isListed = (key: ApiKey, origin: string | null): boolean =>
  key.allowed_origins.length > 0 && originRefusal(key, origin) === null;

const claimedAt = (table: SettingsTable, { site_id }: Site): number =>
  table.destination(site_id, 'ga4')?.created_at ?? 0;

/** Pages that are being made, which are nobody's yet. */
function isOfThisMachine(origin: string | null): boolean {
  const host = origin === null ? '' : (URL.parse(origin)?.hostname ?? '');
  return host === 'localhost' || host === '[::1]' || /^127(\.\d{1,3}){3}$/.test(host);
}

function browserKeys(table: SettingsTable, { site_id }: Site, nowMs: number): ApiKey[] {
  return [...table.keysOfSite(site_id).values()]
    .filter((key) => key.caller === 'browser' && lifetimeRefusal(key, nowMs) === null)
    .sort((a, b) => a.created_at - b.created_at || (a.key_hash < b.key_hash ? -1 : 1));
}
