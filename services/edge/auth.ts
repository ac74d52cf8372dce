// Who calls: the key and origin of a request, the site of its host, its network, and limits for those without a key.

import { BlockList, isIP, isIPv6 } from 'node:net';
import { type HttpRequestIn, requestHost } from '#infra/http/http_server.ts';
import { hmacSha256 } from '#pipelines/privacy/hash_identifiers.ts';
import { networkOf } from '#pipelines/privacy/ip_addresses.ts';
import { createBlocked, createMemoryLimits, type Limited } from '#pipelines/quota/limits.ts';
import { checkKey, type KeyCheck, shownPrefix } from '#pipelines/settings/callers.ts';
import { canonicalDomain } from '#pipelines/settings/domains.ts';
import type { SettingsTable } from '#pipelines/settings/table.ts';
import type { Site } from '#schemas/setting.ts';
import type { EdgeErrorCode } from './errors.ts';
import type { RequestSpan } from './request_spans.ts';

/** The key of a request, from the header or, where headers cannot be set, from the query; of several there all. */
function presentedKeys(request: HttpRequestIn): string[] {
  const header = single(request.headers['x-svc-key']);
  // An empty one, as of a template that nobody filled in, says as little as none.
  if (header !== null && header.trim() !== '') return [header];
  const key = (request.query as Record<string, unknown> | undefined)?.['key'];
  if (Array.isArray(key)) return key;
  return typeof key === 'string' && key.trim() !== '' ? [key] : [];
}

/** Whether a request has a key, be it one that is known or not. */
export const presentsKey = (request: HttpRequestIn): boolean => presentedKeys(request).length > 0;

export const KEY_REPEATED = { ok: false, status: 400, code: 'key_repeated' } as const;

function single(value: string | string[] | undefined): string | null {
  if (value === undefined) return null;
  return typeof value === 'string' ? value : (value[0] ?? null);
}

/** Whether the caller of a request may act for a site, and which. */
export function checkCaller(table: SettingsTable, request: HttpRequestIn, nowMs: number): KeyCheck {
  const keys = presentedKeys(request);
  return keys.length > 1 ? KEY_REPEATED : checkKey(table, keys[0] ?? null, pageOrigin(request), nowMs);
}

/**
 * The origin of the page that had a browser send a request; null where no browser says that a page did. For an image or
 * a script browsers send no Origin, but Sec-Fetch-Site, which a page can neither set nor leave out: then Referer tells,
 * and a page that keeps it back is one of no origin, as browsers say of such in Origin.
 */
export function pageOrigin({ headers }: HttpRequestIn): string | null {
  const { origin, referer } = headers;
  if (origin !== undefined) return origin;
  const isOfOtherOrigin = OTHER_ORIGINS.has(single(headers['sec-fetch-site']) ?? '');
  return isOfOtherOrigin ? (URL.parse(referer ?? '')?.origin ?? NO_ORIGIN) : null;
}

/** Values of Sec-Fetch-Site for a page that is not of the host which it calls. */
const OTHER_ORIGINS: ReadonlySet<string> = new Set(['cross-site', 'same-site']);
const NO_ORIGIN = 'null';

export interface RequestSignals {
  userAgent: string | null;
  browserSigns: boolean;
  prefetch: boolean;
  /** Global Privacy Control. */
  gpc: boolean;
  span: RequestSpan | null;
}

/**
 * What the headers say of who calls: a browser by Origin, Referer or Sec-Fetch-Site; a prefetch by its purpose headers; a
 * visitor who does not want to be sold or shared by Sec-GPC.
 * Sec-Fetch-Mode says nothing: Node's fetch, which libraries for servers use, sends it too, while no browser leaves out
 * Sec-Fetch-Site.
 */
export function requestSignals(request: HttpRequestIn): RequestSignals {
  const { headers } = request;
  return {
    userAgent: headers['user-agent'] ?? null,
    browserSigns:
      headers.origin !== undefined || headers.referer !== undefined || headers['sec-fetch-site'] !== undefined,
    prefetch: PREFETCH_HEADERS.some((name) => /\b(prefetch|prerender|preview)\b/i.test(single(headers[name]) ?? '')),
    gpc: single(headers['sec-gpc']) === '1',
    span: request.span,
  };
}

