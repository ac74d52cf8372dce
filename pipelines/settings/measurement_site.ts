import type { Account, ApiKey, Site } from '#schemas/setting.ts';
import { lifetimeRefusal, originRefusal, type RefusedCaller } from './keys.ts';
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
 * The site of a hit that comes without a key, as GA4's tags have none: the one that is served at the host, else the one whose
 * ga4 destination has the measurement id. It acts under that browser key of the site which was made first of those that
 * may be used from the origin, as if its page had sent the key.
 *
 * @param nowMs Milliseconds since 1970 UTC.
 */
export function findMeasurementSite(table: SettingsTable, signs: SiteSigns, nowMs: number): MeasurementSite {
  const claimant = claimantOf(table, signs.host);
  const found = claimant ?? siteByMeasurementId(table, signs.measurementId);
  if (typeof found === 'string') return { ok: false, code: found };
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

function siteByMeasurementId(table: SettingsTable, measurementId: string | null): Site | SiteRefusalCode {
  if (measurementId === null || measurementId === '') return 'measurement_id_missing';
  if (table.isMeasurementIdContested(measurementId)) return 'measurement_id_contested';
  return table.siteByMeasurementId(measurementId) ?? 'measurement_id_unknown';
}

function browserKeys(table: SettingsTable, { site_id }: Site, nowMs: number): ApiKey[] {
  return [...table.keysOfSite(site_id).values()]
    .filter((key) => key.caller === 'browser' && lifetimeRefusal(key, nowMs) === null)
    .sort((a, b) => a.created_at - b.created_at || (a.key_hash < b.key_hash ? -1 : 1));
}
