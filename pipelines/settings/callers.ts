// Who calls: by an API key, or where there is none by what a request says of its site.

import { hash } from 'node:crypto';
import type { Account, ApiKey, Site } from '#schemas/setting.ts';
import { canonicalDomain, provenDomains } from './domains.ts';
import { registrableDomain } from './public_suffixes.ts';
import type { SettingsTable } from './table.ts';
import { isOriginAllowed } from './url_pattern.ts';

/** Whose site a request was for that is refused, where that is known: by its key, or by the host or the id that it named. */
export interface RefusedCaller {
  siteId: string;
  key: ApiKey | null;
}

export type KeyCheck =
  | { ok: true; key: ApiKey; site: Site; account: Account }
  | { ok: false; status: 400; code: 'key_repeated' }
  | { ok: false; status: 401; code: 'key_missing' }
  | { ok: false; status: 403; code: KeyRefusalCode; refused?: RefusedCaller };

type KeyRefusalCode = 'key_invalid' | 'key_revoked' | 'key_expired' | 'key_not_for_browsers' | 'origin_not_allowed';

const KEY_CHARACTERS = 7 + 32;
const SHOWN_CHARACTERS = 7 + 4;
const KEY_PATTERN = /^svc_[ps]k_[0-9A-Za-z]{32}$/;

/** SHA-256 of a key in lower-case hex: what is stored, and the record key under which it is found. */
export function hashKey(presentedKey: string): string {
  return hash('sha256', presentedKey);
}

const KEY_ID_CHARACTERS = 16;

/** Names a key in what it sent: enough of its hash to tell a site's keys apart, and of no use to anybody else. */
export const keyIdOf = (keyHash: string): string => keyHash.slice(0, KEY_ID_CHARACTERS);

/** The part of a key that lists may show: enough to recognise it, 28 characters short of using it. */
export function shownPrefix(secret: string): string {
  return secret.slice(0, SHOWN_CHARACTERS);
}

export function isKeyFormat(text: string): boolean {
  return text.length === KEY_CHARACTERS && KEY_PATTERN.test(text);
}

/**
 * Decides whether a caller may act, in this order: a key is presented (401), it is known, not revoked and not expired
 * (403), and it may be used from this origin (403). A server key that a page sends is refused, as it would be public.
 * A browser key that no page is known to send passes: origins exist only where a browser says them.
 *
 * Nothing is cached: a presented key that has the format of one costs one SHA-256, about a microsecond; anything
 * else less.
 *
 * @param origin That of the page which sent the request, or null when no page is known to have.
 * @param nowMs Milliseconds since 1970 UTC.
 */
export function checkKey(
  table: SettingsTable,
  presentedKey: string | null,
  origin: string | null,
  nowMs: number,
): KeyCheck {
  if (presentedKey === null || presentedKey === '') return { ok: false, status: 401, code: 'key_missing' };
  const key = isKeyFormat(presentedKey) ? table.keyByHash(hashKey(presentedKey)) : undefined;
  const site = key && table.site(key.site_id);
  const account = site && table.account(site.account_id);
  if (key === undefined || site === undefined || account === undefined) {
    return { ok: false, status: 403, code: 'key_invalid' };
  }
  const refusal = lifetimeRefusal(key, nowMs) ?? originRefusal(key, origin);
  if (refusal === null) return { ok: true, key, site, account };
  return { ok: false, status: 403, code: refusal, refused: { siteId: site.site_id, key } };
}

/**
 * Why a key cannot be used at this time, whoever presents it; null when it can. Revocation does not look at the clock,
 * so that a process whose clock is behind obeys it at once.
 */
export function lifetimeRefusal(key: ApiKey, nowMs: number): 'key_revoked' | 'key_expired' | null {
  if (key.revoked_at !== null) return 'key_revoked';
  if (key.expires_at !== null && nowMs >= key.expires_at) return 'key_expired';
  return null;
}

/** Why a key cannot be used from an origin; null when it can, or when there is none. */
export function originRefusal(
  key: ApiKey,
  origin: string | null,
): 'key_not_for_browsers' | 'origin_not_allowed' | null {
  if (origin === null) return null;
  if (key.caller === 'server') return 'key_not_for_browsers';
  const allowed = key.allowed_origins;
  if (allowed.length === 0 || allowed.some((one) => isOriginAllowed(one, origin))) return null;
  return 'origin_not_allowed';
}

/** What a request says of its site where it has no key. */
interface SiteSigns {
  /** The host that was called. */
  host: string;
  measurementId: string | null;
  /** That of the page which sent the request, or null when no page is known to have. */
  origin: string | null;
}

type SiteRejectionCode =
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
  | { ok: false; code: SiteRejectionCode; refused?: RefusedCaller };

/**
 * The site of a hit that comes without a key, as GA4's tags have none: the one that is served at the host, else one whose
 * ga4 destination has the measurement id and which has shown that the page may be its own. Anybody reads a measurement id
 * off a page, so the id alone is no proof. It acts under that browser key of the site which was made first of those that
 * may be used from the origin, as if its page had sent the key.
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
type SiteCaller =
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

type Found = Site | { code: SiteRejectionCode; refused?: RefusedCaller };

/**
 * Of several the one with the best proof; of those whose keys list the origin, which anybody may write, the one that
 * claimed first.
 */
function siteByMeasurementId(table: SettingsTable, { measurementId, origin }: SiteSigns, nowMs: number): Found {
  if (measurementId === null || measurementId === '') return { code: 'measurement_id_missing' };
  const claimants = table.sitesByMeasurementId(measurementId);
  const [only] = claimants;
  if (only === undefined) return { code: 'measurement_id_unknown' };
  const proven = claimants.filter((site) => isProvenFor(table, site, origin));
  if (proven.length > 1) return { code: 'measurement_id_contested' };
  const listed = claimants.filter((site) => browserKeys(table, site, nowMs).some((key) => isListed(key, origin)));
  const [best] = [
    ...proven,
    ...listed.toSorted((a, b) => claimedAt(table, a, measurementId) - claimedAt(table, b, measurementId)),
  ];
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

/** When the first of a site's destinations came that have the measurement id. */
function claimedAt(table: SettingsTable, { site_id }: Site, measurementId: string): number {
  const claiming = (table.destinationsOfKind('ga4').get(site_id) ?? []).filter(
    ({ settings }) => settings['measurement_id'] === measurementId,
  );
  return Math.min(...claiming.map(({ created_at }) => created_at ?? 0));
}

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