const PREFETCH_HEADERS = ['sec-purpose', 'purpose', 'x-moz', 'x-purpose'];

/** The site whose verified domain a request calls: by its Host, or by what a trusted proxy says that was. */
type ServedSite = { ok: true; site: Site; host: string } | { ok: false; code: EdgeErrorCode };

export function servedSite(table: SettingsTable, request: HttpRequestIn): ServedSite {
  const host = canonicalDomain(requestHost(request));
  const site = host === null ? undefined : table.siteServedAt(host);
  // One code for all: whether somebody has claimed a name is nobody's to ask.
  return host === null || site === undefined ? { ok: false, code: 'domain_unverified' } : { ok: true, site, host };
}

/**
 * The site that a request without a valid key is likely for: its verified domain was called, or is that of the page, or keys of
 * this site alone may call from the page, or begin as the one that was sent, which was then mistyped or cut off. Anybody can
 * name a page or the beginning of a key, so this is for counts of what was refused alone.
 */
export function namedSite(table: SettingsTable, request: HttpRequestIn): Site | undefined {
  const served = servedSite(table, request);
  if (served.ok) return served.site;
  const origin = pageOrigin(request) ?? '';
  const page = canonicalDomain(URL.parse(origin)?.hostname ?? '');
  const owner = page === null ? undefined : table.siteServedAt(page);
  if (owner !== undefined) return owner;
  return table.siteByOrigin(origin) ?? table.siteByKeyPrefix(shownPrefix(presentedKeys(request)[0] ?? ''));
}

const DIGEST_CHARACTERS = 22;

/**
 * Names a caller by its network as the limits count it: a keyed digest, as addresses are not kept. Null for an address in
 * one of the exempt ranges.
 */
export function createAddressNamer(secret: Buffer, exempt: BlockList): (clientIp: string) => string | null {
  const cache = new Map<string, string | null>();
  const nameOf = (clientIp: string): string | null => {
    if (isIP(clientIp) !== 0 && exempt.check(clientIp, isIPv6(clientIp) ? 'ipv6' : 'ipv4')) return null;
    return hmacSha256(secret, networkOf(clientIp)).toString('base64url').slice(0, DIGEST_CHARACTERS);
  };
  return (clientIp) => {
    const known = cache.get(clientIp);
    if (known !== undefined) return known;
    const name = nameOf(clientIp);
    if (cache.size >= CACHED_MAX) cache.clear();
    cache.set(clientIp, name);
    return name;
  };
}

const CACHED_MAX = 10_000;

/** Ranges as `10.0.0.0/8`, or single addresses. Throws where one is neither. */
export function blockListOf(ranges: readonly string[]): BlockList {
  const blocks = new BlockList();
  for (const range of ranges) {
    const [address = '', prefix] = range.split('/');
    const family = isIPv6(address) ? 'ipv6' : 'ipv4';
    if (prefix === undefined) blocks.addAddress(address, family);
    else blocks.addSubnet(address, Number(prefix), family);
  }
  return blocks;
}

interface AnonymousLimiterOptions {
  /** In `windowMs`; 0: no limit. */
  requestsMax: number;
  windowMs: number;
  /** Who calls, as the limits count it; null where an address is exempt. */
  addressOf(clientIp: string): string | null;
  /** Milliseconds of a clock that only goes forward. */
  nowMs(): number;
}

export type AnonymousLimiter = ReturnType<typeof createAnonymousLimiter>;

/**
 * Requests whose body had to be looked at for a key, and had none that is valid. Counted in this process alone: what it
 * protects is this process.
 */
export function createAnonymousLimiter({ requestsMax, windowMs, addressOf, nowMs }: AnonymousLimiterOptions) {
  const limits = createMemoryLimits({ windowMs, perIp: requestsMax, perKey: 0 });
  const blocked = createBlocked(nowMs);
  return {
    /** Whether an address has sent so many that no more of its bodies are looked at now. */
    limited: (clientIp: string): Limited | null => blocked.find(addressOf(clientIp), ''),
    /** Counts one. */
    record(clientIp: string): void {
      const address = addressOf(clientIp);
      const verdict = limits.take(address, null, nowMs());
      if (!verdict.ok) blocked.add(verdict, address, '');
    },
  };
}
