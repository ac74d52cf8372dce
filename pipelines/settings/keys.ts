import { hash } from 'node:crypto';
import type { Caller } from '#schemas/event.ts';
import type { Account, ApiKey, Site } from '#schemas/setting.ts';
import { type RandomBytes, randomBase62 } from './random_text.ts';
import type { SettingsTable } from './table.ts';
import { isOriginAllowed } from './web_names.ts';

/** A key as issued. The secret is shown once and kept nowhere; the rest is stored. */
export interface IssuedKey {
  secret: string;
  keyHash: string;
  shownPrefix: string;
}

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

const PREFIXES: Record<Caller, string> = { browser: 'svc_pk_', server: 'svc_sk_' };
const SECRET_CHARACTERS = 32;
const KEY_CHARACTERS = 7 + SECRET_CHARACTERS;
const SHOWN_CHARACTERS = 7 + 4;
const KEY_PATTERN = /^svc_[ps]k_[0-9A-Za-z]{32}$/;

/** Issues a key for a caller: svc_pk_ or svc_sk_ and 32 base62 characters, about 190 bits. */
export function issueKey(caller: Caller, randomBytes: RandomBytes): IssuedKey {
  const secret = PREFIXES[caller] + randomBase62(SECRET_CHARACTERS, randomBytes);
  return { secret, keyHash: hashKey(secret), shownPrefix: shownPrefix(secret) };
}

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
